/* word_vectors.c - skip-gram with negative sampling:
 *
 *     for each token c and each token w in a window around it, of a random size up to `window`:
 *         raise log sigmoid(in_w . out_c) + sum over negatives n of log sigmoid(-in_w . out_n)
 *
 * Mikolov et al. 2013, "Distributed Representations of Words and Phrases", sections 2.2 and 2.3. */
#include "vectors/word_vectors.h"

#include "base/clock.h"
#include "base/random.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tokens at a time: what is left of a piece after subsampling fits the cache. */
enum { PIECE = 1024, NEGATIVES_MAX = 64, WINDOW_MAX = 64, NOISE_SLOTS = 1 << 20 };

const struct sl_param sl_word_vectors_rows[] = {
    SL_INTEGER_ROW(sl_word_vectors_options, width, 8, 8192, 256, "numbers per vector"),
    SL_INTEGER_ROW(sl_word_vectors_options, epochs, 1, 1000, 3, "passes over the text"),
    SL_INTEGER_ROW(sl_word_vectors_options, window, 1, WINDOW_MAX, 5,
                   "context: up to this many tokens on each side"),
    SL_INTEGER_ROW(sl_word_vectors_options, negatives, 1, NEGATIVES_MAX, 5,
                   "random tokens per pair that serve as wrong answers"),
    SL_REAL_ROW(sl_word_vectors_options, learning_rate, 1e-6, 1, 0.025, "initial learning rate"),
    SL_REAL_ROW(sl_word_vectors_options, subsample, 0, 1, 1e-4,
                "skip some occurrences of tokens more frequent than this; 0: skip none"),
    SL_INTEGER_ROW(
        sl_word_vectors_options, document_steps, 0, 1e8, 0,
        "then tune the vectors in this many steps, so that means over passages of the same "
        "document are similar; 0: do not"),
    SL_INTEGER_ROW(sl_word_vectors_options, document_batch, 2, 8192, 512, "documents per step"),
    SL_REAL_ROW(sl_word_vectors_options, document_learning_rate, 1e-6, 10, 0.06,
                "learning rate of these steps"),
    SL_REAL_ROW(sl_word_vectors_options, temperature, 0.001, 10, 0.07,
                "of these steps: the lower, the more similar documents count"),
    SL_INTEGER_ROW(sl_word_vectors_options, skip_gram_width, 0, 8192, 128,
                   "with --document-steps: append skip-gram vectors of this width, which are not "
                   "tuned; they distinguish styles, which documents do not; 0: none"),
    SL_INTEGER_ROW(sl_word_vectors_options, seed, 0, 2147483647, 1, "seed for all random choices"),
    {0}};

struct skip_gram {
    const struct sl_documents *documents;
    const struct sl_word_vectors_options *options;
    const struct sl_kernels *kernels;
    int vocab;
    float *in, *out; /* vocab x width */
    float *keep;     /* per token: the probability to keep an occurrence */
    int32_t *noise;  /* NOISE_SLOTS tokens, by frequency to the power 3/4 */
    float *update;   /* of one row of `in` */
    float rate;
    uint64_t key, draws;                      /* of random numbers, and how many were drawn */
    struct sl_word_vectors_reporter reporter; /* counts pairs */
};

static uint64_t draw(struct skip_gram *s, uint64_t below)
{
    return sl_random_below(s->key, s->draws++, below);
}

static float *row(const struct skip_gram *s, float *table, int32_t token)
{
    return table + (size_t)token * (size_t)s->options->width;
}

/* One pair: adds the update of `in` to s->update, and updates the row of `out` at once. */
static void learn_pair(struct skip_gram *s, const float *in, float *out, bool is_real)
{
    int width = s->options->width;
    float x = s->kernels->dot(in, out, width), p = 1.0f / (1.0f + expf(-x));
    float step = s->rate * ((is_real ? 1.0f : 0.0f) - p);
    s->reporter.loss -= (double)logf(fmaxf(is_real ? p : 1.0f - p, 1e-12f));
    s->kernels->axpy(s->update, step, out, width);
    s->kernels->axpy(out, step, in, width);
}

