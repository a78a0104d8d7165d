/* time_bias.c - attention bias per key, head and depth, computed from time encodings.
 *
 * TransEvolve (equation 6) writes the scores at depth l, with T the time vector and W', W'' its
 * projections, as
 *     q.k / sqrt(columns)  +  q.(W'' T)  +  (W' T).k  +  (W' T).(W'' T)
 * The second term depends on the query alone and the fourth on neither: both cancel exactly in the
 * softmax over keys, forward and backward. The rest is linear in the key, so all depths of a block
 * are one matrix product with the keys; the matrix is derived from W' and the coefficients of T. */
#include "arch/transevolve/transevolve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void fill_waves(const struct sl_time_bias *d, struct sl_time_bias_shape s)
{
    int half = s.width / 2;
    for (int l = 0; l < s.depths; l++)
        for (int c = 0; c < s.width; c++) {
            double angle = s.angle_step * (s.first + l) * (s.first + c % half);
            d->waves[l * s.width + c] = (float)(c < half ? sin(angle) : cos(angle));
        }
}

static struct sl_parameter *matrix_add(struct sl_builder *b, const char *name, const char *suffix,
                                       struct sl_time_bias_shape s)
{
    char full[SL_NAME_MAX];
    (void)snprintf(full, sizeof full, "%s.%s", name, suffix);
    /* Both projections of a query, or of a key, are initialized as one matrix. */
    struct sl_init start = sl_glorot(s.keys, 2 * s.width);
    return sl_parameter_add(b, full, SL_ROLE_SOURCE, s.keys, s.width, start);
}

static const struct sl_buffer_hooks hooks;

struct sl_time_bias sl_time_bias_build(struct sl_builder *b, const char *name,
                                       struct sl_time_bias_shape s)
{
    struct sl_time_bias d = {.heads = s.heads, .depths = s.depths};
    size_t depths = (size_t)s.depths;
    char full[SL_NAME_MAX];
    assert(s.width % 2 == 0);
    assert(s.width % s.heads == 0);
    d.coefficients = sl_arena_take(b->arena, depths, sizeof(struct sl_parameter *));
    d.waves = sl_arena_take(b->arena, depths * (size_t)s.width, sizeof *d.waves);
    d.times = sl_arena_take(b->arena, depths * (size_t)s.width, sizeof *d.times);
    d.dtime = sl_arena_take(b->arena, (size_t)s.width, sizeof *d.dtime);
    fill_waves(&d, s);
    d.matrix = matrix_add(b, name, "query", s);
    (void)matrix_add(b, name, "key", s); /* has no effect */
    for (int l = 0; l < s.depths; l++) {
        (void)snprintf(full, sizeof full, "%s.%d.coefficients", name, l);
        d.coefficients[l] = sl_parameter_add(b, full, SL_ROLE_VECTOR, 1, s.width,
                                             sl_uniform(sqrtf(6.0f / (float)s.width)));
    }
    (void)snprintf(full, sizeof full, "%s.weight", name);
    d.weight = sl_buffer_add(b, full,
                             (struct sl_buffer_shape){.kind = SL_BUFFER_DERIVED,
                                                      .rows = s.depths * s.heads,
                                                      .cols = s.keys,
                                                      .product = true});
    sl_buffer_hooks_add(b, &hooks, &d, sizeof d);
    return d;
}

/* g^l_h for every row a of the matrix: the columns of head h times T^l. */
static void materialize(const void *layer, const struct sl_kernels *kernels)
{
    const struct sl_time_bias *d = layer;
    const int columns = d->matrix->cols / d->heads, keys = d->matrix->rows;
    const size_t width = (size_t)d->matrix->cols;
    for (int l = 0; l < d->depths; l++) {
        const float *waves = d->waves + (size_t)l * width;
        float *time = d->times + (size_t)l * width;
        for (size_t c = 0; c < width; c++)
            time[c] = d->coefficients[l]->data[c] * waves[c];
        for (int h = 0; h < d->heads; h++, time += columns) {
            float *g = d->weight->data + (size_t)(l * d->heads + h) * (size_t)keys;
            const float *matrix = d->matrix->data + (size_t)h * (size_t)columns;
            for (int a = 0; a < keys; a++, matrix += width)
                g[a] = kernels->dot(matrix, time, columns);
        }
    }
}

/* dmatrix_ac += dg_a T_c, and dtime_c = sum_a dg_a matrix_ac, for the columns of one head. */
static void head_backward(const struct sl_time_bias *d, const struct sl_kernels *kernels, int depth,
                          int head)
{
    const int columns = d->matrix->cols / d->heads, keys = d->matrix->rows;
    const size_t width = (size_t)d->matrix->cols, first = (size_t)head * (size_t)columns;
    const float *dg = d->weight->grad + (size_t)(depth * d->heads + head) * (size_t)keys;
    const float *time = d->times + (size_t)depth * width + first;
    memset(d->dtime, 0, (size_t)columns * sizeof *d->dtime);
    for (int a = 0; a < keys; a++) {
        size_t at = (size_t)a * width + first;
        kernels->axpy(d->matrix->grad + at, dg[a], time, columns);
        kernels->axpy(d->dtime, dg[a], d->matrix->data + at, columns);
    }
}

static void backprop(const void *layer, const struct sl_kernels *kernels)
{
    const struct sl_time_bias *d = layer;
    int width = d->matrix->cols, columns = width / d->heads;
    for (int l = 0; l < d->depths; l++)
        for (int h = 0; h < d->heads; h++) {
            head_backward(d, kernels, l, h);
            for (int c = 0; c < columns; c++)
                d->coefficients[l]->grad[h * columns + c] +=
                    d->dtime[c] * d->waves[l * width + h * columns + c];
        }
}

static const struct sl_buffer_hooks hooks = {.materialize = materialize, .backprop = backprop};
