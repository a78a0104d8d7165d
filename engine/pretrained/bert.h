/* bert.h - the rows of BERT that its descendants share. */
#pragma once

#include "pretrained/family.h"

extern const struct sl_family_fact sl_bert_facts[];
extern const struct sl_family_field sl_bert_fields[];
extern const struct sl_family_demand sl_bert_demands[];
extern const struct sl_family_weight sl_bert_weights[];
/* Of models that only give embeddings. */
extern const struct sl_family_fact sl_embedding_facts[];
