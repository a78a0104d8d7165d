/* entity_options.h - the fields of a request that say what becomes of the labels of tokens. */
#pragma once

#include "params/field_types.h"

#include "sluice/entities.h"

struct sv_entity_options {
    enum sl_aggregation aggregation;
    struct sv_texts ignored; /* labels to leave out; */
    bool has_ignored;        /* if absent, "O" */
};

/* Rows for a struct sv_entity_options that is `member` of `type`.
 * NOLINTBEGIN(bugprone-macro-parentheses): neither can be in parentheses */
#define SV_ENTITY_FIELDS(type, member)                                                             \
    SV_ENUM_FIELD("aggregation_strategy", offsetof(struct type, member.aggregation),               \
                  SL_AGGREGATE_NONE, sl_aggregations, .default_json = "\"none\"",                  \
                  .help = "of token classifiers: how tokens become entities"),                     \
        SV_CUSTOM_FIELD("ignore_labels", sv_type_text_list, offsetof(struct type, member.ignored), \
                        0, SL_CLASSES_MAX,                                                         \
                        .presence_offset = offsetof(struct type, member.has_ignored),              \
                        .help = "of token classifiers: labels to leave out; if absent, O"),        \
        SV_UNSUPPORTED_FIELD("stride", "Texts are not split; send their parts.")
/* NOLINTEND(bugprone-macro-parentheses) */
