/* document_vectors.c - contrastive learning on parts of documents:
 *
 *     x = sum over the tokens t of a part of w_t v_t,   y = x / |x|,   w as for pooled vectors
 *     s_ij = y_i . y'_j / temperature                   y_i, y'_i: parts of the same document
 *     loss = - mean over i of (log softmax_j(s_ij)_i + log softmax_j(s_ji)_i) / 2
 *
 * The loss is that of Radford et al. 2021, "Learning Transferable Visual Models From Natural
 * Language Supervision", figure 3; the optimizer is Adagrad with one sum of squares per token. */
#include "vectors/document_vectors.h"

#include "base/clock.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* [tokens] A pair's parts lie within WINDOW; a part has PART_MIN to PART_MAX, or all that there
 * are. Shorter documents are left out. */
enum { WINDOW = 512, PART_MIN = 8, PART_MAX = 96, DOCUMENT_MIN = 24, COLUMNS = 64 };

static const float warmup = 0.05f, decay = 0.5f; /* parts of the run: its begin and its end */

struct part {
    const int32_t *ids;
    int count;
};

struct contrast {
    const struct sl_documents *documents;
    const struct sl_word_vectors_options *options;
    const struct sl_kernels *kernels;
    struct sl_thread_pool *pool;
    int vocab, width, batch;
    int64_t *counts;          /* of tokens in the documents */
    float *vectors, *weights; /* of tokens */
    float *squares;           /* per token: summed mean squares of its gradients */
    double *chances;          /* of the documents before each, summed up */
    struct part *parts;       /* 2 batch: the first ones of all pairs, then the second ones */
    float *y, *dy, *norm;     /* of each part */
    float *p; /* batch x batch: s, then its softmax by rows, then the gradient of the loss by s */
    float *q; /* batch x batch, transposed: the softmax of s by columns */
    float *gradient;  /* vocab x width; 0 between steps */
    int32_t *touched; /* tokens of the step */
    bool *is_touched;
    int touched_count;
    float rate;
    uint64_t key, draws;
    struct sl_word_vectors_reporter reporter; /* counts steps */
};

static float *part_row(const struct contrast *c, float *table, int part)
{
    return table + (size_t)part * (size_t)c->width;
}

