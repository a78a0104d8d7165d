/* learner.c - texts in, counted words between, pieces of the kind's choice out. */
#include "tokenizer/learner.h"

#include "base/utf8.h"
#include "tokenizer/splitter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { DISTINCT_MAX = 1 << 21, DISTINCT_BYTES_MAX = 1 << 25, SIZE_MIN = 8 };

static_assert(SL_WORD_LETTERS_MAX * SL_UTF8_MAX + 2 <= SL_PIECE_BYTES_MAX,
              "a word that is one piece, after its joint, is a line that can be read again");

struct sl_learner {
    const struct sl_tokenizer_kind *kind;
    struct sl_learning how;
    struct sl_rules rules;
    struct sl_counts words;
    struct sl_learner_facts facts;
};

static const struct sl_tokenizer_kind *kind_check(const char *name, struct sl_err *err)
{
    const struct sl_tokenizer_kind *kind = sl_tokenizer_kind_find(name, err);
    if (!kind || kind->choose)
        return kind;
    sl_fail(err, SL_BAD_INPUT,
            "kind '%s' is not learnt from counted words, as those that split are", name);
    return NULL;
}

struct sl_learner *sl_learner_create(const struct sl_learning *how, struct sl_err *err)
{
    const struct sl_tokenizer_kind *kind = kind_check(how->kind, err);
    if (!kind)
        return NULL;
    if (how->size < SIZE_MIN || how->size > SL_VOCAB_MAX) {
        sl_fail(err, SL_BAD_INPUT, "a vocabulary of %d pieces; %d to %d can be learnt", how->size,
                SIZE_MIN, SL_VOCAB_MAX);
        return NULL;
    }
    struct sl_learner *learner = calloc(1, sizeof *learner);
    if (!learner) {
        sl_fail(err, SL_NO_MEMORY, "no memory to learn a vocabulary");
        return NULL;
    }
    learner->kind = kind;
    learner->how = *how;
    sl_rules_init(&learner->rules, how->lower);
    return learner;
}

void sl_learner_destroy(struct sl_learner *learner)
{
    if (!learner)
        return;
    sl_counts_release(&learner->words);
    free(learner);
}

struct sl_learner_facts sl_learner_facts(const struct sl_learner *learner)
{
    struct sl_learner_facts facts = learner->facts;
    facts.distinct = learner->words.count;
    return facts;
}

/* -- counting --------------------------------------------------------------------------------- */

/* How much of the room the words would take that were counted more than `times`, as a share. */
static double room_after(const struct sl_counts *words, int64_t times)
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

static bool words_forget(struct sl_learner *learner, struct sl_err *err)
{
    int64_t times = 1;
    while (room_after(&learner->words, times) > 0.5)
        times *= 2;
    if (times > learner->facts.forgotten)
        learner->facts.forgotten = times;
    return sl_counts_prune(&learner->words, times, err);
}

static bool word_add(struct sl_learner *learner, const struct sl_word *word, struct sl_err *err)
{
    char text[SL_WORD_LETTERS_MAX * SL_UTF8_MAX];
    size_t bytes = 0;
    learner->facts.words++;
    if (word->count > SL_WORD_LETTERS_MAX)
        return true; /* unknown whatever is learnt */
    for (int i = 0; i < word->count; i++)
        bytes += sl_utf8_put(word->letters[i].point, text + bytes);
    const struct sl_counts *words = &learner->words;
    bool full = words->count >= DISTINCT_MAX || words->bytes + bytes > DISTINCT_BYTES_MAX;
    return (!full || words_forget(learner, err)) &&
           sl_counts_add(&learner->words, (struct sl_piece){text, bytes}, 1, NULL, err);
}

bool sl_learner_add(struct sl_learner *learner, const char *text, size_t bytes, struct sl_err *err)
{
    struct sl_splitter splitter = {.rules = &learner->rules, .text = text, .bytes = bytes};
    struct sl_word word;
    if (!sl_utf8_check(text, bytes, err))
        return false;
    while (sl_splitter_next(&splitter, &word))
        if (!word_add(learner, &word, err))
            return false;
    return true;
}

/* -- choosing --------------------------------------------------------------------------------- */

static struct sl_tokenizer *tokens_make(const struct sl_learner *learner,
                                        const struct sl_counts *chosen, struct sl_err *err)
{
    struct sl_piece *pieces = calloc((size_t)chosen->count + 1, sizeof *pieces);
    if (!pieces) {
        sl_fail(err, SL_NO_MEMORY, "no memory for %d pieces", chosen->count);
        return NULL;
    }
    for (int id = 0; id < chosen->count; id++)
        pieces[id] = sl_counts_text(chosen, id);
    struct sl_tokenizer *tokens =
        sl_tokenizer_create(learner->kind->name, learner->how.lower, pieces, chosen->count, err);
    free(pieces);
    return tokens;
}

struct sl_tokenizer *sl_learner_finish(struct sl_learner *learner, struct sl_err *err)
{
    if (learner->words.count == 0) {
        sl_fail(err, SL_BAD_INPUT, "there are no words to learn from");
        return NULL;
    }
    struct sl_counts pieces = {0};
    bool ok = learner->kind->choose(&learner->words, &learner->how, &pieces, err);
    struct sl_tokenizer *tokens = ok ? tokens_make(learner, &pieces, err) : NULL;
    sl_counts_release(&pieces);
    return tokens;
}

struct sl_tokenizer *sl_learning_run(const struct sl_learning *how, const char *text, size_t bytes,
                                     struct sl_err *err)
{
    const struct sl_tokenizer_kind *kind = sl_tokenizer_kind_find(how->kind, err);
    if (!kind)
        return NULL;
    if (kind->learn)
        return kind->learn(text, bytes, err);
    struct sl_learner *learner = sl_learner_create(how, err);
    bool ok = learner && sl_learner_add(learner, text, bytes, err);
    struct sl_tokenizer *tokens = ok ? sl_learner_finish(learner, err) : NULL;
    sl_learner_destroy(learner);
    return tokens;
}

struct sl_tokenizer *sl_tokenizer_learn(const char *kind, const char *text, size_t bytes,
                                        struct sl_err *err)
{
    const struct sl_learning how = {.kind = kind, .size = SL_LEARN_SIZE, .lower = true};
    return sl_learning_run(&how, text, bytes, err);
}
