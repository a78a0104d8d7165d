/* registry_params.h - the fields of requests that list or change the registry's models. */
#pragma once

#include "json/json_schema.h"

struct sv_repository_params {
    bool unloads_dependents; /* ignored */
};

struct sv_label_params {
    int64_t version, weight; /* version 0: not given */
    bool has_weight;
};

struct sv_index_params {
    bool ready; /* only models that are */
};

extern const struct sv_field sv_repository_fields[]; /* .../load and .../unload */
extern const struct sv_field sv_label_fields[];      /* PUT .../labels/{label} */
extern const struct sv_field sv_index_fields[];      /* POST /v2/repository/index */

/* Reads a body by one of these tables into its struct, zeroed, which has no strings. An empty body
 * counts as an empty object. */
bool sv_registry_params_read(const struct sl_buffer *body, const struct sv_field *fields, void *to,
                             struct sv_error *error);
