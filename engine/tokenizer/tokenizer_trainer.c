/* tokenizer_trainer.c - counts the words of texts, then lets the kind choose its pieces. */
#include "tokenizer/tokenizer_trainer.h"

#include "base/utf8.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/tokenizer_kinds.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { DISTINCT_MAX = 1 << 21, DISTINCT_BYTES_MAX = 1 << 25, SIZE_MIN = 8 };

static_assert(SL_WORD_CODEPOINTS_MAX * SL_UTF8_MAX + 2 <= SL_PIECE_BYTES_MAX,
              "a word that is one piece, after its prefix, is a line that can be read again");

struct sl_tokenizer_trainer {
    const struct sl_tokenizer_kind *kind;
    struct sl_tokenizer_options options;
    struct sl_normalizer normalizer;
    struct sl_string_counter words;
    struct sl_tokenizer_trainer_stats facts;
};

static const struct sl_tokenizer_kind *kind_check(const char *name, struct sl_err *err)
{
    const struct sl_tokenizer_kind *kind = sl_tokenizer_kind_find(name, NULL);
    if (kind && kind->choose)
        return kind;
    if (kind)
        sl_fail(err, SL_BAD_INPUT,
                "tokenizer '%s' has no vocabulary to learn: expected words or wordpiece", name);
    else
        sl_fail(err, SL_BAD_INPUT, "unknown tokenizer '%.64s': expected words or wordpiece", name);
    return NULL;
}

struct sl_tokenizer_trainer *sl_tokenizer_trainer_create(const struct sl_tokenizer_options *options,
                                                         struct sl_err *err)
{
    const struct sl_tokenizer_kind *kind = kind_check(options->kind, err);
    if (!kind)
        return NULL;
    if (options->size < SIZE_MIN || options->size > SL_VOCAB_MAX) {
        sl_fail(err, SL_BAD_INPUT, "invalid vocabulary size %d: expected %d to %d", options->size,
                SIZE_MIN, SL_VOCAB_MAX);
        return NULL;
    }
    struct sl_tokenizer_trainer *trainer = calloc(1, sizeof *trainer);
    if (!trainer) {
        sl_fail(err, SL_NO_MEMORY, "no memory to learn a vocabulary");
        return NULL;
    }
    trainer->kind = kind;
    trainer->options = *options;
    sl_normalizer_init(&trainer->normalizer, options->lower);
    return trainer;
}

void sl_tokenizer_trainer_destroy(struct sl_tokenizer_trainer *trainer)
{
    if (!trainer)
        return;
    sl_string_counter_release(&trainer->words);
    free(trainer);
}

struct sl_tokenizer_trainer_stats sl_tokenizer_trainer_stats(
    const struct sl_tokenizer_trainer *trainer)
{
    struct sl_tokenizer_trainer_stats facts = trainer->facts;
    facts.distinct = trainer->words.count;
    return facts;
}

/* -- counting --------------------------------------------------------------------------------- */

/* The fraction of the memory bound that words with more than `times` occurrences take. */
static double room_after(const struct sl_string_counter *words, int64_t times)
{
    double count = 0, bytes = 0;
    for (int i = 0; i < words->count; i++)
        if (words->list[i].times > times) {
            count++;
            bytes += words->list[i].bytes;
        }
    count /= DISTINCT_MAX;
    bytes /= DISTINCT_BYTES_MAX;
    return count > bytes ? count : bytes;
}

static bool words_forget(struct sl_tokenizer_trainer *trainer, struct sl_err *err)
{
    int64_t times = 1;
    while (room_after(&trainer->words, times) > 0.5)
        times *= 2;
    if (times > trainer->facts.pruned_max_count)
        trainer->facts.pruned_max_count = times;
    return sl_string_counter_prune(&trainer->words, times, err);
}

