/* import_costs.h - what bf16 and int8 cost a model that another program wrote: its results on some
 * texts beside those in fp32.
 *
 * Of embeddings and other vectors, their cosines; of classifiers, whether the label stays and by
 * how much its probability changes; of language models, the loss. */
#pragma once

#include "model/engine.h"

#include <stdbool.h>

struct sl_model;
struct sl_tokenizer;

struct import_costs {
    int texts;
    char *json;                          /* {"texts": 32, "bf16": {...}, "int8": {...}} */
    char *words;                         /* a line for each precision */
    struct sl_precision_cost bf16, int8; /* for config.json */
};

/* model: with values. file: a text on each line, or NULL for texts of our own. Each precision takes
 * a copy of the model; one that this CPU does not have is left out. Fails, with nothing to release,
 * if the file cannot be read or a model does not run. */
bool import_costs_measure(struct import_costs *costs, const struct sl_model *model,
                          const struct sl_tokenizer *tokens, const char *file, struct sl_err *err)
    SL_MUST_CHECK;
void import_costs_release(struct import_costs *costs);
