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

#include "tokenizer/gguf_source.h"

struct sl_tokenizer *sl_gguf_vocabulary_open(const struct sl_gguf_vocabulary *vocabulary,
                                             struct sl_err *err) SL_MUST_CHECK;