static void learn_context(struct skip_gram *s, int32_t word, int32_t centre,
                          const int32_t *negatives)
{
    int width = s->options->width;
    float *in = row(s, s->in, word);
    memset(s->update, 0, (size_t)width * sizeof *s->update);
    learn_pair(s, in, row(s, s->out, centre), true);
    for (int n = 0; n < s->options->negatives; n++)
        if (negatives[n] != centre)
            learn_pair(s, in, row(s, s->out, negatives[n]), false);
    s->kernels->axpy(in, 1.0f, s->update, width);
    s->reporter.count++;
}

static void learn_tokens(struct skip_gram *s, const int32_t *tokens, int count)
{
    int32_t negatives[NEGATIVES_MAX] = {0};
    for (int i = 0; i < count; i++) {
        int window = 1 + (int)draw(s, (uint64_t)s->options->window);
        int first = i > window ? i - window : 0;
        int last = i + window < count ? i + window : count - 1;
        for (int n = 0; n < s->options->negatives; n++)
            negatives[n] = s->noise[draw(s, NOISE_SLOTS)];
        for (int j = first; j <= last; j++)
            if (j != i)
                learn_context(s, tokens[j], tokens[i], negatives);
    }
}

static void learn_piece(struct skip_gram *s, int64_t first, int64_t last)
{
    int32_t kept[PIECE];
    int count = 0;
    for (int64_t i = first; i < last; i++) {
        int32_t token = s->documents->ids[i];
        if (sl_random_uniform(s->key, s->draws++) < (double)s->keep[token])
            kept[count++] = token;
    }
    learn_tokens(s, kept, count);
}

/* -- the run ---------------------------------------------------------------------------------- */

bool sl_word_vectors_go_on(struct sl_word_vectors_reporter *r, double fraction)
{
    double now = sl_now_seconds();
    if (now - r->last < 1.0 && fraction < 1.0)
        return true;
    r->last = now;
    const struct sl_word_vectors_progress progress = {
        .fraction = fraction,
        .loss = r->count > 0 ? r->loss / (double)r->count : 0.0,
        .seconds = now - r->begun};
    r->loss = 0.0;
    r->count = 0;
    if (r->report->report)
        r->report->report(r->report->context, &progress);
    return !r->report->stop || !r->report->stop(r->report->context);
}

static bool learn(struct skip_gram *s)
{
    const struct sl_documents *d = s->documents;
    double all = (double)d->count * s->options->epochs;
    for (int epoch = 0; epoch < s->options->epochs; epoch++)
        for (int i = 0; i < d->documents; i++) {
            double done = ((double)epoch * (double)d->count + (double)d->starts[i]) / all;
            s->rate = s->options->learning_rate * (float)fmax(1.0 - done, 1e-4);
            for (int64_t at = d->starts[i]; at < d->starts[i + 1]; at += PIECE) {
                int64_t end = at + PIECE < d->starts[i + 1] ? at + PIECE : d->starts[i + 1];
                learn_piece(s, at, end);
            }
            if (!sl_word_vectors_go_on(&s->reporter, done))
                return false;
        }
    return sl_word_vectors_go_on(&s->reporter, 1.0);
}

/* -- frequencies ------------------------------------------------------------------------------ */

static void fill_noise(struct skip_gram *s, const int64_t *counts)
{
    double total = 0.0, sum = 0.0;
    for (int i = 0; i < s->vocab; i++)
        total += pow((double)counts[i], 0.75);
    int slot = 0;
    for (int i = 0; i < s->vocab; i++) {
        sum += pow((double)counts[i], 0.75);
        while (slot < NOISE_SLOTS && slot < sum / total * NOISE_SLOTS)
            s->noise[slot++] = i;
    }
    while (slot < NOISE_SLOTS) /* rounding */
        s->noise[slot++] = s->noise[0];
}

