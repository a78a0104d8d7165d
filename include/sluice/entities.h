/* entities.h - what a token classifier finds in a text: labels of tokens, or entities of several
 * tokens, as the pipeline of Hugging Face's transformers aggregates them. Any thread. */
#pragma once

#include "sluice/model.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sl_aggregation {
    SL_AGGREGATE_NONE,   /* every token with its label */
    SL_AGGREGATE_SIMPLE, /* tokens side by side of one label, without B- and I-, are an entity */
    /* The same, but the tokens of a word have one label: */
    SL_AGGREGATE_FIRST,   /* that of its first token, */
    SL_AGGREGATE_AVERAGE, /* that of the highest mean probability, */
    SL_AGGREGATE_MAX      /* or that of the token which is surest */
};

/* As they are called in requests; ends with NULL. */
extern SL_PUBLIC const char *const sl_aggregations[];

/* A text, and what sl_classifier_run computed of its tokens. */
struct sl_classified_tokens {
    const char *text;
    size_t bytes;
    const int32_t *ids;
    const struct sl_token_offset *offsets;
    const float *logits; /* count rows */
    int count;
};

struct sl_entity {
    const char *label; /* the model's, as long as that; unless SL_AGGREGATE_NONE without B- or I- */
    struct sl_piece word; /* in `words` of its list */
    float score;
    size_t start, stop; /* characters of the text, not bytes */
    int token;          /* SL_AGGREGATE_NONE: its place in the text's tokens */
};

/* Starts as zeros. */
struct sl_entities {
    struct sl_entity *items;
    int count;
    char *words; /* the memory of theirs */
};

/* In the order of the text; those with one of the labels `ignored` (ends with NULL) are left out.
 * To be released, also after a failure, which is only for want of memory. */
SL_PUBLIC bool sl_entities_find(const struct sl_model *model,
                                const struct sl_classified_tokens *tokens, enum sl_aggregation how,
                                const char *const *ignored, struct sl_entities *entities,
                                struct sl_err *err) SL_MUST_CHECK;
SL_PUBLIC void sl_entities_release(struct sl_entities *entities);

#ifdef __cplusplus
}
#endif
