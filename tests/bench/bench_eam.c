/* bench_eam.c - what lists of keys save: attention over the pattern `log` beside the engine's own
 * dense attention in the same run, one thread, at the fastest level.
 *
 *     bench_eam
 *
 * Width 128, 4 heads, both ways, one sequence of n tokens. Milliseconds of this thread on a
 * processor, the best of several runs; backward includes forward. */
#include "arch/eam/eam.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 128, HEADS = 4, SHORTEST = 512, LONGEST = 8192, REPEATS = 5 };

/* One way of attending to one sequence. */
struct job {
    struct sl_tape tape;
    struct sl_batch batch;
    struct sl_sequence sequence;
    const float *values; /* rows x 3 WIDTH */
    bool dense, training;
};

static void need(bool ok, const struct sl_err *err)
{
    if (ok)
        return;
    (void)fprintf(stderr, "bench_eam: %s\n", err->text);
    exit(EXIT_FAILURE);
}

/* A loss whose gradient is 1 everywhere, so that backward has something to walk back. */
static void sum_forward(const struct sl_node *n)
{
    (void)n;
}

static void sum_backward(const struct sl_node *n)
{
    for (int i = 0; i < n->in[0]->rows * n->in[0]->cols; i++)
        n->in[0]->grad[i] = 1.0f;
}

static const struct sl_op sum = {.name = "sum", .forward = sum_forward, .backward = sum_backward};

/* Columns first.. of the values as operands. */
static struct sl_tensor *operands(struct sl_tape *t, const struct job *j, int first, int cols)
{
    struct sl_tensor *x = sl_operand_take(t, j->batch.rows, cols);
    for (int r = 0; !sl_tape_is_dry(t) && r < x->rows; r++)
        t->kernels->to_operands(sl_row_any(x, r), j->values + (size_t)r * 3 * WIDTH + first, cols);
    return x;
}

/* The pass that is timed, from attention on. */
static double pass_ms(struct job *j)
{
    struct timespec from, to;
    struct sl_tape *t = &j->tape;
    sl_tape_begin(t, &j->batch, j->training);
    struct sl_tensor *q = operands(t, j, 0, WIDTH), *kv = operands(t, j, WIDTH, 2 * WIDTH), *y;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    if (j->dense)
        y = sl_attention(t, q, kv,
                         (struct sl_attention_args){.heads = HEADS, .bidirectional = true});
    else
        y = sl_sparse_attention(
            t, q, kv,
            (struct sl_sparse_attention_args){
                .heads = HEADS, .pattern = {.kind = SL_PATTERN_LOG}, .operand = true});
    (void)sl_tape_run(t, (struct sl_node){.op = &sum, .in = {y}});
    if (j->training)
        sl_tape_backward(t);
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return 1e3 * (double)(to.tv_sec - from.tv_sec) + 1e-6 * (double)(to.tv_nsec - from.tv_nsec);
}

static double best_ms(struct job j, const struct sl_kernels *kernels, struct sl_thread_pool *pool)
{
    struct sl_err err;
    const struct sl_policy policy = {0};
    double best = HUGE_VAL;
    j.batch.sequences = &j.sequence;
    need(sl_tape_init(&j.tape, kernels, pool, 0, &err), &err);
    j.tape.policy = &policy;
    (void)pass_ms(&j);
    size_t bytes = j.tape.arena.peak;
    sl_tape_release(&j.tape);
    need(sl_tape_init(&j.tape, kernels, pool, bytes, &err), &err);
    j.tape.policy = &policy;
    for (int i = 0; i < REPEATS; i++)
        best = fmin(best, pass_ms(&j));
    sl_tape_release(&j.tape);
    return best;
}

static double keys_per_row(int rows)
{
    int32_t *keys = malloc((size_t)rows * sizeof *keys);
    double total = 0.0;
    need(keys, &(struct sl_err){.text = "no memory"});
    for (int i = 0; i < rows; i++)
        total += sl_pattern_keys((struct sl_pattern){.kind = SL_PATTERN_LOG}, i, rows, keys);
    free(keys);
    return total / rows;
}

int main(void)
{
    struct sl_err err;
    const struct sl_kernels *kernels = sl_kernels_best();
    struct sl_thread_pool *pool = sl_thread_pool_create(1, &err);
    float *values = malloc((size_t)LONGEST * 3 * WIDTH * sizeof *values);
    need(kernels && pool && values, &(struct sl_err){.text = "no level, thread or memory"});
    for (size_t i = 0; i < (size_t)LONGEST * 3 * WIDTH; i++)
        values[i] = (float)(i * 2654435761u % 2048) / 1024.0f - 1.0f;
    (void)printf("attention, %s, ms                 forward                        backward\n",
                 kernels->name);
    (void)printf("%6s %9s %10s %10s %8s %10s %10s %8s\n", "n", "keys/row", "log", "dense", "times",
                 "log", "dense", "times");
    for (int n = SHORTEST; n <= LONGEST; n *= 2) {
        double ms[4];
        for (int i = 0; i < 4; i++) {
            struct job j = {.batch = {.rows = n, .count = 1},
                            .sequence = {.rows = n},
                            .values = values,
                            .dense = i % 2,
                            .training = i / 2};
            ms[i] = best_ms(j, kernels, pool);
        }
        (void)printf("%6d %9.2f %10.3f %10.3f %8.2f %10.3f %10.3f %8.2f\n", n, keys_per_row(n),
                     ms[0], ms[1], ms[1] / ms[0], ms[2], ms[3], ms[3] / ms[2]);
    }
    free(values);
    sl_thread_pool_destroy(pool);
    return EXIT_SUCCESS;
}