static bool word_add(struct sl_tokenizer_trainer *trainer, const struct sl_word *word,
                     struct sl_err *err)
{
    char text[SL_WORD_CODEPOINTS_MAX * SL_UTF8_MAX];
    size_t bytes = 0;
    trainer->facts.words++;
    if (word->count > SL_WORD_CODEPOINTS_MAX)
        return true; /* unknown whatever is learnt */
    for (int i = 0; i < word->count; i++)
        bytes += sl_utf8_put(word->codepoints[i].point, text + bytes);
    const struct sl_string_counter *words = &trainer->words;
    bool full = words->count >= DISTINCT_MAX || words->bytes + bytes > DISTINCT_BYTES_MAX;
    return (!full || words_forget(trainer, err)) &&
           sl_string_counter_add(&trainer->words, (struct sl_piece){text, bytes}, 1, NULL, err);
}

bool sl_tokenizer_trainer_add(struct sl_tokenizer_trainer *trainer, const char *text, size_t bytes,
                              struct sl_err *err)
{
    struct sl_pre_tokenizer pre_tokenizer = {
        .normalizer = &trainer->normalizer, .text = text, .bytes = bytes};
    struct sl_word word;
    if (!sl_utf8_check(text, bytes, err))
        return false;
    while (sl_pre_tokenizer_next(&pre_tokenizer, &word))
        if (!word_add(trainer, &word, err))
            return false;
    return true;
}

/* -- choosing --------------------------------------------------------------------------------- */

static struct sl_tokenizer *tokens_make(const struct sl_tokenizer_trainer *trainer,
                                        const struct sl_string_counter *chosen, struct sl_err *err)
{
    struct sl_piece *pieces = calloc((size_t)chosen->count + 1, sizeof *pieces);
    if (!pieces) {
        sl_fail(err, SL_NO_MEMORY, "no memory for %d pieces", chosen->count);
        return NULL;
    }
    for (int id = 0; id < chosen->count; id++)
        pieces[id] = sl_string_counter_text(chosen, id);
    struct sl_tokenizer *tokenizer = sl_tokenizer_create(
        trainer->kind->name, trainer->options.lower, pieces, chosen->count, err);
    free(pieces);
    return tokenizer;
}

struct sl_tokenizer *sl_tokenizer_trainer_finish(struct sl_tokenizer_trainer *trainer,
                                                 struct sl_err *err)
{
    if (trainer->words.count == 0) {
        sl_fail(err, SL_BAD_INPUT, "the texts contain no words to learn from");
        return NULL;
    }
    struct sl_string_counter pieces = {0};
    bool ok = trainer->kind->choose(&trainer->words, &trainer->options, &pieces, err);
    struct sl_tokenizer *tokenizer = ok ? tokens_make(trainer, &pieces, err) : NULL;
    sl_string_counter_release(&pieces);
    return tokenizer;
}

struct sl_tokenizer *sl_tokenizer_train(const struct sl_tokenizer_options *options,
                                        const char *text, size_t bytes, struct sl_err *err)
{
    const struct sl_tokenizer_kind *kind = sl_tokenizer_kind_find(options->kind, err);
    if (!kind)
        return NULL;
    if (kind->learn)
        return kind->learn(text, bytes, err);
    struct sl_tokenizer_trainer *trainer = sl_tokenizer_trainer_create(options, err);
    bool ok = trainer && sl_tokenizer_trainer_add(trainer, text, bytes, err);
    struct sl_tokenizer *tokenizer = ok ? sl_tokenizer_trainer_finish(trainer, err) : NULL;
    sl_tokenizer_trainer_destroy(trainer);
    return tokenizer;
}

struct sl_tokenizer *sl_tokenizer_train_default(const char *kind, const char *text, size_t bytes,
                                                struct sl_err *err)
{
    const struct sl_tokenizer_options options = {
        .kind = kind, .size = SL_VOCAB_SIZE_DEFAULT, .lower = true};
    return sl_tokenizer_train(&options, text, bytes, err);
}
