/* gguf_source.h - the parts of a GGUF file that make a tokenizer, and what they are as
 * tokenizer.json. */
#pragma once

#include "base/buffer.h"
#include "tokenizer/token_model.h"
#include "tokenizer/tokenizer_kind.h"

enum sl_gguf_piece_type {
    SL_GGUF_NORMAL = 1,
    SL_GGUF_UNKNOWN,
    SL_GGUF_CONTROL, /* a special token */
    SL_GGUF_USER,    /* an added token */
    SL_GGUF_UNUSED,
    SL_GGUF_BYTE
};

/* All of it stays the caller's. Texts end with a NUL. */
struct sl_gguf_vocabulary {
    const char *model, *pre;
    const struct sl_piece *pieces; /* by id */
    const int32_t *types;          /* by id, an enum sl_gguf_piece_type */
    const float *scores;           /* by id; of "llama" */
    int count;
    const struct sl_piece *merges; /* "left right"; of "gpt2" */
    size_t merge_count;
    int32_t begin, end, unknown, padding; /* ids; -1: none */
    bool adds_begin, adds_end;            /* around a text */
    bool adds_blank;                      /* "llama": before a text */
};

/* Whether a piece is found in a text before all others. */
bool sl_gguf_is_added(const struct sl_gguf_vocabulary *vocabulary, int32_t id);

/* What splits text into words, as GGUF's `pre` names it. */
struct sl_gguf_splitter {
    const char *pre, *rules; /* rules: a name of split_rules.h */
    bool digits;             /* each alone */
    bool ignore_merges;      /* a word that is a piece is that token */
    bool composes;           /* NFC */
};

/* The parts of tokenizer.json that all vocabularies of a model share, as JSON. */
struct sl_gguf_sections {
    const char *normalizer, *pre_tokenizer, *decoder;
    const char *model; /* its first members */
};

extern const struct sl_gguf_sections sl_gguf_llama_sections, sl_gguf_unprefixed_sections,
    sl_gguf_bert_sections;

/* What the file is printed of. */
struct sl_gguf_source {
    const struct sl_gguf_vocabulary *vocabulary;
    const struct sl_gguf_splitter *splitter; /* of "gpt2" */
    const struct sl_gguf_sections *sections; /* of the others; */
    const struct sl_piece *pieces;           /* by id, as the model has them */
    const struct sl_merge *merges;           /* of "llama"; several may have the same rank */
    size_t merge_count;
};

/* Appends the file to `out`, whose check tells of a failure. */
void sl_gguf_source_print(struct sl_buffer *out, const struct sl_gguf_source *source);
