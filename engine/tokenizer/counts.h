/* counts.h - distinct texts, numbered in the order they came, with how often each was counted. */
#pragma once

#include "tokenizer/tokenizer.h"

struct sl_counted {
    size_t start; /* of its bytes, in `text` */
    uint32_t bytes;
    int64_t times;
};

/* Starts as zeros. */
struct sl_counts {
    struct sl_counted *list;
    int count;
    char *text;
    size_t bytes;
    uint32_t *slots; /* number + 1 by hash, open addressing, at most half full; 0: free */
    uint32_t mask;
    size_t list_room, text_room;
};

void sl_counts_release(struct sl_counts *counts);

/* Counts a text `times` more; *number is which it is, and may be NULL. */
bool sl_counts_add(struct sl_counts *counts, struct sl_piece text, int64_t times, int *number,
                   struct sl_err *err) SL_MUST_CHECK;
/* Counts each of several texts once more. */
bool sl_counts_add_all(struct sl_counts *counts, const char *const *texts, int count,
                       struct sl_err *err) SL_MUST_CHECK;
/* -1 when it was never counted. */
int sl_counts_find(const struct sl_counts *counts, struct sl_piece text);
/* The bytes of one, valid until the next is added. */
struct sl_piece sl_counts_text(const struct sl_counts *counts, int number);

/* Forgets those that were counted `times` or less; the others keep their order, not their
 * numbers. */
bool sl_counts_prune(struct sl_counts *counts, int64_t times, struct sl_err *err) SL_MUST_CHECK;
