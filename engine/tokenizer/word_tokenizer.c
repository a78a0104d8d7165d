/* word_tokenizer.c - one id per word: the most frequent words of the texts, by descending
 * frequency.
 *
 * Text is split as for wordpiece; punctuation is skipped. Ties are broken by bytes, not by first
 * appearance: otherwise the words that do not fit would be those of the last texts, and so of the
 * last class where texts are sorted by class. */
#include "base/byte_string.h"
#include "base/utf8.h"
#include "tokenizer/string_counter.h"
#include "tokenizer/vocabulary_trie.h"

#include <stdlib.h>
#include <string.h>

enum { PAD, START, UNKNOWN, SPECIALS };

static const char *const specials[SPECIALS] =
    {[PAD] = "[PAD]", [START] = "[START]", [UNKNOWN] = "[UNK]"};

struct words {
    struct sl_tokenizer tokenizer;
    struct sl_normalizer normalizer;
    struct sl_trie trie;
};

/* -- learning --------------------------------------------------------------------------------- */

struct ranked {
    int64_t times;
    struct sl_piece word;
};

static int ranked_compare(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->times != y->times)
        return x->times > y->times ? -1 : 1;
    return sl_bytes_compare(x->word.text, x->word.bytes, y->word.text, y->word.bytes);
}

static bool is_punctuation(struct sl_piece word)
{
    size_t at = 0;
    uint32_t point = 0;
    (void)sl_utf8_next(word.text, word.bytes, &at, &point);
    return sl_codepoint_kind(point) == SL_CODEPOINT_PUNCTUATION;
}

static int words_rank(const struct sl_string_counter *words, struct ranked *ranks)
{
    int count = 0;
    for (int i = 0; i < words->count; i++)
        if (!is_punctuation(sl_string_counter_text(words, i)))
            ranks[count++] =
                (struct ranked){words->list[i].times, sl_string_counter_text(words, i)};
    qsort(ranks, (size_t)count, sizeof *ranks, ranked_compare);
    return count;
}

static bool words_choose(const struct sl_string_counter *words,
                         const struct sl_tokenizer_options *options,
                         struct sl_string_counter *pieces, struct sl_err *err)
{
    struct ranked *ranks = calloc((size_t)words->count + 1, sizeof *ranks);
    if (!ranks)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d words", words->count);
    bool ok = sl_string_counter_add_all(pieces, specials, SPECIALS, err);
    int count = words_rank(words, ranks);
    for (int i = 0; i < count && pieces->count < options->size && ok; i++)
        ok = sl_string_counter_add(pieces, ranks[i].word, 1, NULL, err);
    free(ranks);
    return ok;
}

/* -- the vocabulary --------------------------------------------------------------------------- */

static bool words_open(struct sl_tokenizer *tokenizer, struct sl_err *err)
{
    struct words *w = (struct words *)tokenizer;
    sl_normalizer_init(&w->normalizer, tokenizer->lower);
    if (!sl_trie_fill(&w->trie, tokenizer, NULL, err))
        return false;
    for (int32_t id = 0; id < SPECIALS; id++)
        if (sl_trie_find(&w->trie, specials[id]) != id)
            return sl_fail(err, SL_BAD_INPUT, "line %d is '%s': expected '%s'", id + 1,
                           id < tokenizer->count ? tokenizer->pieces[id].text : "", specials[id]);
    tokenizer->special[SL_SPECIAL_PAD] = PAD;
    tokenizer->special[SL_SPECIAL_BEGIN] = START;
    tokenizer->special[SL_SPECIAL_UNKNOWN] = UNKNOWN;
    return true;
}

static void words_close(struct sl_tokenizer *tokenizer)
{
    sl_trie_release(&((struct words *)tokenizer)->trie);
}

static int32_t word_id(const struct words *w, const struct sl_word *word)
{
    int32_t id = UNKNOWN;
    bool whole = word->count <= SL_WORD_CODEPOINTS_MAX &&
                 sl_trie_match(&w->trie, SL_TRIE_WORD, word, 0, &id) == word->count;
    return whole ? id : UNKNOWN;
}

static bool words_encode(const struct sl_tokenizer *tokenizer, struct sl_encoder_output *sink,
                         struct sl_err *err)
{
    const struct words *w = (const struct words *)tokenizer;
    const struct sl_encoding *job = sink->job;
    struct sl_pre_tokenizer pre_tokenizer = {
        .normalizer = &w->normalizer, .text = job->text, .bytes = job->bytes};
    struct sl_word word;
    if (!sl_utf8_check(job->text, job->bytes, err))
        return false;
    while (sl_pre_tokenizer_next(&pre_tokenizer, &word))
        if (word.kind != SL_CODEPOINT_PUNCTUATION)
            sl_encoder_emit(sink, word_id(w, &word),
                            (struct sl_token_offset){.start = word.start, .stop = word.stop});
    return true;
}

const struct sl_tokenizer_kind sl_tokenizer_words = {
    .name = "words",
    .size = sizeof(struct words),
    .split_words = true,
    .join_with_space = true,
    .choose = words_choose,
    .open = words_open,
    .close = words_close,
    .encode = words_encode,
};
