/* tokenizer.h - text to token ids and back. A tokenizer never changes; any thread may use it.
 *
 *     kind         a token is                              unknown       special tokens
 *     characters   a code point of the text                as asked      none
 *     bytes        a byte of the text, its value + 1       never         none
 *     words        a lower-cased word, no punctuation      [UNK]         [START] before
 *     wordpiece    the longest piece that begins a word,   [UNK], for    [CLS] before,
 *                  then the longest of the rest (##...)    the word      [SEP] after
 *     pipeline     what its tokenizer.json says            the same      the same
 *
 * `words` and `wordpiece` normalize and split text as BERT does. Special tokens are only added: a
 * text that spells out "[CLS]" is text. A `pipeline` makes the tokens that Hugging Face's tokenizer
 * of the same file makes: there, a text that spells out an added token has that token. */
#pragma once

#include "sluice/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sl_tokenizer;

/* What the kind `characters` does with a character that is not in the vocabulary. */
enum sl_unknown {
    SL_UNKNOWN_FAIL,   /* an error that names the characters and their offsets */
    SL_UNKNOWN_REPLACE /* the tokenizer's replacement: U+FFFD or '?' or ' ', the first it has */
};

/* Tokens that stand for no text. */
enum sl_special {
    SL_SPECIAL_PAD,
    SL_SPECIAL_UNKNOWN,
    SL_SPECIAL_BEGIN,
    SL_SPECIAL_END,
    SL_SPECIAL_MASK,
    SL_SPECIALS
};

SL_PUBLIC int sl_tokenizer_size(const struct sl_tokenizer *tokenizer); /* of the vocabulary */
SL_PUBLIC const char *sl_tokenizer_kind(const struct sl_tokenizer *tokenizer);
/* The id of a special token; -1 when the vocabulary has none such. */
SL_PUBLIC int32_t sl_tokenizer_special(const struct sl_tokenizer *tokenizer, enum sl_special which);

/* Whether a text to be continued begins with special tokens, as the texts did that a published
 * language model was trained with. */
SL_PUBLIC bool sl_tokenizer_begins_texts(const struct sl_tokenizer *tokenizer);

/* Where a token comes from: bytes [start, stop) of the original text, from the first to the last
 * character of the token. Both are 0 for a special token that was added. */
struct sl_token_offset {
    size_t start, stop;
    bool special;
    bool second; /* of the second of two texts */
};

/* The side that a text loses when it is too long. */
enum sl_truncation {
    SL_TRUNCATE_DEFAULT, /* the side that the model was trained with */
    SL_TRUNCATE_RIGHT,
    SL_TRUNCATE_LEFT
};

/* Bytes [start, stop) of a text. */
struct sl_byte_range {
    size_t start, stop;
};

/* A text to encode, or two, and where the ids go. */
struct sl_encoding {
    const char *text; /* UTF-8; any bytes for `bytes` */
    size_t bytes;
    /* Comes right before the text, unless that has no tokens of its own; NULL: nothing does.
     * Offsets count from its first byte. Not together with `plain`. */
    const char *prompt;
    /* Where a `pipeline` finds no special token in the text, whatever is spelled out there: parts
     * that users wrote. In rising order; they do not overlap. */
    const struct sl_byte_range *plain;
    int plain_count;
    const char *pair; /* the second of two texts; NULL: there is one */
    size_t pair_bytes;
    enum sl_unknown unknown;
    bool special; /* add the kind's special tokens */

    /* Truncate to so many tokens, special ones included, which stay; 0: do not. Of two texts the
     * longer loses a token at a time; of two of the same length, the first. */
    long max_tokens;
    enum sl_truncation side; /* that each text loses */

    int32_t *ids;                    /* room for `capacity`; may be NULL if that is 0 */
    struct sl_token_offset *offsets; /* likewise; NULL: not wanted */
    int32_t *types;                  /* likewise: 0, of the second text 1, or as its file says */
    long capacity;
};

