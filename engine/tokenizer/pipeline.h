/* pipeline.h - a tokenizer of the kind `pipeline`: Hugging Face's steps, one after the other.
 *
 *     added tokens -> normalizers -> added tokens -> pre-tokenizers -> model -> post-processor
 *
 * It makes the same tokens at the same places. (Characters that Unicode assigned or changed after
 * version 8 may differ, because the tables of the two differ.) */
#pragma once

#include "tokenizer/added_tokens.h"
#include "tokenizer/pre_tokenizer_step.h"
#include "tokenizer/token_decoder.h"
#include "tokenizer/token_model.h"

enum { SL_PIPELINE_STEPS_MAX = 16, SL_PIPELINE_TEXT_MAX = SL_ALIGNED_TEXT_MAX };

/* A pipeline from outside. All of it stays the caller's, but for the character maps. */
struct sl_pipeline_parts {
    struct sl_token_model_parts model;
    const struct sl_added_token *added; /* of an id that the model has, too, or of one after them */
    int added_count;
    struct sl_normalizer_step normalizers[SL_PIPELINE_STEPS_MAX];
    int normalizer_count;
    struct sl_pre_tokenizer_step pre_tokenizers[SL_PIPELINE_STEPS_MAX];
    int pre_tokenizer_count;
    struct sl_post_processor post;
    struct sl_decoder decoder;

    /* Normalizer, pre-tokenizer and model are BERT's, with lower-casing or without. */
    bool is_bert, bert_lower;

    int32_t padding; /* id; -1: none */
    enum sl_truncation side;
    const char *source; /* the file that it is from, of which a copy is kept for saving */
    size_t source_bytes;
};

/* Frees the character maps. */
void sl_pipeline_parts_release(struct sl_pipeline_parts *parts);

/* Moves the character maps out of the parts. */
struct sl_tokenizer *sl_pipeline_create(struct sl_pipeline_parts *parts, struct sl_err *err)
    SL_MUST_CHECK;

/* The file that a tokenizer of this kind is from, terminated by a NUL. */
const char *sl_pipeline_source(const struct sl_tokenizer *tokenizer);
