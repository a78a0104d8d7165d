/* wordpiece_tokenizer.c - BERT's tokenizer: greedy longest match first, with "##" before pieces
 * that continue a word. A word that cannot be matched completely is one [UNK] (Devlin et al. 2018,
 * the released tokenizer). */
#include "base/utf8.h"
#include "tokenizer/bert_words.h"
#include "tokenizer/bpe_merges.h"
#include "tokenizer/wordpiece_alphabet.h"

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
    struct sl_bert_words words;
};

static bool wordpiece_choose(const struct sl_string_counter *words,
                             const struct sl_tokenizer_options *options,
                             struct sl_string_counter *pieces, struct sl_err *err)
{
    const char *names[NAMES];
    for (int i = 0; i < NAMES; i++)
        names[i] = specials[i].name;
    return sl_string_counter_add_all(pieces, names, NAMES, err) &&
           sl_wordpiece_alphabet_add(pieces, words, sl_continuation_prefix, options->size, err) &&
           sl_bpe_merges_add(pieces, words, sl_continuation_prefix, options, err);
}

static bool wordpiece_open(struct sl_tokenizer *tokenizer, struct sl_err *err)
{
    struct wordpiece *w = (struct wordpiece *)tokenizer;
    if (!sl_bert_words_init(&w->words, tokenizer, tokenizer->lower, err))
        return false;
    for (int i = 0; i < NAMES; i++) {
        int32_t id = sl_trie_find(&w->words.trie, specials[i].name);
        if (id < 0 && !specials[i].optional)
            return sl_fail(err, SL_BAD_INPUT,
                           "this is no wordpiece vocabulary: it has no line %s; `sluice vocab "
                           "wordpiece` makes one",
                           specials[i].name);
        tokenizer->special[specials[i].role] = id;
    }
    w->words.unknown = tokenizer->special[SL_SPECIAL_UNKNOWN];
    return true;
}

static void wordpiece_close(struct sl_tokenizer *tokenizer)
{
    sl_bert_words_release(&((struct wordpiece *)tokenizer)->words);
}

static bool wordpiece_encode(const struct sl_tokenizer *tokenizer, struct sl_encoder_output *sink,
                             struct sl_err *err)
{
    const struct wordpiece *w = (const struct wordpiece *)tokenizer;
    const struct sl_encoding *job = sink->job;
    if (!sl_utf8_check(job->text, job->bytes, err))
        return false;
    sl_bert_words_encode(&w->words, sink, 0, job->bytes);
    return true;
}

const struct sl_tokenizer_kind sl_tokenizer_wordpiece = {
    .name = "wordpiece",
    .size = sizeof(struct wordpiece),
    .split_words = true,
    .join_with_space = true,
    .continuation_prefix = sl_continuation_prefix,
    .no_space_before = no_space_before,
    .choose = wordpiece_choose,
    .open = wordpiece_open,
    .close = wordpiece_close,
    .encode = wordpiece_encode,
};