/* Returns how many tokens there are, which may be more than `capacity`: then only the first were
 * written, without a special token at the end. -1 with err: invalid UTF-8, with the offset of its
 * first byte, or unknown characters. */
SL_PUBLIC long sl_tokenizer_tokenize(const struct sl_tokenizer *tokenizer,
                                     const struct sl_encoding *encoding, struct sl_err *err)
    SL_MUST_CHECK;

/* The maximum number of tokens of a text, or of two, of that many bytes, special tokens included.
 * More than there are bytes only for a `pipeline` whose normalization can lengthen a text. */
SL_PUBLIC size_t sl_tokenizer_max_tokens(const struct sl_tokenizer *tokenizer, size_t bytes);

/* The same for ids alone, without special tokens. */
SL_PUBLIC long sl_tokenizer_encode(const struct sl_tokenizer *tokenizer, const char *text,
                                   size_t bytes, enum sl_unknown unknown, int32_t *ids,
                                   long capacity, struct sl_err *err) SL_MUST_CHECK;

/* Whether an encoded text has tokens other than the special ones added at its ends. A text without
 * any cannot be classified or trained on. */
SL_PUBLIC bool sl_tokenizer_has_text(const struct sl_tokenizer *tokenizer, const int32_t *ids,
                                     long count);

/* The side that the model was trained with: right or left. */
SL_PUBLIC enum sl_truncation sl_tokenizer_truncation_side(const struct sl_tokenizer *tokenizer);

/* Truncates an encoded text to max >= 2 ids; special tokens at its ends stay. Returns how many ids
 * are left. offsets may be NULL. */
SL_PUBLIC long sl_tokenizer_truncate(const struct sl_tokenizer *tokenizer, enum sl_truncation side,
                                     long max, int32_t *ids, struct sl_token_offset *offsets,
                                     long count);

/* The text of a token. Not terminated by a NUL, and it may contain one. */
struct sl_piece {
    const char *text;
    size_t bytes;
};

/* Ids to decode, and where the text goes. */
struct sl_decoding {
    const int32_t *ids;
    const struct sl_piece *pieces; /* instead of ids; NULL: there are ids */
    long count;
    bool skip_special; /* leave out special tokens, which are otherwise written by name */
    char *text;        /* room for `capacity` bytes; may be NULL if that is 0 */
    size_t capacity;
};

/* Concatenates pieces; words are separated by a space, a piece that continues a word (##) is not.
 * With `wordpiece`, no space precedes . ? ! , n't 'm 's 've 're, as with Hugging Face's decoder.
 * A `pipeline` decodes as its file says; bytes that are no UTF-8 become U+FFFD.
 * Accents, case and spacing that encoding removed are lost. Returns how many bytes the text has,
 * which may be more than `capacity`: then only the first were written. -1 with err: an id is out of
 * range. Adds no NUL. */
SL_PUBLIC long sl_tokenizer_decode(const struct sl_tokenizer *tokenizer,
                                   const struct sl_decoding *decoding, struct sl_err *err)
    SL_MUST_CHECK;

/* Decoding token by token, as a stream: what a token adds to the text, which begins with it if
 * `first`. The bytes may end within a character, which the next token continues. Special tokens add
 * nothing. Returns how many bytes they are, which may be more than `capacity`. The id must be in
 * range. */
SL_PUBLIC size_t sl_tokenizer_decode_next(const struct sl_tokenizer *tokenizer, int32_t id,
                                          bool first, char *text, size_t capacity);

/* The text of one id as the vocabulary spells it, owned by the tokenizer; whole UTF-8 characters,
 * except for `bytes`. NULL if the id is out of range. */
SL_PUBLIC const char *sl_tokenizer_piece(const struct sl_tokenizer *tokenizer, int32_t id,
                                         size_t *bytes);

/* Whether pieces within a word begin with a mark of their own, such as ##. */
SL_PUBLIC bool sl_tokenizer_marks_continuations(const struct sl_tokenizer *tokenizer);

#ifdef __cplusplus
}
#endif
