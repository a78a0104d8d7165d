/* tokenizer.h - what a tokenizer is inside, and how one is made: learnt from a text, or given its
 * pieces.
 *
 * A kind is one file in text/ and one row in the table of tokenizer.c. A tokenizer owns copies of
 * its pieces and never changes once made; it is saved as the list of its pieces, in order, and
 * `lower`. */
#pragma once

#include "sluice/tokens.h"

/* The text of one id. Not ended by a NUL: it may contain one. */
struct sl_piece {
    const char *text;
    size_t bytes;
};

enum {
    SL_VOCAB_MAX = 1 << 21, /* more than there are characters in Unicode */
    SL_PIECE_BYTES_MAX = 512
};

enum { SL_VOCAB_SIZE_DEFAULT = 30000 }; /* about what BERT has */

struct sl_tokenizer_options {
    const char *kind; /* of those that split: "words", "wordpiece" */
    int size;         /* at most so many pieces, special ones included */
    bool lower;
    /* Called now and then while pieces are chosen; may be NULL. */
    void (*progress)(void *context, int pieces, int size);
    void *context;
};

struct sl_tokenizer_kind;
struct sl_string_counter;

struct sl_tokenizer {
    const struct sl_tokenizer_kind *kind;
    struct sl_piece *pieces; /* by id */
    char *text;              /* the pieces' bytes, a NUL after each */
    int count;
    bool lower;                   /* for kinds that split into words */
    int32_t special[SL_SPECIALS]; /* ids; -1: none */
};

/* Where an encoder puts what it finds. */
struct sl_encoder_output {
    const struct sl_encoding *job;
    long count;
};

void sl_encoder_emit(struct sl_encoder_output *sink, int32_t id, struct sl_token_offset place);

struct sl_tokenizer_kind {
    const char *name;
    size_t
        size;   /* of its own struct, which begins with a struct sl_tokenizer and starts as zeros */
    bool fixed; /* its pieces are always the same: nothing is saved of them */
    bool split; /* it splits into words: `lower` means something, its pieces are lines of a file */
    bool spaced;       /* decoded, its pieces are parted by blanks, */
    const char *joint; /* but for those that begin with this, which is left out; NULL: none */
    const char *const *clinging; /* and for those that begin so; NULL at the end; NULL: none */

    /* How its pieces are found: either in a text at once, made a tokenizer of with
     * sl_tokenizer_create; */
    struct sl_tokenizer *(*learn)(const char *text, size_t bytes, struct sl_err *err);
    /* or in counted words, added to `pieces` in the order of their ids. */
    bool (*choose)(const struct sl_string_counter *words, const struct sl_tokenizer_options *how,
                   struct sl_string_counter *pieces, struct sl_err *err);

    /* Pieces are set: checks them, finds the special ones, builds whatever encode needs. */
    bool (*open)(struct sl_tokenizer *tokens, struct sl_err *err);
    void (*close)(struct sl_tokenizer *tokens); /* undoes open, also one that failed */
    bool (*encode)(const struct sl_tokenizer *tokens, struct sl_encoder_output *sink,
                   struct sl_err *err);
};

/* The names of the kinds, by index; NULL past the last. */
const char *sl_tokenizer_kind_name(int index);
/* NULL with err, which lists the kinds, when there is none of that name. */
const struct sl_tokenizer_kind *sl_tokenizer_kind_find(const char *name, struct sl_err *err)
    SL_MUST_CHECK;

/* The same tokenizer again, from its pieces. Copies them. */
struct sl_tokenizer *sl_tokenizer_create(const char *kind, bool lower,
                                         const struct sl_piece *pieces, int count,
                                         struct sl_err *err) SL_MUST_CHECK;
void sl_tokenizer_destroy(struct sl_tokenizer *tokens); /* NULL is fine */
