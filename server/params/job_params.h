/* job_params.h - the fields of POST /v1/fine_tuning/jobs: OpenAI's fields, and ours. */
#pragma once

#include "json/json_schema.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SV_JOB_SETTINGS_MAX = 64,
    SV_JOB_TEXT_BYTES_MAX = 16384, /* of hyper-parameters or metadata, as JSON */
    SV_METADATA_MAX = 16,
    SV_METADATA_KEY_BYTES_MAX = 64,
    SV_METADATA_VALUE_BYTES_MAX = 512,
    SV_SETTINGS_PREFIX_MAX = 48 /* with a name, below SV_PARAM_MAX */
};

/* A member of an object whose names are not known here. */
struct sv_setting {
    const char *name, *value; /* a number as text, a string, true or false */
};

/* All of them but those that are null. */
struct sv_settings {
    int count;
    struct sv_setting *items;            /* the document's */
    struct sv_string raw;                /* the object as JSON; NULL: not given */
    char prefix[SV_SETTINGS_PREFIX_MAX]; /* "hyperparameters." or where else the object was */
};

struct sv_job_params {
    struct sv_json_document *document; /* owns the strings and the settings */
    struct sv_string model, training_file, validation_file, suffix;
    int64_t seed;
    bool seed_given;
    struct sv_settings hyperparameters, metadata;
};

/* struct sv_settings, at most `max` members; the second: of strings only. */
extern const struct sv_field_type sv_type_settings, sv_type_metadata;

extern const struct sv_field sv_job_fields[];

/* The document is to be released, unless a job has taken it. */
bool sv_job_params_read(const struct sl_buffer *body, struct sv_job_params *params,
                        struct sv_error *error) SL_MUST_CHECK;

/* The value of a setting, or NULL. */
const char *sv_setting_find(const struct sv_settings *settings, const char *name);
