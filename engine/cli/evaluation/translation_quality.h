/* translation_quality.h - what a model makes of texts whose translations are known. */
#pragma once

#include "data/dataset.h"
#include "sluice/translation.h"

struct translation_quality {
    double bleu, chrf; /* 0 to 100, of all texts together (cli/evaluation/translation_scores.h) */
    double seconds;
    int64_t tokens; /* of the translations */
};

/* Translates all texts of `source`, encoded, and compares with those of `target`, which keeps its
 * texts, by number. `options.texts` is chosen here. */
bool translation_quality_measure(const struct sl_model *model, const struct sl_dataset *source,
                                 const struct sl_dataset *target,
                                 struct sl_translator_options options,
                                 struct translation_quality *out, struct sl_err *err) SL_MUST_CHECK;
