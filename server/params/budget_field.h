/* budget_field.h - the field of a request that limits how much of the model is computed. */
#pragma once

#include "core/limits.h"
#include "json/json_schema.h"

#include <stdbool.h>

/* The time that a request may take, as a fraction of computing everything. */
struct sv_budget {
    double value;
    bool is_given;
    const char *field; /* its name in messages, set by the endpoint's reader */
};

/* A row for a struct sv_budget that is `member` of `type`.
 * NOLINTBEGIN(bugprone-macro-parentheses): neither can be in parentheses */
#define SV_BUDGET_FIELD(type, member)                                                              \
    SV_FIELD("budget", NUMBER, offsetof(struct type, member.value), SV_BUDGET_MIN, 1,              \
             .presence_offset = offsetof(struct type, member.is_given),                            \
             .help = "time to compute for, as a fraction of computing everything; chooses an "     \
                     "operating point of the model")
/* NOLINTEND(bugprone-macro-parentheses) */
