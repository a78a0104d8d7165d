/* text_embedding.c - the embedding of a text: a weighted mean of its token vectors, whitened.
 *
 *     p(t) = a (1 - s) / s                        from the base's weights s = a / (a + p(t))
 *     w(t) = b / (b + p(t))                       1e-6 for punctuation, 0 for special tokens
 *     v    = sum of w(t) / sqrt(k) E[t]           over the tokens of the text, by the sum of w(t) /
 *                                                 sqrt(k); k: the tokens of the word that t is in
 *     C    = mean of p w^2 E E^T, plus r times its mean diagonal        over the vocabulary
 *     embedding = L^-1 v                          with C = L L^T
 *
 * Arora et al. 2017 remove the largest principal component of such means. Whitening shrinks every
 * direction that the frequent words share, by as much as they share it, and needs no texts: C is
 * the covariance that single words give the mean. */
#include "arch/linear/linear_classifier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double smoothing = 1e-4;   /* b */
static const double ridge = 0.1;        /* r */
static const float punctuation = 1e-6f; /* weight, so that a text of nothing else has a vector */

enum { VECTORS, WEIGHTS, WHITENING };

struct args {
    const struct sl_parameter *roles;
};

/* ---- weights and whitening ------------------------------------------------------------------- */

/* p(t), as far as the precision of the base's weights tells. */
static double frequency(float weight)
{
    return SL_SIF_SMOOTHING * (1.0 - (double)weight) / (double)weight;
}

static void set_weights(const struct sl_text_embedding *m)
{
    const float *frequencies = m->token_weights->data + m->token_weights->cols;
    for (int t = 0; t < m->weights->cols; t++) {
        float weight = 0.0f;
        if (frequencies[t] > 0.0f)
            weight = (float)(smoothing / (smoothing + frequency(frequencies[t])));
        if (weight > 0.0f && sl_token_role(m->roles, t) == SL_TOKEN_SKIPPED)
            weight = punctuation;
        m->weights->data[t] = weight;
    }
}

/* The lower triangle of C without the ridge. */
static void set_covariance(const struct sl_text_embedding *m, const struct sl_kernels *k)
{
    const int width = m->vectors->cols;
    const float *frequencies = m->token_weights->data + m->token_weights->cols;
    float *c = m->whitening->data;
    memset(c, 0, sl_parameter_floats(m->whitening) * sizeof *c);
    for (int t = 0; t < m->weights->cols; t++) {
        const float *e = m->vectors->data + (size_t)t * (size_t)width;
        const double w = (double)m->weights->data[t];
        double p = w > 0.0 ? frequency(frequencies[t]) * w * w : 0.0;
        for (int row = 0; p > 0.0 && row < width; row++)
            k->axpy(c + (size_t)row * (size_t)width, (float)p * e[row], e, row + 1);
    }
}

static void set_identity(struct sl_parameter *matrix)
{
    memset(matrix->data, 0, sl_parameter_floats(matrix) * sizeof *matrix->data);
    for (int i = 0; i < matrix->rows; i++)
        matrix->data[i * matrix->cols + i] = 1.0f;
}

/* C becomes L, in the lower triangle. */
static void factorize(float *c, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = (double)c[i * n + j];
            for (int l = 0; l < j; l++)
                sum -= (double)c[i * n + l] * (double)c[j * n + l];
            c[i * n + j] = (float)(i == j ? sqrt(sum) : sum / (double)c[j * n + j]);
        }
}

/* L becomes its inverse: row i of it needs L's row i and the inverse's rows before. */
static void invert(float *l, int n)
{
    for (int i = 0; i < n; i++) {
        const double diagonal = 1.0 / (double)l[i * n + i];
        for (int j = 0; j < i; j++) {
            double sum = 0.0;
            for (int h = j; h < i; h++)
                sum -= (double)l[i * n + h] * (double)l[h * n + j];
            /* Later columns of the row still need L. */
            l[j * n + i] = (float)(sum * diagonal);
        }
        for (int j = 0; j < i; j++) {
            l[i * n + j] = l[j * n + i];
            l[j * n + i] = 0.0f;
        }
        l[i * n + i] = (float)diagonal;
    }
}