static float *token_row(const struct contrast *c, float *table, int32_t token)
{
    return table + (size_t)token * (size_t)c->width;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static int draw(struct contrast *c, int64_t below)
{
    return below > 1 ? (int)sl_random_below(c->key, c->draws++, (uint64_t)below) : 0;
}

static int draw_document(struct contrast *c)
{
    const int documents = c->documents->documents;
    double at = sl_random_uniform(c->key, c->draws++) * c->chances[documents];
    int first = 0, last = documents;
    while (last - first > 1) {
        int middle = (first + last) / 2;
        if (c->chances[middle] <= at)
            first = middle;
        else
            last = middle;
    }
    return first;
}

static struct part draw_part(struct contrast *c, const int32_t *ids, int count)
{
    int length = PART_MIN + draw(c, PART_MAX - PART_MIN + 1);
    if (length >= count)
        return (struct part){ids, count};
    return (struct part){ids + draw(c, count - length + 1), length};
}

static void draw_pairs(struct contrast *c)
{
    for (int i = 0; i < c->batch; i++) {
        const int64_t *start = c->documents->starts + draw_document(c);
        int64_t count = start[1] - start[0];
        int window = count < WINDOW ? (int)count : WINDOW;
        const int32_t *ids = c->documents->ids + start[0] + draw(c, count - window + 1);
        int cut = window / 4 + draw(c, window / 2 + 1);
        c->parts[i] = draw_part(c, ids, cut);
        c->parts[c->batch + i] = draw_part(c, ids + cut, window - cut);
    }
}

/* A document as often as it has windows, at least once. */
static bool set_chances(struct contrast *c, struct sl_err *err)
{
    const struct sl_documents *d = c->documents;
    for (int i = 0; i < d->documents; i++) {
        double count = (double)(d->starts[i + 1] - d->starts[i]);
        double chance = count < DOCUMENT_MIN ? 0.0 : fmax(1.0, 2.0 * count / WINDOW);
        c->chances[i + 1] = c->chances[i] + chance;
    }
    return c->chances[d->documents] > 0.0 ||
           sl_fail(err, SL_BAD_INPUT, "no document of the text has %d tokens", DOCUMENT_MIN);
}

/* ---- a step ---------------------------------------------------------------------------------- */

static void pool_parts(void *ctx, int first, int last, int worker)
{
    const struct contrast *c = ctx;
    (void)worker;
    for (int i = first; i < last; i++) {
        float *y = part_row(c, c->y, i);
        const struct part *part = &c->parts[i];
        memset(y, 0, (size_t)c->width * sizeof *y);
        for (int j = 0; j < part->count; j++)
            c->kernels->axpy(y, c->weights[part->ids[j]], token_row(c, c->vectors, part->ids[j]),
                             c->width);
        c->norm[i] = sqrtf(fmaxf(c->kernels->dot(y, y, c->width), 1e-12f));
        c->kernels->scale(y, 1.0f / c->norm[i], y, c->width);
    }
}

static void compare_rows(void *ctx, int first, int last, int worker)
{
    const struct contrast *c = ctx;
    (void)worker;
    for (int i = first; i < last; i++)
        for (int j = 0; j < c->batch; j++)
            c->p[(size_t)i * (size_t)c->batch + (size_t)j] =
                c->kernels->dot(part_row(c, c->y, i), part_row(c, c->y, c->batch + j), c->width) /
                c->options->temperature;
}

static void softmax_columns(void *ctx, int first, int last, int worker)
{
    const struct contrast *c = ctx;
    const size_t batch = (size_t)c->batch;
    (void)worker;
    for (int j = first; j < last; j++) {
        float *q = c->q + (size_t)j * batch;
        for (size_t i = 0; i < batch; i++)
            q[i] = c->p[i * batch + (size_t)j];
        c->kernels->softmax(q, c->batch, NULL);
    }
}

static void softmax_rows(void *ctx, int first, int last, int worker)
{
    const struct contrast *c = ctx;
    (void)worker;
    for (int i = first; i < last; i++)
        c->kernels->softmax(c->p + (size_t)i * (size_t)c->batch, c->batch, NULL);
}

static void add_loss(struct contrast *c)
{
    const size_t batch = (size_t)c->batch;
    for (size_t i = 0; i < batch; i++) {
        const float p = fmaxf(c->p[i * batch + i], 1e-30f), q = fmaxf(c->q[i * batch + i], 1e-30f);
        c->reporter.loss -= (double)(0.5f * (logf(p) + logf(q))) / (double)c->batch;
    }
    c->reporter.count++;
}

static void differentiate_rows(void *ctx, int first, int last, int worker)
{
    const struct contrast *c = ctx;
    const size_t batch = (size_t)c->batch;
    (void)worker;
    for (size_t i = (size_t)first; i < (size_t)last; i++)
        for (size_t j = 0; j < batch; j++)
            c->p[i * batch + j] =
                0.5f * (c->p[i * batch + j] + c->q[j * batch + i]) - (i == j ? 1.0f : 0.0f);
}

/* dy = sum of p times the other parts' y; then dx = (dy - (dy . y) y) / |x|. */
static void differentiate_parts(void *ctx, int first, int last, int worker)
{
    const struct contrast *c = ctx;
    const int batch = c->batch;
    (void)worker;
    for (int i = first; i < last; i++) {
        bool is_first = i < batch;
        float *dy = part_row(c, c->dy, i), *y = part_row(c, c->y, i);
        const float *p = c->p + (is_first ? (size_t)i * (size_t)batch : (size_t)(i - batch));
        memset(dy, 0, (size_t)c->width * sizeof *dy);
        for (int j = 0; j < batch; j++)
            c->kernels->axpy(dy, p[is_first ? (size_t)j : (size_t)j * (size_t)batch],
                             part_row(c, c->y, is_first ? batch + j : j), c->width);
        c->kernels->axpy(dy, -c->kernels->dot(dy, y, c->width), y, c->width);
        c->kernels->scale(dy, 1.0f / (c->norm[i] * c->options->temperature * (float)batch), dy,
                          c->width);
    }
}

static void list_touched(struct contrast *c)
{
    c->touched_count = 0;
    for (int i = 0; i < 2 * c->batch; i++)
        for (int j = 0; j < c->parts[i].count; j++) {
            int32_t token = c->parts[i].ids[j];
            if (!c->is_touched[token])
                c->touched[c->touched_count++] = token;
            c->is_touched[token] = true;
        }
}

/* Several parts have the same token, so threads divide the columns. */
static void scatter_columns(void *ctx, int first, int last, int worker)
{
    const struct contrast *c = ctx;
    (void)worker;
    for (int i = 0; i < 2 * c->batch; i++)
        for (int j = 0; j < c->parts[i].count; j++) {
            int32_t token = c->parts[i].ids[j];
            c->kernels->axpy(token_row(c, c->gradient, token) + first, c->weights[token],
                             part_row(c, c->dy, i) + first, last - first);
        }
}

static void update_tokens(void *ctx, int first, int last, int worker)
{
    const struct contrast *c = ctx;
    (void)worker;
    for (int i = first; i < last; i++) {
        int32_t token = c->touched[i];
        float *gradient = token_row(c, c->gradient, token);
        float squares = c->kernels->dot(gradient, gradient, c->width) / (float)c->width;
        c->squares[token] += squares;
        c->kernels->axpy(token_row(c, c->vectors, token),
                         -c->rate / (sqrtf(c->squares[token]) + 1e-8f), gradient, c->width);
        memset(gradient, 0, (size_t)c->width * sizeof *gradient);
        c->is_touched[token] = false;
    }
}

static void learn_step(struct contrast *c)
{
    draw_pairs(c);
    sl_parallel_for(c->pool, 2 * c->batch, 16, pool_parts, c);
    sl_parallel_for(c->pool, c->batch, 16, compare_rows, c);
    sl_parallel_for(c->pool, c->batch, 16, softmax_columns, c);
    sl_parallel_for(c->pool, c->batch, 16, softmax_rows, c);
    add_loss(c);
    sl_parallel_for(c->pool, c->batch, 16, differentiate_rows, c);
    sl_parallel_for(c->pool, 2 * c->batch, 16, differentiate_parts, c);
    list_touched(c);
    sl_parallel_for(c->pool, c->width, COLUMNS, scatter_columns, c);
    sl_parallel_for(c->pool, c->touched_count, 64, update_tokens, c);
}

/* ---- the run --------------------------------------------------------------------------------- */

static float rate_at(const struct contrast *c, float fraction)
{
    const float top = c->options->document_learning_rate;
    if (fraction < warmup)
        return top * fraction / warmup;
    return fraction > decay ? top * (1.0f - fraction) / (1.0f - decay) : top;
}

static bool learn(struct contrast *c)
{
    const int steps = c->options->document_steps;
    c->reporter.begun = c->reporter.last = sl_now_seconds();
    for (int step = 0; step < steps; step++) {
        c->rate = rate_at(c, (float)step / (float)steps);
        learn_step(c);
        if (!sl_word_vectors_go_on(&c->reporter, (step + 1.0) / steps))
            return false;
    }
    return true;
}

/* Subtracts what all texts have in common: the mean over all occurrences. */
static void centre(const struct contrast *c)
{
    double total = 0.0;
    for (int i = 0; i < c->vocab; i++)
        total += (double)c->counts[i] * (double)c->weights[i];
    for (int k = 0; k < c->width; k++) {
        double sum = 0.0;
        for (int i = 0; i < c->vocab; i++)
            sum += (double)c->counts[i] * (double)(c->weights[i] * token_row(c, c->vectors, i)[k]);
        for (int i = 0; i < c->vocab; i++)
            token_row(c, c->vectors, i)[k] -= (float)(sum / total);
    }
}

void sl_document_weights(const int64_t *counts, int64_t total, int vocab, double a, float *weights)
{
    for (int i = 0; i < vocab; i++)
        weights[i] = (float)(a / (a + (double)counts[i] / (double)total));
}

static bool allocate(struct contrast *c, struct sl_err *err)
{
    const size_t vocab = (size_t)c->vocab, width = (size_t)c->width, batch = (size_t)c->batch;
    c->counts = calloc(vocab, sizeof *c->counts);
    c->weights = calloc(vocab, sizeof *c->weights);
    c->squares = calloc(vocab, sizeof *c->squares);
    c->chances = calloc((size_t)c->documents->documents + 1, sizeof *c->chances);
    c->parts = calloc(2 * batch, sizeof *c->parts);
    c->y = calloc(2 * batch * width, sizeof *c->y);
    c->dy = calloc(2 * batch * width, sizeof *c->dy);
    c->norm = calloc(2 * batch, sizeof *c->norm);
    c->p = calloc(batch * batch, sizeof *c->p);
    c->q = calloc(batch * batch, sizeof *c->q);
    c->gradient = calloc(vocab * width, sizeof *c->gradient);
    c->touched = calloc(vocab, sizeof *c->touched);
    c->is_touched = calloc(vocab, sizeof *c->is_touched);
    return (c->counts && c->weights && c->squares && c->chances && c->parts && c->y && c->dy &&
            c->norm && c->p && c->q && c->gradient && c->touched && c->is_touched) ||
           sl_fail(err, SL_NO_MEMORY, "no memory for %d vectors", c->vocab);
}

static void release(struct contrast *c)
{
    free(c->counts);
    free(c->weights);
    free(c->squares);
    free(c->chances);
    free(c->parts);
    free(c->y);
    free(c->dy);
    free(c->norm);
    free(c->p);
    free(c->q);
    free(c->gradient);
    free(c->touched);
    free(c->is_touched);
}

bool sl_document_vectors_train(const struct sl_documents *documents,
                               const struct sl_word_vectors_options *options,
                               const struct sl_engine *engine,
                               const struct sl_word_vectors_report *report,
                               const struct sl_parameter *table, struct sl_err *err)
{
    struct contrast c = {.documents = documents,
                         .options = options,
                         .kernels = engine->kernels,
                         .pool = engine->pool,
                         .vocab = table->rows,
                         .width = table->cols,
                         .batch = options->document_batch,
                         .vectors = table->data,
                         .reporter = {.report = report},
                         .key = sl_random_key((uint64_t)options->seed, "parts of documents")};
    bool ok = allocate(&c, err) && set_chances(&c, err);
    if (ok) {
        sl_documents_count(documents, c.vocab, c.counts);
        sl_document_weights(c.counts, documents->count, c.vocab, SL_SIF_SMOOTHING, c.weights);
        centre(&c);
        ok = learn(&c) || sl_fail(err, SL_BAD_INPUT, "stopped: no vectors were written");
        ok = ok && sl_word_vectors_check(table->data, sl_parameter_floats(table),
                                         "document_learning_rate", err);
    }
    release(&c);
    return ok;
}
