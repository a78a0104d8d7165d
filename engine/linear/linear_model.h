/* linear_model.h - the classifier: the best recipe of a search, fitted to all texts. */
#pragma once

#include "linear/linear_search.h"
#include "model/model.h"

struct sl_linear_fit {
    struct sl_engine *engine;
    const struct sl_model *base;          /* its parts are copied */
    const struct sl_parameter *spellings; /* of the tokens; NULL: none */
    const struct sl_text_features *features;
    const struct sl_dataset *set; /* the same texts */
    const struct sl_linear_search *search;
};

/* NULL on failure; sl_model_close frees it. */
struct sl_model *sl_linear_model_fit(const struct sl_linear_fit *fit, struct sl_err *err)
    SL_MUST_CHECK;
