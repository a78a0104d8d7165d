/* bag_contributions.c - what each token adds to a weighted sum of a bag of words' scores.
 *
 * The scores are linear in the pooled vectors and in the TF-IDF values once the lengths by which
 * these are divided are known. An n-gram that occurs more than once counts once, with a value that
 * its occurrences share equally; the words of an n-gram share its part, and the tokens of a word
 * theirs. So the sum over the tokens is the score without the bias. */
#include "layers/bag_of_words.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Occurrences of n-grams of one kind; each is of `length` words from `word` on. */
struct occurrences {
    uint64_t *hashes;
    int *word, *length;
    int count;
};

struct explainer {
    const struct sl_bag_of_words *m;
    const struct sl_kernels *kernels;
    const float *weights; /* of the scores */
    const int32_t *tokens;
    int count;
    struct sl_word *words;
    int word_count;
    struct occurrences found;
    /* The rows of the n-grams of one kind, or tokens: by number how often each occurs, and its
     * TF-IDF value. */
    struct sl_hash_index counted;
    float *times, *values;
    uint64_t *keys;
    int32_t *slots;
    float *out;
};

static void add_to_words(const struct explainer *e, int word, int length, float value)
{
    for (int i = word; i < word + length; i++) {
        const struct sl_word *w = &e->words[i];
        for (int t = w->first; t < w->end; t++)
            e->out[t] += value / (float)(length * (w->end - w->first));
    }
}

/* ---- n-grams --------------------------------------------------------------------------------- */

static void add_occurrences(struct explainer *e)
{
    const struct sl_bag_of_words *m = e->m;
    const int classes = m->bias->cols;
    e->counted = sl_hash_index_in(e->keys, e->slots, e->found.count);
    sl_ngram_values(m, e->found.hashes, e->found.count, &e->counted, e->times, e->values);
    for (int i = 0; i < e->found.count; i++) {
        const int row = sl_ngram_row(m->keys, e->found.hashes[i]);
        const int number = row >= 0 ? sl_hash_find(&e->counted, (uint64_t)row) : -1;
        if (number < 0)
            continue;
        const float value = e->values[number] / e->times[number];
        float score = e->kernels->dot(
            e->weights, m->ngram_weights->data + (size_t)row * (size_t)classes, classes);
        add_to_words(e, e->found.word[i], e->found.length[i], value * score);
    }
}

static void note(struct explainer *e, int word, int length)
{
    e->found.word[e->found.count] = word;
    e->found.length[e->found.count++] = length;
}

/* In the order of sl_ngram_hashes. */
static void add_word_ngrams(struct explainer *e)
{
    int words;
    int total =
        sl_ngram_hashes(e->m->roles, e->m->order, e->tokens, e->count, e->found.hashes, &words);
    assert(words == e->word_count);
    e->found.count = 0;
    for (int length = 1; length <= e->m->order; length++)
        for (int word = 0; word + length <= words; word++)
            note(e, word, length);
    assert(e->found.count == total);
    (void)total;
    add_occurrences(e);
}

static void add_character_ngrams(struct explainer *e)
{
    e->found.count = 0;
    for (int i = 0; i < e->word_count; i++) {
        const struct sl_word *w = &e->words[i];
        int grams = sl_character_hashes(e->m, e->tokens + w->first, w->end - w->first,
                                        e->found.hashes + e->found.count);
        for (int g = 0; g < grams; g++)
            note(e, i, 1);
    }
    add_occurrences(e);
}

