/* import_costs.h - what bf16 and int8 cost a model that another program wrote: its results on some
 * texts beside those in fp32.
 *
 * Of embeddings and other vectors, their cosines; of classifiers, whether the label stays and by
 * how much its probability changes; of language models, the loss. */
#pragma once

#include "sluice/err.h"

#include <stdbool.h>

struct import_costs {
    int texts;
    char *json;  /* {"texts": 32, "bf16": {...}, "int8": {...}} */
    char *words; /* a line for each precision */
    /* How much int8 changes results, as config.json's int8_loss_increase; NAN: not measured. */
    double int8_change;
};

/* source: what sl_model_open reads. file: a text on each line, or NULL for texts of our own. Each
 * precision opens the model once more; one that this CPU does not have is left out. Fails, with
 * nothing to release, if the model or the file cannot be read. */
bool import_costs_measure(struct import_costs *costs, const char *source, const char *file,
                          struct sl_err *err) SL_MUST_CHECK;
void import_costs_release(struct import_costs *costs);
