/* decision_params.h - the fields of POST /v1/decisions: OpenAI's fields, and ours. */
#pragma once

#include "params/budget_field.h"
#include "params/field_types.h"
#include "params/tokenize_options.h"

enum sv_question_type { SV_CHOICE, SV_SCORE, SV_PREDICATE };

struct sv_choice {
    struct sv_string_or_bool value;

    int class; /* whose label the value is; set by the handler */
};

struct sv_level {
    struct sv_string label;
};

struct sv_question {
    enum sv_question_type type;
    struct sv_string name, instructions;
    struct sv_list choices; /* struct sv_choice */
    struct sv_list levels;  /* struct sv_level */

    /* Set by the handler: */
    int class;            /* of a predicate */
    int first_hypothesis; /* about the first of its options, for entailment */
};

struct sv_decision_params {
    struct sv_string model;
    struct sv_texts input;    /* parts of one text */
    struct sv_list questions; /* struct sv_question */
    struct sv_tokenize_options tokenize;
    int64_t explain; /* words; 0: no explanation */
    bool depths;     /* of tokens */
    struct sv_budget budget;
    struct sv_string hypothesis_template;

    struct sv_string text; /* the whole text; set by the handler */
};

extern const struct sv_field sv_decision_fields[];

/* Reads, fills in defaults and checks all that can be without the model. NULL: see error. The
 * request's strings and arrays belong to the document. */
struct sv_json_document *sv_decision_params_read(const struct sl_buffer *body,
                                                 struct sv_decision_params *params,
                                                 struct sv_error *error) SL_MUST_CHECK;
