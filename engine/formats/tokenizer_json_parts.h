/* tokenizer_json_parts.h - the sections of tokenizer.json, each read into the parts of a pipeline.
 *
 * Texts in the parts belong to the JSON. */
#pragma once

#include "tokenizer/pipeline.h"
#include "tokenizer/tokenizer.h"

struct json_t;

/* -- members ---------------------------------------------------------------------------------- */

/* Optional members: without one, or with null, *out stays. */
bool sl_member_flag(const struct json_t *object, const char *key, bool *out, struct sl_err *err)
    SL_MUST_CHECK;
bool sl_member_text(const struct json_t *object, const char *key, const char **out,
                    struct sl_err *err) SL_MUST_CHECK;
bool sl_member_whole(const struct json_t *object, const char *key, int max, int *out,
                     struct sl_err *err) SL_MUST_CHECK;
/* A text that a step keeps; required, and of at least `min` bytes. */
bool sl_member_short(const struct json_t *object, const char *key, size_t min,
                     struct sl_short_text *out, struct sl_err *err) SL_MUST_CHECK;

/* "prepend_scheme" and the older "add_prefix_space" of a Metaspace. */
bool sl_prepend_scheme_read(const struct json_t *step, enum sl_prepend_scheme *scheme,
                            struct sl_err *err) SL_MUST_CHECK;

/* -- steps ------------------------------------------------------------------------------------ */

/* A type of step: its name in the file, and what adds it to the parts. */
struct sl_step_type {
    const char *name;
    /* NULL: the section adds it by its kind, which is all there is to it. */
    bool (*build)(const struct json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err);
    int kind;
};

/* A section of the file: a step, or a "Sequence" of steps. */
struct sl_step_section {
    const char *name;                 /* of the section */
    const char *list;                 /* of the member of a Sequence that has its steps */
    const struct sl_step_type *types; /* a name of NULL after the last */
    bool (*add)(struct sl_pipeline_parts *parts, int kind, struct sl_err *err);
};

/* Builds the steps in order. A section that is missing or null has none. */
bool sl_step_section_read(const struct sl_step_section *section, const struct json_t *root,
                          struct sl_pipeline_parts *parts, struct sl_err *err) SL_MUST_CHECK;

extern const struct sl_step_section sl_normalizer_section;
extern const struct sl_step_section sl_pre_tokenizer_section;
extern const struct sl_step_section sl_post_processor_section;
extern const struct sl_step_section sl_decoder_section;

/* -- the model -------------------------------------------------------------------------------- */

/* What the model's parts point to; sl_model_lists_release frees it. Starts as zeros. */
struct sl_model_lists {
    struct sl_piece *pieces;
    struct sl_merge *merges;
    double *scores;
};

bool sl_model_read(const struct json_t *root, struct sl_pipeline_parts *parts,
                   struct sl_model_lists *lists, struct sl_err *err) SL_MUST_CHECK;
void sl_model_lists_release(struct sl_model_lists *lists);
