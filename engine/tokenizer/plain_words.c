/* plain_words.c - whole words of ASCII letters and digits, by their bytes. */
#include "tokenizer/plain_words.h"

#include <stdlib.h>
#include <string.h>

/* The number of a word, or -1; *key is its key, or the free one where it belongs. */
static int32_t find(const struct sl_plain_words *words, const struct sl_plain_word *word,
                    uint64_t *key)
{
    for (*key = word->bytes[0] ^ word->bytes[1] * 0xC2B2AE3D27D4EB4F;; ++*key) {
        const int32_t number = sl_hash_find(&words->index, *key);
        if (number < 0 || memcmp(words->list[number].bytes, word->bytes, sizeof word->bytes) == 0)
            return number;
    }
}

/* What a byte of the text is. Beyond ASCII that takes more than the byte; the end is a space. */
static enum sl_codepoint_kind kind_at(const struct sl_pre_tokenizer *p, size_t at)
{
    if (at == p->bytes)
        return SL_CODEPOINT_SPACE;
    unsigned char byte = (unsigned char)p->text[at];
    return byte < SL_ASCII ? p->normalizer->ascii[byte].kind : SL_CODEPOINT_NONE;
}

/* Normalizes the word at `at`; returns its bytes, 0 when it is none of these. */
static size_t read_word(const struct sl_pre_tokenizer *p, size_t at, struct sl_plain_word *word)
{
    char bytes[SL_PLAIN_WORD_BYTES] = {0};
    size_t count = 0;
    enum sl_codepoint_kind kind = kind_at(p, at);
    bool is_alone = kind == SL_CODEPOINT_PUNCTUATION;
    if (is_alone)
        bytes[count++] = p->text[at];
    for (; kind == SL_CODEPOINT_PART && count < SL_PLAIN_WORD_BYTES;
         kind = kind_at(p, at + count)) {
        bytes[count] = (char)p->normalizer->ascii[(unsigned char)p->text[at + count]].point;
        count++;
    }
    memcpy(word->bytes, bytes, sizeof bytes);
    bool has_ended = is_alone || kind == SL_CODEPOINT_SPACE || kind == SL_CODEPOINT_PUNCTUATION;
    return has_ended ? count : 0;
}

/* Sets *word to a piece of the vocabulary; false: no text gives it as such a word. */
static bool read_piece(const struct sl_piece *piece, const struct sl_normalizer *normalizer,
                       struct sl_plain_word *word)
{
    const struct sl_pre_tokenizer text = {
        .normalizer = normalizer, .text = piece->text, .bytes = piece->bytes};
    return piece->bytes > 0 && read_word(&text, 0, word) == piece->bytes &&
           memcmp(word->bytes, piece->text, piece->bytes) == 0; /* not upper case */
}

bool sl_plain_words_fill(struct sl_plain_words *words, const struct sl_tokenizer *tokenizer,
                         const struct sl_normalizer *normalizer, const char *prefix,
                         struct sl_err *err)
{
    words->list = calloc((size_t)tokenizer->count + 1, sizeof *words->list);
    bool ok = words->list;
    for (int32_t id = 0; ok && id < tokenizer->count; id++) {
        const struct sl_piece *piece = &tokenizer->pieces[id];
        struct sl_plain_word word = {.id = id};
        uint64_t key;
        if (strncmp(piece->text, prefix, strlen(prefix)) == 0 ||
            !read_piece(piece, normalizer, &word) || find(words, &word, &key) >= 0)
            continue;
        const int32_t number = sl_hash_add(&words->index, key);
        ok = number >= 0;
        if (ok)
            words->list[number] = word;
    }
    return ok || sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary");
}

void sl_plain_words_release(struct sl_plain_words *words)
{
    free(words->list);
    sl_hash_release(&words->index);
    *words = (struct sl_plain_words){0};
}

bool sl_plain_words_next(const struct sl_plain_words *words, struct sl_pre_tokenizer *p,
                         int32_t *id, struct sl_token_offset *place)
{
    struct sl_plain_word word;
    if (p->taken < p->queued)
        return false;
    while (p->at < p->bytes && kind_at(p, p->at) == SL_CODEPOINT_SPACE)
        p->at++;
    size_t count = read_word(p, p->at, &word);
    uint64_t key;
    const int32_t number = count > 0 ? find(words, &word, &key) : -1;
    if (number < 0)
        return false;
    *id = words->list[number].id;
    *place = (struct sl_token_offset){.start = p->at, .stop = p->at + count};
    p->at += count;
    return true;
}
