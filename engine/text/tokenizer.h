/* tokenizer.h - what a tokenizer is inside, and how one is made: learnt from a text, or given its
 * pieces.
 *
 * A kind is one file in text/ and one row in the table of tokenizer.c. A tokenizer owns copies of
 * its pieces and never changes once made; it is saved as the list of its pieces, in order. */
#pragma once

#include "sluice/tokens.h"

/* The text of one id. Not ended by a NUL: it may contain one. */
struct sl_piece {
    const char *text;
    size_t bytes;
};

enum { SL_VOCAB_MAX = 1 << 21 }; /* more than there are characters in Unicode */

struct sl_tokenizer_kind;

struct sl_tokenizer {
    const struct sl_tokenizer_kind *kind;
    struct sl_piece *pieces; /* by id */
    char *text;              /* the pieces' bytes, a NUL after each */
    int count;
};

/* The arguments of sl_tokenizer_encode. */
struct sl_encoding {
    const char *text;
    size_t bytes;
    enum sl_unknown unknown;
    int32_t *ids;
    long most;
};

struct sl_tokenizer_kind {
    const char *name;
    size_t
        size; /* of its own struct, which begins with a struct sl_tokenizer and starts as zeros */
    /* Finds the pieces of a text and makes a tokenizer of them with sl_tokenizer_create. */
    struct sl_tokenizer *(*learn)(const char *text, size_t bytes, struct sl_err *err);
    /* Pieces are set: checks them and builds whatever encode needs. */
    bool (*open)(struct sl_tokenizer *tokens, struct sl_err *err);
    void (*close)(struct sl_tokenizer *tokens); /* undoes open, also one that failed */
    long (*encode)(const struct sl_tokenizer *tokens, const struct sl_encoding *job,
                   struct sl_err *err);
};

/* The names of the kinds, by index; NULL past the last. */
const char *sl_tokenizer_kind_name(int index);

/* A vocabulary for all of a text. */
struct sl_tokenizer *sl_tokenizer_learn(const char *kind, const char *text, size_t bytes,
                                        struct sl_err *err) SL_MUST_CHECK;
/* The same tokenizer again, from its pieces. Copies them. */
struct sl_tokenizer *sl_tokenizer_create(const char *kind, const struct sl_piece *pieces, int count,
                                         struct sl_err *err) SL_MUST_CHECK;
void sl_tokenizer_destroy(struct sl_tokenizer *tokens); /* NULL is fine */
