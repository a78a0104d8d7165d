/* model_abilities.h - what a model can be asked for. */
#pragma once

#include "sluice/model.h"

#include <stdbool.h>

/* A model may have several; what it is best asked for comes first. */
enum sv_ability {
    SV_COMPLETES,
    SV_RANKS, /* a classifier of pairs with a single label */
    SV_CLASSIFIES,
    SV_CLASSIFIES_TOKENS,
    SV_EMBEDS,
    SV_ABILITIES
};

bool sv_model_can(const struct sl_model_info *info, enum sv_ability ability);
/* "it ranks texts by a query: use ..." */
const char *sv_model_use(const struct sl_model_info *info);
