/* routing_sums.h - what the tokens of a text were routed to, by groups of tokens. */
#pragma once

#include "infer/routing.h"

#include <stdint.h>

/* How tokens are grouped. */
enum routing_kind {
    ROUTING_ALL,
    ROUTING_CLASS,     /* by the first character of the token, */
    ROUTING_FREQUENCY, /* by the rank of the token in this text, */
    ROUTING_ENTROPY,   /* by how uncertain the prediction after the token is */
    ROUTING_KINDS
};

extern const char *const routing_kind_names[ROUTING_KINDS]; /* "all", "class", ... */

enum { ROUTING_GROUPS = 19 };

struct routing_group {
    enum routing_kind kind;
    const char *name;
    int64_t tokens;
    double *ran, *weight; /* of each part: tokens on which it acted, and the sum of its weights */
};

/* The same of one token of the vocabulary, over all parts. */
struct routing_token {
    int32_t id;
    int rank; /* from 0, of those that occur: by how often */
    int64_t tokens;
    double ran, weight;
};

struct routing_sums {
    const struct sl_tokenizer *tokenizer;
    int parts, vocab;
    struct routing_group groups[ROUTING_GROUPS];
    double *memory;                /* of the groups */
    struct routing_token *by_id;   /* vocab */
    struct routing_token **ranked; /* the same by rank; */
    int distinct;                  /* so many occur */
};

/* ids: the whole text, whose tokens are added afterwards. */
bool routing_sums_open(struct routing_sums *sums, const struct sl_model *model, int parts,
                       const int32_t *ids, size_t count, struct sl_err *err) SL_MUST_CHECK;
/* The tokens of the text that was run last. */
void routing_sums_add(struct routing_sums *sums, const struct sl_routing *routing,
                      const int32_t *ids, int count);
void routing_sums_close(struct routing_sums *sums); /* a zeroed one is fine */

/* Parts that acted on a token of the group on average, and the sum of their weights. */
double routing_group_ran(const struct routing_sums *sums, const struct routing_group *group);
double routing_group_weight(const struct routing_sums *sums, const struct routing_group *group);