static void materialize(const void *layer, const struct sl_kernels *k)
{
    const struct sl_text_embedding *m = layer;
    const int width = m->vectors->cols;
    double trace = 0.0;
    set_weights(m);
    set_covariance(m, k);
    for (int i = 0; i < width; i++)
        trace += (double)m->whitening->data[i * width + i];
    if (!(trace > 0.0)) { /* a base without frequencies */
        set_identity(m->whitening);
        return;
    }
    for (int i = 0; i < width; i++)
        m->whitening->data[i * width + i] += (float)(ridge * trace / width);
    k->scale(m->whitening->data, (float)(width / trace), m->whitening->data, width * width);
    factorize(m->whitening->data, width);
    invert(m->whitening->data, width);
}

static const struct sl_buffer_hooks hooks = {.materialize = materialize};

void sl_text_embedding_build(struct sl_builder *b, struct sl_text_embedding *m)
{
    const int width = m->vectors->cols;
    m->weights = sl_buffer_add(
        b, "embedding.weights",
        (struct sl_buffer_shape){.kind = SL_BUFFER_DERIVED, .rows = 1, .cols = m->vectors->rows});
    m->whitening = sl_buffer_add(
        b, "embedding.whitening",
        (struct sl_buffer_shape){.kind = SL_BUFFER_DERIVED, .rows = width, .cols = width});
    sl_buffer_hooks_add(b, &hooks, m, sizeof *m);
}

/* ---- the op ---------------------------------------------------------------------------------- */

/* The end of the word that begins at `first`. */
static int word_end(const struct sl_parameter *roles, const int32_t *tokens, int first, int count)
{
    int end = first + 1;
    if (sl_token_role(roles, tokens[first]) != SL_TOKEN_SKIPPED)
        while (end < count && sl_token_role(roles, tokens[end]) == SL_TOKEN_CONTINUES)
            end++;
    return end;
}

static void pool(const struct sl_node *n, const int32_t *tokens, int count, float *out)
{
    const struct args *a = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    const struct sl_parameter *vectors = n->parameter[VECTORS];
    const float *weights = n->parameter[WEIGHTS]->data;
    const int width = vectors->cols;
    float total = 0.0f;
    memset(out, 0, (size_t)width * sizeof *out);
    for (int first = 0, end; first < count; first = end) {
        end = word_end(a->roles, tokens, first, count);
        const float share = 1.0f / sqrtf((float)(end - first));
        for (int i = first; i < end; i++) {
            const float weight = share * weights[tokens[i]];
            total += weight;
            k->axpy(out, weight, vectors->data + (size_t)tokens[i] * (size_t)width, width);
        }
    }
    if (total > 0.0f)
        k->scale(out, 1.0f / total, out, width);
}

/* In place: row i of L^-1 needs the first i + 1 numbers only. */
static void whiten(const struct sl_node *n, float *v)
{
    const struct sl_parameter *whitening = n->parameter[WHITENING];
    for (int i = whitening->rows - 1; i >= 0; i--)
        v[i] =
            n->tape->kernels->dot(whitening->data + (size_t)i * (size_t)whitening->cols, v, i + 1);
}

static void forward_sequences(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct sl_batch *batch = n->tape->batch;
    (void)worker;
    for (int s = first; s < last; s++) {
        const struct sl_sequence *sequence = &batch->sequences[s];
        float *out = sl_row(n->out, s);
        pool(n, batch->tokens + sequence->first, sequence->rows, out);
        whiten(n, out);
    }
}

static void embedding_forward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->rows, 1, forward_sequences);
}

static const struct sl_op text_embedding = {.name = "text_embedding", .forward = embedding_forward};

struct sl_tensor *sl_text_embedding_apply(struct sl_tape *t, const struct sl_text_embedding *m)
{
    struct args *a = sl_tape_struct(t, 1, sizeof *a);
    struct sl_tensor *out = sl_tensor_take(t, t->batch->count, m->vectors->cols);
    out->needs_grad = false;
    *a = (struct args){m->roles};
    return sl_tape_run(t, (struct sl_node){.op = &text_embedding,
                                           .args = a,
                                           .out = out,
                                           .parameter = {m->vectors, m->weights, m->whitening}});
}
