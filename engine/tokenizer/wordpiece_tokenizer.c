/* wordpiece_tokenizer.c - BERT's tokenizer: greedy longest match first, with "##" before pieces
 * that continue a word. A word that cannot be matched completely is one [UNK] (Devlin et al. 2018,
 * the released tokenizer). */
#include "base/utf8.h"
#include "tokenizer/bpe_merges.h"
#include "tokenizer/plain_words.h"
#include "tokenizer/vocabulary_trie.h"
#include "tokenizer/wordpiece_alphabet.h"

static const char continuation_prefix[] = "##";

/* Decoded without a space before them. Hugging Face's decoder also lists " ' " and " do not", but
 * it looks at one piece at a time, and no piece contains a space. */
static const char *const no_space_before[] = {".",  "?",  "!",   ",",   "n't",
                                              "'m", "'s", "'ve", "'re", NULL};

/* In this order in a learnt vocabulary; anywhere in one from a file. */
static const struct {
    const char *name;
    enum sl_special role;
    bool optional;
} specials[] = {
    {"[PAD]", SL_SPECIAL_PAD, false},   {"[UNK]", SL_SPECIAL_UNKNOWN, false},
    {"[CLS]", SL_SPECIAL_BEGIN, false}, {"[SEP]", SL_SPECIAL_END, false},
    {"[MASK]", SL_SPECIAL_MASK, true}, /* only pretraining needs it */
};

enum { NAMES = sizeof specials / sizeof *specials };

struct wordpiece {
    struct sl_tokenizer tokenizer;
    struct sl_normalizer normalizer;
    struct sl_trie trie;
    struct sl_plain_words plain;
};

static bool wordpiece_choose(const struct sl_string_counter *words,
                             const struct sl_tokenizer_options *options,
                             struct sl_string_counter *pieces, struct sl_err *err)
{
    const char *names[NAMES];
    for (int i = 0; i < NAMES; i++)
        names[i] = specials[i].name;
    return sl_string_counter_add_all(pieces, names, NAMES, err) &&
           sl_wordpiece_alphabet_add(pieces, words, continuation_prefix, options->size, err) &&
           sl_bpe_merges_add(pieces, words, continuation_prefix, options, err);
}

static bool wordpiece_open(struct sl_tokenizer *tokenizer, struct sl_err *err)
{
    struct wordpiece *w = (struct wordpiece *)tokenizer;
    sl_normalizer_init(&w->normalizer, tokenizer->lower);
    if (!sl_trie_fill(&w->trie, tokenizer, continuation_prefix, err) ||
        !sl_plain_words_fill(&w->plain, tokenizer, &w->normalizer, continuation_prefix, err))
        return false;
    for (int i = 0; i < NAMES; i++) {
        int32_t id = sl_trie_find(&w->trie, specials[i].name);
        if (id < 0 && !specials[i].optional)
            return sl_fail(err, SL_BAD_INPUT,
                           "this is no wordpiece vocabulary: it has no line %s; `sluice vocab "
                           "wordpiece` makes one",
                           specials[i].name);
        tokenizer->special[specials[i].role] = id;
    }
    return true;
}

static void wordpiece_close(struct sl_tokenizer *tokenizer)
{
    struct wordpiece *w = (struct wordpiece *)tokenizer;
    sl_trie_release(&w->trie);
    sl_plain_words_release(&w->plain);
}

/* The byte span of some code points, of which sorted marks may be out of order. */
static struct sl_token_offset place_of(const struct sl_word *word, int from, int count)
{
    struct sl_token_offset place = {.start = word->codepoints[from].start,
                                    .stop = word->codepoints[from].stop};
    for (int i = from + 1; i < from + count; i++) {
        const struct sl_word_codepoint *codepoint = &word->codepoints[i];
        place.start = codepoint->start < place.start ? codepoint->start : place.start;
        place.stop = codepoint->stop > place.stop ? codepoint->stop : place.stop;
    }
    return place;
}

/* The lengths and ids of a word's pieces; returns their number, 0 for an unknown word. */
static int word_cut(const struct wordpiece *w, const struct sl_word *word, int *lengths,
                    int32_t *ids)
{
    int count = 0;
    if (word->count > SL_WORD_CODEPOINTS_MAX)
        return 0;
    for (int at = 0; at < word->count; at += lengths[count++]) {
        enum sl_trie_root root = at == 0 ? SL_TRIE_WORD : SL_TRIE_CONTINUATION;
        lengths[count] = sl_trie_match(&w->trie, root, word, at, &ids[count]);
        if (lengths[count] == 0)
            return 0;
    }
    return count;
}

static void word_put(const struct wordpiece *w, const struct sl_word *word,
                     struct sl_encoder_output *sink)
{
    int lengths[SL_WORD_CODEPOINTS_MAX], at = 0;
    int32_t ids[SL_WORD_CODEPOINTS_MAX];
    int count = word_cut(w, word, lengths, ids);
    for (int i = 0; i < count; at += lengths[i++])
        sl_encoder_emit(sink, ids[i], place_of(word, at, lengths[i]));
    if (count == 0)
        sl_encoder_emit(sink, w->tokenizer.special[SL_SPECIAL_UNKNOWN],
                        (struct sl_token_offset){.start = word->start, .stop = word->stop});
}

static bool wordpiece_encode(const struct sl_tokenizer *tokenizer, struct sl_encoder_output *sink,
                             struct sl_err *err)
{
    const struct wordpiece *w = (const struct wordpiece *)tokenizer;
    const struct sl_encoding *job = sink->job;
    struct sl_pre_tokenizer pre_tokenizer = {
        .normalizer = &w->normalizer, .text = job->text, .bytes = job->bytes};
    struct sl_word word;
    if (!sl_utf8_check(job->text, job->bytes, err))
        return false;
    struct sl_token_offset place;
    int32_t id;
    for (;;)
        if (sl_plain_words_next(&w->plain, &pre_tokenizer, &id, &place))
            sl_encoder_emit(sink, id, place);
        else if (sl_pre_tokenizer_next(&pre_tokenizer, &word))
            word_put(w, &word, sink);
        else
            return true;
}

const struct sl_tokenizer_kind sl_tokenizer_wordpiece = {
    .name = "wordpiece",
    .size = sizeof(struct wordpiece),
    .split_words = true,
    .join_with_space = true,
    .continuation_prefix = continuation_prefix,
    .no_space_before = no_space_before,
    .choose = wordpiece_choose,
    .open = wordpiece_open,
    .close = wordpiece_close,
    .encode = wordpiece_encode,
};
