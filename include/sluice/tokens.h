/* tokens.h - text to token ids and back. A tokenizer never changes once made; any thread may use
 * it.
 *
 *     kind         a token is                              unknown       added on request
 *     characters   a code point of the text                as asked      nothing
 *     bytes        a byte of the text, its value + 1       none is       nothing
 *     words        a lower-cased word, no punctuation      [UNK]         [START] before
 *     wordpiece    the longest piece that begins a word,   [UNK], for    [CLS] before,
 *                  then the longest of the rest (##...)    the word      [SEP] after
 *
 * The last two split and normalise as BERT does (text/unicode.h). A text that spells out "[CLS]" is
 * a text: special tokens are added, never found. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sl_tokenizer;

/* What characters do with one that the vocabulary does not have. Other kinds do not ask. */
enum sl_unknown {
    SL_UNKNOWN_FAIL,   /* an error that names the characters and where they are */
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

SL_PUBLIC int sl_tokenizer_size(const struct sl_tokenizer *tokens); /* of the vocabulary */
SL_PUBLIC const char *sl_tokenizer_kind(const struct sl_tokenizer *tokens);
/* The id of a special token; -1 when the vocabulary has none such. */
SL_PUBLIC int32_t sl_tokenizer_special(const struct sl_tokenizer *tokens, enum sl_special which);

/* Where a token comes from: bytes [start, stop) of the text as it was given, from the first to the
 * last character that the token was made of. Both are 0 for a special token that was added. */
struct sl_token_offset {
    size_t start, stop;
    bool special;
};

/* What is to be encoded, how, and where to. */
struct sl_encoding {
    const char *text; /* UTF-8; any bytes for `bytes` */
    size_t bytes;
    enum sl_unknown unknown;
    bool special;                   /* with the special tokens that the kind adds */
    int32_t *ids;                   /* room for `most`; may be NULL when most is 0 */
    struct sl_token_offset *places; /* room for `most`; NULL: not wanted */
    long most;
};

/* Returns how many tokens the text has, which may be more than `most` (then only the first `most`
 * were written, and a token that ends the text is not among them), or -1 with err: invalid UTF-8,
 * with the offset of its first byte, or unknown characters. */
SL_PUBLIC long sl_tokenizer_tokenize(const struct sl_tokenizer *tokens,
                                     const struct sl_encoding *encoding, struct sl_err *err)
    SL_MUST_CHECK;

/* Room for the tokens of any text of so many bytes: no token is shorter than a byte, but for one
 * special token at each end. */
SL_PUBLIC size_t sl_tokenizer_max_tokens(size_t bytes);

/* The same in short: ids alone, without special tokens. */
SL_PUBLIC long sl_tokenizer_encode(const struct sl_tokenizer *tokens, const char *text,
                                   size_t bytes, enum sl_unknown unknown, int32_t *ids, long most,
                                   struct sl_err *err) SL_MUST_CHECK;

/* Whether an encoded text has tokens of its own: unknown words stand for text, what is added around
 * every text does not. A text without any is not classified, nor learnt from. */
SL_PUBLIC bool sl_tokenizer_has_text(const struct sl_tokenizer *tokens, const int32_t *ids,
                                     long count);

enum sl_truncation {
    SL_TRUNCATE_RIGHT,
    SL_TRUNCATE_LEFT
}; /* which end of a text that is too long */

/* Cuts an encoded text, special tokens included, to `most` >= 2 ids, of its first or last ones;
 * special tokens at its ends stay. Returns how many ids are left. places may be NULL. */
SL_PUBLIC long sl_tokenizer_truncate(const struct sl_tokenizer *tokens, enum sl_truncation keep,
                                     long most, int32_t *ids, struct sl_token_offset *places,
                                     long count);

/* What is to be decoded, and where to. */
struct sl_decoding {
    const int32_t *ids;
    long count;
    bool skip_special; /* leave out special tokens, which else stand there by name */
    char *text;        /* room for `most` bytes; may be NULL when most is 0 */
    size_t most;
};

/* Pieces one after another; words with a blank between them, a piece that continues a word (##)
 * joined to what is before it. With `wordpiece` . ? ! , and n't 'm 's 've 're cling to that, too,
 * as with Hugging Face's decoder. What encoding threw away (accents, case, blanks) does not come
 * back. Returns how many bytes the text has, which may be more than `most` (then only the first
 * `most` were written), or -1 with err: an id out of range. Adds no NUL. */
SL_PUBLIC long sl_tokenizer_decode(const struct sl_tokenizer *tokens,
                                   const struct sl_decoding *decoding, struct sl_err *err)
    SL_MUST_CHECK;

/* The text of one id: bytes that the tokenizer owns, never a part of a UTF-8 character but for
 * `bytes`. NULL when id is out of range. */
SL_PUBLIC const char *sl_tokenizer_piece(const struct sl_tokenizer *tokens, int32_t id,
                                         size_t *bytes);

#ifdef __cplusplus
}
#endif
