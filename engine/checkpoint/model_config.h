/* model_config.h - config.json: everything about a model except its weights and its vocabulary.
 *
 *     {"format": "sluice-1", "architecture": "tsa", "task": "completion",
 *      "labels": ["negative", "positive"],     for classification only, in the order of classes
 *      "problem_type": "multi_label_classification",    if a text may have several labels, or none
 *      "hyperparameters": {the rows of the architecture's table that are for the task},
 *      "vocab_size": 65,
 *      "tokenizer": {"kind": "characters", "file": "vocab.json"},
 *                or {"kind": "wordpiece", "file": "vocab.txt", "lowercase": true,
 *                    "truncation_side": "left"},        for classification only; missing: right,
 *                                                           and of other tasks left
 *      "inference": {"gate": "mixed", "gate_limit": 0.5},  where the architecture has a policy
 *      "operating_points": [as operating_points.h says],   where it has a threshold
 *      "bf16_loss_increase": 0.0001, "int8_loss_increase": 0.0004,    fractions of the loss, or of
 *                                                           other results, where they were measured
 *      "base": {as base_model.h says},   if its word vectors are in another model's file
 *      "chat": {as chat_member.h says},  of an imported model
 *      "prompts", "default_prompt_name": as formats/prompts_json.h says,     of an encoder
 *      "training": {where it came from: any object}}
 *
 * After reading, everything has been checked: hyper-parameters are complete and within bounds.
 * "inference", "operating_points", "bf16_loss_increase", "int8_loss_increase", "base", "chat",
 * "prompts" and "training" may be missing, and so may members of "inference": the architecture's
 * defaults apply. */
#pragma once

#include "checkpoint/base_model.h"
#include "checkpoint/chat_member.h"
#include "formats/prompts_json.h"
#include "model/model.h"

/* What config.json says. */
struct sl_model_config {
    const struct sl_arch *arch;
    struct sl_config hyper; /* with the size of the vocabulary */
    struct sl_policy policy;
    struct sl_operating_point operating_points[SL_OPERATING_POINTS_MAX];
    int operating_point_count;
    struct sl_precision_cost precision_costs[SL_PRECISION_COUNT]; /* of bf16 and int8 */
    struct sl_base_reference base;
    struct sl_chat_facts chat;
    struct sl_prompts prompts; /* owned when it was read */
    char **labels;             /* hyper.classes names; owned when it was read */
    const char *tokenizer;     /* the name of a kind, from its table */
    bool lower;                /* and whether it lower-cases, for kinds that split into words */
    enum sl_truncation truncation_side; /* default: right */
    char *training;                     /* a JSON object, owned when it was read; NULL: {} */
};

bool sl_model_config_read(struct sl_model_config *model_config, const char *text, size_t bytes,
                          struct sl_err *err) SL_MUST_CHECK;
void sl_model_config_release(
    struct sl_model_config *model_config); /* frees what read made; a zeroed model_config is fine */

/* The text of config.json; free() it. Fails if it could not be read back: `training` is not a JSON
 * object, or a number is out of bounds. */
char *sl_model_config_print(const struct sl_model_config *model_config, struct sl_err *err)
    SL_MUST_CHECK;
