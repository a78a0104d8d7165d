/* model_scratch.h - the tokens of a word, while a model finds them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes [start, stop) of a word. */
struct sl_model_token {
    int32_t id;
    uint32_t start, stop;
};

struct sl_bpe_symbol {
    int32_t id, before, after; /* -1: none */
    uint32_t bytes;            /* 0: merged into the one before it */
};

struct sl_bpe_candidate {
    uint32_t rank, at; /* the smallest comes first */
    int32_t merged;
};

/* The best way to a place in a word. */
struct sl_unigram_node {
    double score;
    int32_t id;           /* of the piece that ends here */
    uint32_t start, next; /* where it begins, UINT32_MAX: none ends here; where the next one ends */
};

/* The tokens of a word, and memory that lasts from word to word. Starts as zeros. */
struct sl_model_scratch {
    struct sl_model_token *tokens;
    size_t count, capacity;
    struct sl_bpe_symbol *symbols;
    size_t symbol_count, symbols_capacity;
    struct sl_bpe_candidate *heap;
    size_t heap_count, heap_capacity;
    struct sl_unigram_node *nodes;
    size_t nodes_capacity;
    bool failed; /* out of memory */
};

void sl_model_scratch_release(struct sl_model_scratch *scratch);
void sl_model_scratch_add(struct sl_model_scratch *scratch, struct sl_model_token token);
