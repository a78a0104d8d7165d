/* string_counter.h - counts distinct strings, numbered in the order of first appearance. */
#pragma once

#include "base/hash_index.h"
#include "tokenizer/tokenizer_kind.h"

struct sl_string_count {
    size_t start; /* of its bytes, in `text` */
    uint32_t bytes;
    int64_t times;
};

/* Starts as zeros. */
struct sl_string_counter {
    struct sl_string_count *list;
    int count;
    char *text;
    size_t bytes;
    struct sl_hash_index index; /* numbers by hash */
    size_t list_capacity, text_capacity;
};

void sl_string_counter_release(struct sl_string_counter *counts);

/* Adds `times` to the count of a text; *number (may be NULL) gets its index. */
bool sl_string_counter_add(struct sl_string_counter *counts, struct sl_piece text, int64_t times,
                           int *number, struct sl_err *err) SL_MUST_CHECK;
/* Adds 1 to the count of each of several texts. */
bool sl_string_counter_add_all(struct sl_string_counter *counts, const char *const *texts,
                               int count, struct sl_err *err) SL_MUST_CHECK;
/* -1 when it was never counted. */
int sl_string_counter_find(const struct sl_string_counter *counts, struct sl_piece text);
/* The bytes of a text, valid until the next is added. */
struct sl_piece sl_string_counter_text(const struct sl_string_counter *counts, int number);

/* Drops texts with a count of at most `times`; the others keep their order, not their indices. */
bool sl_string_counter_prune(struct sl_string_counter *counts, int64_t times, struct sl_err *err)
    SL_MUST_CHECK;
