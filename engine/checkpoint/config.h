/* config.h - config.json: everything about a model but its numbers and its vocabulary.
 *
 *     {"format": "sluice-1", "architecture": "tsa", "task": "completion",
 *      "labels": ["negative", "positive"],     for classification only, in the order of classes
 *      "hyper": {the rows of the architecture's table that are for the task}, "vocab": 65,
 *      "tokenizer": {"kind": "characters", "file": "vocab.json"},
 *                or {"kind": "wordpiece", "file": "vocab.txt", "lower": true},
 *      "inference": {"gate": "mixed", "gate_limit": 0.5},  where the architecture has a policy
 *      "training": {where it came from: any object}}
 *
 * What has been read has been checked: hyper-parameters are complete and within bounds. "inference"
 * and "training" may be missing, and so may members of "inference": the architecture's own hold. */
#pragma once

#include "model/model.h"

/* What config.json says. */
struct sl_card {
    const struct sl_arch *arch;
    struct sl_config hyper; /* with the size of the vocabulary */
    struct sl_policy policy;
    char **labels;         /* hyper.classes names; owned when it was read */
    const char *tokenizer; /* the name of a kind, from its table */
    bool lower;            /* and whether it lower-cases, for kinds that split into words */
    char *training;        /* a JSON object, owned when it was read; NULL: {} */
};

bool sl_card_read(struct sl_card *card, const char *text, size_t bytes, struct sl_err *err)
    SL_MUST_CHECK;
void sl_card_release(struct sl_card *card); /* frees what read made; a zeroed card is fine */

/* The text of a card; free() it. Fails when it could not be read back: `training` is not a JSON
 * object, or a number is out of bounds. */
char *sl_card_print(const struct sl_card *card, struct sl_err *err) SL_MUST_CHECK;