static void find_words(struct explainer *e)
{
    for (struct sl_word w = {0}; sl_next_word(e->m->roles, e->tokens, e->count, &w);)
        e->words[e->word_count++] = w;
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* A word counts once, and its occurrences share its part equally. */
static void count_tokens(struct explainer *e)
{
    e->counted = sl_hash_index_in(e->keys, e->slots, e->count);
    for (int t = 0; t < e->count; t++)
        sl_count(&e->counted, e->tokens[t], e->times);
}

/* Of one occurrence of a token, in one view. */
static float share_of(const struct explainer *e, int view, int32_t token)
{
    return sl_token_weight(e->m, view, token) /
           e->times[sl_hash_find(&e->counted, (uint64_t)token)];
}

/* `direction`: the weighted sum of the classes' rows, for one view. */
static void add_view(const struct explainer *e, int view, float *direction, const float *pooled)
{
    const struct sl_bag_of_words *m = e->m;
    const int width = m->vectors->cols, classes = m->bias->cols, ins = m->classify.weight->cols;
    memset(direction, 0, (size_t)width * sizeof *direction);
    for (int c = 0; c < classes; c++)
        e->kernels->axpy(direction, e->weights[c],
                         m->classify.weight->data + (size_t)c * (size_t)ins +
                             (size_t)view * (size_t)width,
                         width);
    const double length = sqrt((double)e->kernels->dot(pooled, pooled, width));
    for (int t = 0; t < e->count && length > 1e-10; t++) {
        const float *vector = m->vectors->data + (size_t)e->tokens[t] * (size_t)width;
        float share = share_of(e, view, e->tokens[t]);
        if (share > 0.0f)
            e->out[t] += share / (float)length * e->kernels->dot(direction, vector, width);
    }
}

/* memory: two vectors. */
static void add_vectors(struct explainer *e, float *memory)
{
    assert(memory);
    const struct sl_bag_of_words *m = e->m;
    const int width = m->vectors->cols;
    float *direction = memory, *pooled = memory + width;
    count_tokens(e);
    for (int view = 0; view < SL_BAG_VIEWS; view++) {
        memset(pooled, 0, (size_t)width * sizeof *pooled);
        for (int t = 0; t < e->count; t++) {
            const float *vector = m->vectors->data + (size_t)e->tokens[t] * (size_t)width;
            float share = share_of(e, view, e->tokens[t]);
            if (share > 0.0f)
                e->kernels->axpy(pooled, share, vector, width);
        }
        add_view(e, view, direction, pooled);
    }
}

/* ---- both ------------------------------------------------------------------------------------ */

static bool allocate(struct explainer *e)
{
    const struct sl_bag_of_words *m = e->m;
    size_t per_token = SL_NGRAM_ORDER_MAX + (m->spellings ? 2 * SL_SPELLING_CHARACTERS : 0);
    size_t most = (size_t)e->count * per_token;
    e->words = calloc((size_t)e->count, sizeof *e->words);
    e->found = (struct occurrences){.hashes = calloc(most, sizeof(uint64_t)),
                                    .word = calloc(most, sizeof(int)),
                                    .length = calloc(most, sizeof(int))};
    e->keys = calloc(most, sizeof *e->keys);
    e->slots = calloc(2 * most, sizeof *e->slots);
    e->times = calloc(most, sizeof *e->times);
    e->values = calloc(most, sizeof *e->values);
    return e->words && e->found.hashes && e->found.word && e->found.length && e->keys && e->slots &&
           e->times && e->values;
}

static void release(const struct explainer *e)
{
    free(e->words);
    free(e->found.hashes);
    free(e->found.word);
    free(e->found.length);
    free(e->keys);
    free(e->slots);
    free(e->times);
    free(e->values);
}

bool sl_bag_contributions(const struct sl_kernels *k, const struct sl_bag_of_words *m,
                          const struct sl_bag_text *text, float *out)
{
    struct explainer e = {.m = m,
                          .kernels = k,
                          .weights = text->weights,
                          .tokens = text->tokens,
                          .count = text->count,
                          .out = out};
    float *memory = m->vectors ? calloc(2 * (size_t)m->vectors->cols, sizeof *memory) : NULL;
    bool ok = allocate(&e) && (memory || !m->vectors);
    memset(out, 0, (size_t)text->count * sizeof *out);
    if (ok)
        find_words(&e);
    if (ok && m->vectors)
        add_vectors(&e, memory);
    if (ok && m->keys)
        add_word_ngrams(&e);
    if (ok && m->keys && m->spellings)
        add_character_ngrams(&e);
    release(&e);
    free(memory);
    return ok;
}
