/* token_decoder.h - texts of tokens to one text, with Hugging Face's decoders. */
#pragma once

#include "tokenizer/normalizer_step.h"
#include "tokenizer/pre_tokenizer_step.h"
#include "tokenizer/tokenizer_kind.h"

enum sl_decoder_kind {
    SL_DECODE_BYTE_LEVEL,    /* characters to the bytes that they spell */
    SL_DECODE_WORDPIECE,     /* a blank before all but those that begin with `text` */
    SL_DECODE_METASPACE,     /* `text` becomes a blank */
    SL_DECODE_SUFFIX,        /* `text` becomes a blank, of the last token nothing */
    SL_DECODE_REPLACE,       /* `text` becomes `content` */
    SL_DECODE_BYTE_FALLBACK, /* <0x00> to <0xFF> become bytes */
    SL_DECODE_FUSE,          /* the tokens become one */
    SL_DECODE_STRIP,         /* up to `start` and `stop` of the character `text` go */
    SL_DECODER_KINDS
};

struct sl_decoder_step {
    enum sl_decoder_kind kind;
    struct sl_short_text text, content;
    bool cleanup;                  /* wordpiece: no blank before punctuation */
    enum sl_prepend_scheme scheme; /* metaspace: unless never, the first token loses `text` */
    int start, stop;
};

enum { SL_DECODER_STEPS_MAX = 8 };

struct sl_decoder {
    struct sl_decoder_step steps[SL_DECODER_STEPS_MAX];
    int count; /* 0: tokens are joined by a blank */
};

/* Texts one after another. Starts as zeros. */
struct sl_token_texts {
    char *text;
    size_t bytes, text_capacity;
    size_t *stops; /* by text: where it ends */
    size_t count, stops_capacity;
    bool failed; /* out of memory, or longer than SL_ALIGNED_TEXT_MAX */
};

void sl_token_texts_release(struct sl_token_texts *texts);
void sl_token_texts_add(struct sl_token_texts *texts, struct sl_piece text);

/* How tokens are decoded. */
struct sl_decode_context {
    bool partial; /* some of a text's tokens: bytes stay as they are */
    bool first;   /* the text begins with them */
};

/* Replaces the texts of tokens by what they decode to; `other` is room. */
void sl_decoder_apply(const struct sl_decoder *decoder, struct sl_decode_context context,
                      struct sl_token_texts *texts, struct sl_token_texts *other);
