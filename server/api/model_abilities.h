/* model_abilities.h - what a model can be requested for. */
#pragma once

#include "base/json_writer.h"
#include "sluice/model.h"

#include <stdbool.h>

/* A model may have several; what it is best requested for comes first. */
enum sv_ability {
    SV_COMPLETES,
    SV_TRANSLATES,
    SV_RANKS, /* a classifier of pairs with a single label */
    SV_CLASSIFIES,
    SV_ENTAILS, /* classifies pairs, and one label says that the first entails the second */
    SV_CLASSIFIES_TOKENS,
    SV_FILLS_MASKS, /* predicts masked tokens */
    SV_EMBEDS,
    SV_EMBEDS_SPARSELY,
    SV_EMBEDS_TOKENS,
    SV_ABILITIES
};

/* That label; -1: it has none. */
int sv_entailment_label(const struct sl_model_info *info);

bool sv_model_can(const struct sl_model_info *info, enum sv_ability ability);
/* The names of all that it can do, as a JSON array. */
void sv_model_write_abilities(struct sl_json_writer *json, const struct sl_model_info *info);
/* What it is best requested for; SV_ABILITIES: nothing. */
enum sv_ability sv_model_main_ability(const struct sl_model_info *info);
/* "it ranks texts by a query: use ..." */
const char *sv_model_use(const struct sl_model_info *info);
