/* hf_params.h - the fields of POST /hf/{name}: those of Hugging Face's pipelines, and ours. */
#pragma once

#include "params/budget_field.h"
#include "params/entity_options.h"
#include "params/scores.h"
#include "params/tokenize_options.h"

enum { SV_TARGETS_MAX = 64, SV_FILLS_USUAL = 5 };

/* Token ids. */
struct sv_mask_targets {
    int32_t items[SV_TARGETS_MAX];
    int count; /* 0: any token */
};

struct sv_hf_params {
    struct sv_texts inputs;
    struct sv_tokenize_options tokenize;
    struct sv_budget budget;
    int64_t explain; /* words; 0: no explanation */
    bool depths;     /* of tokens */
    /* Of one task each: */
    struct sv_label_format labels; /* top_k, function_to_apply */
    struct sv_entity_options entities;
    bool normalize;          /* embeddings, to length 1; */
    int64_t dimensions;      /* so many of their numbers; 0: all */
    struct sv_texts targets; /* tokens that a mask may be; none: any */
    struct sv_mask_targets target_ids;
    /* Zero-shot: each input becomes a pair with a hypothesis for each label. */
    struct sv_texts candidates;
    struct sv_string hypothesis_template;
    bool multi_label;
    /* Similarity: the inputs are the source and the sentences. */
    struct sv_string source;
};

extern const struct sv_field sv_hf_fields[];
/* Of POST /similarity, TEI's. */
extern const struct sv_field sv_similarity_fields[];

/* Reads the fields of one of these tables, fills in defaults and checks. NULL: see error. The
 * request's strings belong to the document. */
struct sv_json_document *sv_hf_params_read(const struct sl_buffer *body,
                                           const struct sv_field *fields,
                                           struct sv_hf_params *params, struct sv_error *error)
    SL_MUST_CHECK;
