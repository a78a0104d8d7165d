/* gguf_vocabulary.h - a tokenizer from the parts that a GGUF file has: pieces, merges or scores,
 * and the names of a model and of a way to split text into words.
 *
 *     model     is                                               `pre`
 *     gpt2      byte-level BPE                                   gpt-2, smollm, llama-bpe, qwen2
 *     llama     BPE by the scores of SentencePiece's pieces      any
 *     bert      BERT's WordPiece, lower-cased                    any
 *
 * The file's keys are tokenizer.ggml.model, .pre, .tokens, .token_type, .merges and .scores. */
#pragma once

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

struct sl_tokenizer *sl_gguf_vocabulary_open(const struct sl_gguf_vocabulary *vocabulary,
                                             struct sl_err *err) SL_MUST_CHECK;
