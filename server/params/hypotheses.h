/* hypotheses.h - sentences about texts, for models that classify by entailment. */
#pragma once

#include "params/field_types.h"

#define SV_HYPOTHESIS_TEMPLATE_FIELD(offset)                                                       \
    SV_FIELD("hypothesis_template", STRING, offset, 2, SV_TEXT_BYTES_MAX,                          \
             .help = "what is said of a text, with {} for a candidate label; "                     \
                     "\"This example is {}.\" if absent")

/* A template has {} once, and no other braces. data NULL: the usual one is meant. param: its name
 * in messages. */
bool sv_hypothesis_template_check(const struct sv_string *template, const char *param,
                                  struct sv_error *error);

/* Makes pairs of each text, with a hypothesis for each label, in a row. They belong to the
 * document. field: the name of the texts in messages. */
bool sv_hypotheses_make(struct sv_json_document *document, const struct sv_string *template,
                        const struct sv_texts *labels, const char *field, struct sv_texts *texts,
                        struct sv_error *error);