/* word2vec's own formula, not the paper's. */
static void fill_keep(struct skip_gram *s, const int64_t *counts)
{
    double limit = (double)s->options->subsample * (double)s->documents->count;
    for (int i = 0; i < s->vocab; i++) {
        double x = counts[i] > 0 ? limit / (double)counts[i] : 1.0;
        s->keep[i] = limit > 0.0 ? (float)fmin(sqrt(x) + x, 1.0) : 1.0f;
    }
}

static void initialize(struct skip_gram *s)
{
    size_t count = (size_t)s->vocab * (size_t)s->options->width;
    uint64_t key = sl_random_key((uint64_t)s->options->seed, "word vectors");
    for (size_t i = 0; i < count; i++)
        s->in[i] = (float)((sl_random_uniform(key, i) - 0.5) / s->options->width);
}

static bool allocate(struct skip_gram *s, int64_t **counts, struct sl_err *err)
{
    size_t vocab = (size_t)s->vocab, width = (size_t)s->options->width;
    *counts = calloc(vocab, sizeof **counts);
    s->out = calloc(vocab * width, sizeof *s->out);
    s->keep = calloc(vocab, sizeof *s->keep);
    s->noise = calloc(NOISE_SLOTS, sizeof *s->noise);
    s->update = calloc(width, sizeof *s->update);
    return (*counts && s->out && s->keep && s->noise && s->update) ||
           sl_fail(err, SL_NO_MEMORY, "no memory for %d vectors", s->vocab);
}

bool sl_word_vectors_check(const float *vectors, size_t floats, const char *rate,
                           struct sl_err *err)
{
    for (size_t i = 0; i < floats; i++)
        if (!isfinite(vectors[i]))
            return sl_fail(err, SL_NOT_FINITE, "a vector became NaN or infinity; lower %s", rate);
    return true;
}

bool sl_word_vectors_train(const struct sl_documents *documents,
                           const struct sl_word_vectors_options *options,
                           const struct sl_kernels *kernels,
                           const struct sl_word_vectors_report *report,
                           const struct sl_parameter *table, struct sl_err *err)
{
    struct skip_gram s = {.documents = documents,
                          .options = options,
                          .kernels = kernels,
                          .vocab = table->rows,
                          .in = table->data,
                          .reporter = {.report = report},
                          .key = sl_random_key((uint64_t)options->seed, "skip-gram")};
    int64_t *counts = NULL;
    assert(table->cols == options->width);
    bool ok = allocate(&s, &counts, err);
    if (ok) {
        sl_documents_count(documents, table->rows, counts);
        initialize(&s);
        fill_noise(&s, counts);
        fill_keep(&s, counts);
        s.reporter.begun = sl_now_seconds();
        ok = learn(&s) || sl_fail(err, SL_BAD_INPUT, "stopped: no vectors were written");
        ok = ok &&
             sl_word_vectors_check(table->data, sl_parameter_floats(table), "learning_rate", err);
    }
    free(counts);
    free(s.out);
    free(s.keep);
    free(s.noise);
    free(s.update);
    return ok;
}

static double sum_of_squares(const float *vectors, int64_t count)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)vectors[i] * (double)vectors[i];
    return sum;
}

void sl_word_vectors_append(const float *tuned, int tuned_width, const float *skip_gram,
                            int skip_gram_width, int vocab, float *out)
{
    const double share = 0.4; /* docs/experiments.md, "What documents forget" */
    const double tuned_sum = sum_of_squares(tuned, (int64_t)vocab * tuned_width);
    const double sum = sum_of_squares(skip_gram, (int64_t)vocab * skip_gram_width);
    const float scale = sum > 0.0 ? (float)(share * sqrt(tuned_sum / sum)) : 0.0f;
    for (int i = 0; i < vocab; i++) {
        memcpy(out, tuned, (size_t)tuned_width * sizeof *out);
        out += tuned_width;
        tuned += tuned_width;
        for (int k = 0; k < skip_gram_width; k++)
            *out++ = scale * *skip_gram++;
    }
}
