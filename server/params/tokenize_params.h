/* tokenize_params.h - the fields of POST /tokenize and POST /decode: TEI's fields, and ours. */
#pragma once

#include "params/field_types.h"
#include "params/tokenize_options.h"

struct sv_tokenize_params {
    struct sv_texts inputs;
    enum sl_unknown unknown;
    bool adds_special;
    struct sv_string prompt_name; /* as in struct sv_tokenize_options */
};

struct sv_decode_params {
    struct sv_prompts ids;
    bool skips_special;
};

extern const struct sv_field sv_tokenize_fields[], sv_decode_fields[];

/* Reads, fills in defaults and checks; sv_json_read does so by the other table. NULL: see error.
 * The request's strings belong to the document. */
struct sv_json_document *sv_tokenize_params_read(const struct sl_buffer *body,
                                                 struct sv_tokenize_params *params,
                                                 struct sv_error *error) SL_MUST_CHECK;
