/* bag_contributions.c - what each token adds to a weighted sum of a bag of words' scores.
 *
 * The scores are linear in the pooled vectors and in the TF-IDF values once the lengths by which
 * these are divided are known. An n-gram that occurs more than once counts once, with a value that
 * its occurrences share equally; the words of an n-gram share its part, and the tokens of a word
 * theirs. So the sum over the tokens is the score without the bias. */
#include "arch/linear/bag_of_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Occurrences of n-grams of one kind; each is of `length` words from `word` on. */
struct occurrences {
    uint64_t *hashes;
    int *word, *length;
    int32_t *rows; /* -1: it does not count */
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
    /* A hash table of rows: the row of each slot, or -1, and how often it occurs. */
    int32_t *slots;
    float *times;
    uint32_t slot_count;
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

static uint32_t slot_of(const struct explainer *e, int32_t row)
{
    uint32_t mixed = (uint32_t)row * UINT32_C(0x9E3779B1);
    uint32_t at = (uint32_t)((uint64_t)mixed * e->slot_count >> 32);
    while (e->slots[at] >= 0 && e->slots[at] != row)
        at = at + 1 < e->slot_count ? at + 1 : 0;
    return at;
}

/* Counts the rows; returns the sum of the squares of their TF-IDF values. */
static double count_rows(struct explainer *e)
{
    const struct sl_bag_of_words *m = e->m;
    double squares = 0.0;
    memset(e->slots, -1, e->slot_count * sizeof *e->slots);
    for (int i = 0; i < e->found.count; i++) {
        int row = sl_ngram_row(m->keys, e->found.hashes[i]);
        e->found.rows[i] = row >= 0 && m->idf->data[row] > 0.0f ? row : -1;
        if (e->found.rows[i] < 0)
            continue;
        uint32_t at = slot_of(e, row);
        e->times[at] = e->slots[at] < 0 ? 1.0f : e->times[at] + 1.0f;
        e->slots[at] = row;
    }
    for (uint32_t at = 0; at < e->slot_count; at++)
        if (e->slots[at] >= 0) {
            double u = (1.0 + log((double)e->times[at])) * (double)m->idf->data[e->slots[at]];
            squares += u * u;
        }
    return squares;
}

static void add_occurrences(struct explainer *e)
{
    const struct sl_bag_of_words *m = e->m;
    const int classes = m->bias->cols;
    const double length = sqrt(count_rows(e));
    for (int i = 0; i < e->found.count; i++) {
        int32_t row = e->found.rows[i];
        if (row < 0)
            continue;
        double times = (double)e->times[slot_of(e, row)];
        double value = (1.0 + log(times)) * (double)m->idf->data[row] / length / times;
        float score = e->kernels->dot(
            e->weights, m->ngram_weights->data + (size_t)row * (size_t)classes, classes);
        add_to_words(e, e->found.word[i], e->found.length[i], (float)value * score);
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
static void count_tokens(const struct explainer *e)
{
    memset(e->slots, -1, e->slot_count * sizeof *e->slots);
    for (int t = 0; t < e->count; t++) {
        uint32_t at = slot_of(e, e->tokens[t]);
        e->times[at] = e->slots[at] < 0 ? 1.0f : e->times[at] + 1.0f;
        e->slots[at] = e->tokens[t];
    }
}

/* Of one occurrence of a token, in one view. */
static float share_of(const struct explainer *e, int view, int32_t token)
{
    return sl_token_weight(e->m, view, token) / e->times[slot_of(e, token)];
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
static void add_vectors(const struct explainer *e, float *memory)
{
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
    e->slot_count = (uint32_t)(2 * most);
    e->words = calloc((size_t)e->count, sizeof *e->words);
    e->found = (struct occurrences){.hashes = calloc(most, sizeof(uint64_t)),
                                    .word = calloc(most, sizeof(int)),
                                    .length = calloc(most, sizeof(int)),
                                    .rows = calloc(most, sizeof(int32_t))};
    e->slots = calloc(2 * most, sizeof *e->slots);
    e->times = calloc(2 * most, sizeof *e->times);
    return e->words && e->found.hashes && e->found.word && e->found.length && e->found.rows &&
           e->slots && e->times;
}

static void release(const struct explainer *e)
{
    free(e->words);
    free(e->found.hashes);
    free(e->found.word);
    free(e->found.length);
    free(e->found.rows);
    free(e->slots);
    free(e->times);
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
