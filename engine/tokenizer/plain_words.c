/* plain_words.c - whole words of ASCII letters and digits, by their bytes. */
#include "tokenizer/plain_words.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct sl_plain_word *slot_of(const struct sl_plain_words *words,
                                     const struct sl_plain_word *word)
{
    uint64_t hash = (word->key[0] ^ word->key[1] * 0xC2B2AE3D27D4EB4F) * 0x9E3779B97F4A7C15;
    uint32_t at = (uint32_t)(hash >> 32) & words->mask;
    while (words->slots[at].key[0] &&
           memcmp(words->slots[at].key, word->key, sizeof word->key) != 0)
        at = (at + 1) & words->mask;
    return &words->slots[at];
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
    memcpy(word->key, bytes, sizeof bytes);
    bool has_ended = is_alone || kind == SL_CODEPOINT_SPACE || kind == SL_CODEPOINT_PUNCTUATION;
    return has_ended ? count : 0;
}

bool sl_plain_words_fill(struct sl_plain_words *words, const struct sl_tokenizer *tokenizer,
                         const struct sl_normalizer *normalizer, const char *prefix,
                         struct sl_err *err)
{
    size_t capacity = 2, prefix_bytes = strlen(prefix);
    while (capacity < 2 * (size_t)tokenizer->count)
        capacity *= 2;
    words->slots = calloc(capacity, sizeof *words->slots);
    words->mask = (uint32_t)(capacity - 1);
    if (!words->slots)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary");
    for (int32_t id = 0; id < tokenizer->count; id++) {
        const struct sl_piece *piece = &tokenizer->pieces[id];
        const struct sl_pre_tokenizer text = {
            .normalizer = normalizer, .text = piece->text, .bytes = piece->bytes};
        struct sl_plain_word word = {.id = id};
        bool continues = strncmp(piece->text, prefix, prefix_bytes) == 0;
        if (continues || piece->bytes == 0 || read_word(&text, 0, &word) != piece->bytes ||
            memcmp(word.key, piece->text, piece->bytes) != 0) /* upper case that no word has */
            continue;
        *slot_of(words, &word) = word;
    }
    return true;
}

void sl_plain_words_release(struct sl_plain_words *words)
{
    free(words->slots);
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
    const struct sl_plain_word *slot = count > 0 ? slot_of(words, &word) : NULL;
    if (!slot || !slot->key[0])
        return false;
    *id = slot->id;
    *place = (struct sl_token_offset){.start = p->at, .stop = p->at + count};
    p->at += count;
    return true;
}
