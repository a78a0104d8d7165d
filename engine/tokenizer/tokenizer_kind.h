/* tokenizer_kind.h - the kinds of tokenizers: what each implements, and what all share.
 *
 * A kind is one file in tokenizer/ and one row in the table of tokenizer_kinds.c. */
#pragma once

#include "tokenizer/post_processor.h"

/* How a vocabulary is learnt. */
struct sl_tokenizer_options {
    const char *kind; /* one that splits words: "words", "wordpiece" */
    int size;         /* of the vocabulary, at most, special tokens included */
    bool lower;
    /* Called from time to time while the vocabulary is built; may be NULL. */
    void (*progress)(void *context, int pieces, int size);
    void *context;
};

struct sl_tokenizer_kind;
struct sl_string_counter;

struct sl_tokenizer {
    const struct sl_tokenizer_kind *kind;
    struct sl_piece *pieces; /* by id */
    char *text;              /* the bytes of all pieces, a NUL after each */
    int count;
    bool lower;                         /* for kinds that split words */
    enum sl_truncation truncation_side; /* default: right */
    int32_t special[SL_SPECIALS];       /* ids; -1: none */
    struct sl_post_processor post;
    size_t growth; /* tokens per byte of text, at most */
};

/* A token that waits for truncation. */
struct sl_listed_token {
    int32_t id;
    struct sl_token_offset offset;
    struct sl_token_spaces spaces;
};

/* Starts as zeros. */
struct sl_token_list {
    struct sl_listed_token *items;
    size_t count, capacity;
    bool failed; /* out of memory: some are missing */
};

/* The tokens that an encoder has found so far. */
struct sl_encoder_output {
    const struct sl_encoding *job; /* its `text` is the one to encode */
    long count;
    const struct sl_post_processor *post;
    long text_start; /* `count` at the text's first token */
    int32_t type;
    struct sl_token_list *list; /* where tokens wait; NULL: they are written at once */
};

void sl_encoder_emit(struct sl_encoder_output *output, int32_t id, struct sl_token_offset offset);
/* The same for a token whose text begins or ends with spaces. */
void sl_encoder_emit_spaced(struct sl_encoder_output *output, int32_t id,
                            struct sl_token_offset offset, struct sl_token_spaces spaces);

struct sl_tokenizer_kind {
    const char *name;
    size_t size;      /* of its own struct, which begins with a struct sl_tokenizer; zeroed */
    bool fixed;       /* its vocabulary is constant: none is saved */
    bool imported;    /* it is not learnt, and is saved as the file that it is from */
    bool split_words; /* it splits text into words: it may lower-case, its file is vocab.txt */

    /* Decoding: pieces are joined by a space, */
    bool join_with_space;
    /* except those that begin with this prefix of word continuations, which is removed (NULL:
     * none), */
    const char *continuation_prefix;
    /* and except those that begin with one of these strings (ends with NULL; NULL: none). */
    const char *const *no_space_before;

    /* Learning, one of the two: from a text, calling sl_tokenizer_open, */
    struct sl_tokenizer *(*learn)(const char *text, size_t bytes, struct sl_err *err);
    /* or from word counts: adds the pieces in the order of their ids. */
    bool (*choose)(const struct sl_string_counter *words, const struct sl_tokenizer_options *how,
                   struct sl_string_counter *pieces, struct sl_err *err);

    /* Pieces are set: checks them, finds the special tokens, builds the lookup tables. */
    bool (*open)(struct sl_tokenizer *tokenizer, struct sl_err *err);
    void (*close)(struct sl_tokenizer *tokenizer); /* undoes open, also after it failed; or NULL */

    /* Decoding otherwise; NULL: as above. */
    long (*decode)(const struct sl_tokenizer *tokenizer, const struct sl_decoding *decoding,
                   struct sl_err *err);
    size_t (*decode_next)(const struct sl_tokenizer *tokenizer, int32_t id, bool first, char *text,
                          size_t capacity);
    /* NULL: if there is a continuation_prefix. */
    bool (*marks_continuations)(const struct sl_tokenizer *tokenizer);
    bool (*encode)(const struct sl_tokenizer *tokenizer, struct sl_encoder_output *output,
                   struct sl_err *err);
};

extern const struct sl_tokenizer_kind sl_tokenizer_characters; /* character_tokenizer.c */
extern const struct sl_tokenizer_kind sl_tokenizer_bytes;      /* byte_tokenizer.c */
extern const struct sl_tokenizer_kind sl_tokenizer_words;      /* word_tokenizer.c */
extern const struct sl_tokenizer_kind sl_tokenizer_wordpiece;  /* wordpiece_tokenizer.c */
extern const struct sl_tokenizer_kind sl_tokenizer_pipeline;   /* pipeline.c */
