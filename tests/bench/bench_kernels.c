/* bench_kernels.c - how fast the kernels are, one thread, every level this machine has.
 *
 *     bench_kernels [--json]
 *     bench_kernels --product LEVEL M N K
 *
 * Matrix products in GFLOP/s beside the same product through OpenBLAS sgemm in the same run
 * (weights row-major as sgemm reads them, ours packed beforehand), with the ratio; then those of
 * int8, of rows quantized beforehand and with their quantization. Attention in
 * nanoseconds per call, GELU and other rows per element. Each number is the best of several runs,
 * the one least disturbed by others.
 *
 * The second form times one product and prints {"value": GFLOP/s, ...}. */
#include "kernels/kernels.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 7 };

static const double run_ns_min = 2e6; /* shorter runs say little */

/* What is timed: arithmetic on data prepared before. */
struct job {
    const struct sl_kernels *k;
    struct sl_gemm gemm;
    struct sl_gemm int8;
    struct sl_attention_backward attention;
    const float *b; /* for OpenBLAS: k x n */
    float *x, *y;
    int n;
};

/* Time of this thread on a processor: others may be using the machine. */
static double now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double spent_ns(void (*run)(const struct job *), const struct job *job, int calls)
{
    const double start = now_ns();
    for (int i = 0; i < calls; i++)
        run(job);
    return now_ns() - start;
}

/* Nanoseconds of one call, the best of REPEATS runs. */
static double best_ns(void (*run)(const struct job *), const struct job *job)
{
    int calls = 1;
    double best = spent_ns(run, job, calls);
    while (best < run_ns_min) {
        calls *= 2;
        best = spent_ns(run, job, calls);
    }
    for (int i = 1; i < REPEATS; i++)
        best = fmin(best, spent_ns(run, job, calls));
    return best / calls;
}

static void *memory(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p) {
        perror("bench_kernels");
        exit(EXIT_FAILURE);
    }
    memset(p, 0, bytes);
    return p;
}

static float *numbers(size_t n)
{
    float *x = memory(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(i * 2654435761u % 2048) / 1024.0f - 1.0f;
    return x;
}

static void *operands(const struct sl_kernels *k, int rows, int cols)
{
    const size_t row = sl_operand_stride(k, cols) * sl_type_bytes(k->operand);
    float *x = numbers((size_t)cols);
    unsigned char *out = memory((size_t)rows * row);
    for (int r = 0; r < rows; r++)
        k->to_operands(out + (size_t)r * row, x, cols);
    free(x);
    return out;
}

static const char *separator = "";

/* One result: {"what": ..., "level": ..., NAME: VALUE} or a line of text. */
static void report(bool json, const char *what, const char *level, const char *unit, double value)
{
    if (json) {
        (void)printf("%s\n  {\"what\": \"%s\", \"level\": \"%s\", \"%s\": %.4g}", separator, what,
                     level, unit, value);
        separator = ",";
        return;
    }
    (void)printf("%-34s %-10s %10.4g %s\n", what, level, value, unit);
}

/* ---- matrix products ------------------------------------------------------------------------ */

static const int shapes[][3] = {{1, 1024, 256},    {2, 1024, 256},   {4, 1024, 256},
                                {8, 1024, 256},    {16, 1024, 256},  {32, 1024, 256},
                                {64, 1024, 256},   {64, 256, 1024},  {64, 768, 256},
                                {1024, 1024, 256}, {8192, 256, 1024}};

static void run_gemm(const struct job *j)
{
    j->k->gemm(&j->gemm);
}

static void run_sgemm(const struct job *j)
{
    const struct sl_gemm *g = &j->gemm;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, g->m, g->n, g->k, 1.0f, j->x, g->k, j->b,
                g->n, 0.0f, g->y, g->n);
}

static struct job product_job(const struct sl_kernels *k, const int shape[3])
{
    const int m = shape[0], n = shape[1], depth = shape[2];
    struct job j = {.k = k, .x = numbers((size_t)m * (size_t)depth)};
    float *b = numbers((size_t)n * (size_t)depth);
    void *packed = memory(k->pack_bytes(depth, n));
    k->pack(packed, b, SL_F32, (size_t)n, false, depth, n, 0, n);
    j.b = b;
    j.y = memory((size_t)m * (size_t)n * sizeof *j.y);
    j.gemm = (struct sl_gemm){.x = operands(k, m, depth),
                              .packed = packed,
                              .y = j.y,
                              .x_stride = sl_operand_stride(k, depth),
                              .y_stride = (size_t)n,
                              .m = m,
                              .n = n,
                              .k = depth};
    return j;
}

static void free_const(const void *p)
{
    free((void *)(uintptr_t)p);
}

static void run_int8(const struct job *j)
{
    j->k->int8_gemm(&j->int8);
}

/* As a layer does: the rows are operands. */
static void run_quantized(const struct job *j)
{
    const size_t row = j->gemm.x_stride * sl_type_bytes(j->k->operand);
    const int groups = sl_int8_groups(j->gemm.k, j->int8.int8_group);
    for (int r = 0; r < j->gemm.m; r++)
        j->k->quantize((int8_t *)(uintptr_t)j->int8.x + (size_t)r * j->int8.x_stride,
                       (struct sl_int8_group *)(uintptr_t)j->int8.int8_groups + r * groups,
                       (const char *)j->gemm.x + (size_t)r * row, j->k->operand, j->gemm.k,
                       j->int8.int8_group);
    j->k->int8_gemm(&j->int8);
}

/* The same product as int8; W is n x k. */
static void bench_int8(bool json, const char *what, struct job *j, double flops)
{
    const struct sl_gemm *g = &j->gemm;
    const size_t stride = sl_round_up((size_t)g->k, SL_INT8_STEP) + SL_INT8_STEP;
    void *packed = memory(sl_int8_bytes(g->k, g->n, j->k->int8_group)),
         *x = memory((size_t)g->m * stride);
    const size_t groups = (size_t)sl_int8_groups(g->k, j->k->int8_group);
    struct sl_int8_group *rows = memory((size_t)g->m * groups * sizeof *rows);
    sl_int8_pack(j->k, packed, j->b, (size_t)g->k, g->k, g->n, 0, g->n);
    j->int8 = (struct sl_gemm){.x = x,
                               .int8_groups = rows,
                               .int8_group = j->k->int8_group,
                               .packed = packed,
                               .y = g->y,
                               .x_stride = stride,
                               .y_stride = g->y_stride,
                               .m = g->m,
                               .n = g->n,
                               .k = g->k};
    char name[96];
    (void)snprintf(name, sizeof name, "int8 %s, quantizing", what);
    report(json, name, j->k->name, "GFLOP/s", flops / best_ns(run_quantized, j));
    (void)snprintf(name, sizeof name, "int8 %s", what);
    report(json, name, j->k->name, "GFLOP/s", flops / best_ns(run_int8, j));
    free(packed);
    free(x);
    free(rows);
}

static void bench_products(bool json)
{
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const int *shape = shapes[s];
        const double flops = 2.0 * shape[0] * shape[1] * shape[2];
        char what[64];
        (void)snprintf(what, sizeof what, "gemm %dx%dx%d", shape[0], shape[1], shape[2]);
        double peer = 0.0;
        for (int isa = SL_ISA_PORTABLE; isa < SL_ISA_COUNT; isa++) {
            const struct sl_kernels *k = sl_kernels_for((enum sl_isa)isa);
            if (!k)
                continue;
            struct job j = product_job(k, shape);
            if (isa == SL_ISA_PORTABLE) {
                peer = flops / best_ns(run_sgemm, &j);
                report(json, what, "openblas", "GFLOP/s", peer);
            }
            const double ours = flops / best_ns(run_gemm, &j);
            report(json, what, k->name, "GFLOP/s", ours);
            report(json, what, k->name, "times OpenBLAS", ours / peer);
            bench_int8(json, what, &j, flops);
            free(j.x);
            free(j.y);
            free_const(j.b);
            free_const(j.gemm.x);
            free_const(j.gemm.packed);
        }
    }
}

/* ---- attention ------------------------------------------------------------------------------ */

static void run_attend(const struct job *j)
{
    j->k->attention(j->k, &j->attention.forward);
}

static void run_attend_back(const struct job *j)
{
    j->k->attention_backward(j->k, &j->attention);
}

/* Causal: the last query sees all keys. */
static struct job attend_job(const struct sl_kernels *k, int queries, int keys, int head_dim)
{
    const size_t row = sl_operand_stride(k, head_dim), width = (size_t)head_dim;
    const size_t count = (size_t)queries * width, kv_count = (size_t)keys * width;
    int32_t *visible = memory((size_t)queries * sizeof *visible);
    for (int i = 0; i < queries; i++)
        visible[i] = keys - queries + i + 1;
    struct job j = {.k = k};
    j.attention = (struct sl_attention_backward){
        .forward = {.q = operands(k, queries, head_dim),
                    .k = operands(k, keys, head_dim),
                    .v = operands(k, keys, head_dim),
                    .out = operands(k, queries, head_dim),
                    .q_stride = row,
                    .kv_stride = row,
                    .out_stride = row,
                    .queries = queries,
                    .keys = keys,
                    .head_dim = head_dim,
                    .heads = 1,
                    .visible = visible,
                    .scale = 1.0f / sqrtf((float)head_dim),
                    .lse = memory((size_t)queries * sizeof(float)),
                    .scratch = memory(k->attention_scratch(queries, keys, head_dim))},
        .dout = numbers(count),
        .dq = memory(count * sizeof(float)),
        .dk = memory(kv_count * sizeof(float)),
        .dv = memory(kv_count * sizeof(float)),
        .dout_stride = width,
        .dq_stride = width,
        .dkv_stride = width};
    return j;
}

/* Keys and values as the KV cache holds them. */
static void to_cache(struct job *j)
{
    struct sl_attention *a = &j->attention.forward;
    a->cached = true;
    if (j->k->operand != SL_F32) {
        const size_t rows = sl_round_up((size_t)a->keys, 32), d = (size_t)a->head_dim;
        uint16_t *values = memory(rows * d * sizeof *values),
                 *keys = memory(rows * d * sizeof *keys);
        for (size_t i = 0; i < (size_t)a->keys; i++) {
            memcpy(keys + i * d, (const uint16_t *)a->k + i * a->kv_stride, d * sizeof *keys);
            for (size_t c = 0; c < d; c++)
                values[2 * (i / 2 * d + c) + i % 2] =
                    ((const uint16_t *)a->v)[i * a->kv_stride + c];
        }
        free_const(a->k);
        free_const(a->v);
        a->k = keys;
        a->v = values;
        a->kv_stride = d;
        return;
    }
    void *packed = memory(j->k->pack_bytes(a->head_dim, a->keys));
    j->k->pack(packed, a->k, SL_F32, a->kv_stride, true, a->head_dim, a->keys, 0, a->keys);
    free_const(a->k);
    a->k = packed;
}

static void attend_job_free(const struct job *j)
{
    const struct sl_attention *a = &j->attention.forward;
    free_const(a->q);
    free_const(a->k);
    free_const(a->v);
    free(a->out);
    free_const(a->visible);
    free(a->lse);
    free(a->scratch);
    free_const(j->attention.dout);
    free(j->attention.dq);
    free(j->attention.dk);
    free(j->attention.dv);
}

static void bench_attention(bool json, const struct sl_kernels *k)
{
    static const int heads[][3] = {{1, 128, 32},   {1, 512, 32},   {8, 128, 32},
                                   {128, 128, 32}, {128, 128, 64}, {256, 256, 32}};
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++) {
        struct job j = attend_job(k, heads[h][0], heads[h][1], heads[h][2]);
        char what[64];
        (void)snprintf(what, sizeof what, "attention %dx%dx%d", heads[h][0], heads[h][1],
                       heads[h][2]);
        report(json, what, k->name, "ns", best_ns(run_attend, &j));
        (void)snprintf(what, sizeof what, "attend_back %dx%dx%d", heads[h][0], heads[h][1],
                       heads[h][2]);
        report(json, what, k->name, "ns", best_ns(run_attend_back, &j));
        to_cache(&j);
        (void)snprintf(what, sizeof what, "cached_attention %dx%dx%d", heads[h][0], heads[h][1],
                       heads[h][2]);
        report(json, what, k->name, "ns", best_ns(run_attend, &j));
        attend_job_free(&j);
    }
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void run_gelu(const struct job *j)
{
    j->k->activate_with_slope(j->y, j->y, j->x, SL_GELU, j->n);
}

static void run_softmax(const struct job *j)
{
    j->k->softmax(j->y, j->n, NULL); /* of its own result, again and again */
}

static void run_layernorm(const struct job *j)
{
    float stats[2];
    const struct sl_norm_row norm = {.weight = j->b, .bias = j->b, .epsilon = 1e-5f, .n = j->n};
    j->k->normalize(j->y, j->x, &norm, stats);
}

static void run_dropout(const struct job *j)
{
    j->k->dropout(j->y, j->x, (struct sl_dropout){.threshold = 6554, .scale = 1.1f}, 1, 0, j->n);
}

static void run_to_operands(const struct job *j)
{
    j->k->to_operands(j->y, j->x, j->n);
}

static void run_dot(const struct job *j)
{
    j->y[0] = j->k->dot(j->x, j->b, j->n);
}

static void run_adamw(const struct job *j)
{
    static const struct sl_adamw a = {.grad_scale = 1.0f,
                                      .b1 = 0.9f,
                                      .b2 = 0.99f,
                                      .rate = 1e-4f,
                                      .correction2 = 1.0f,
                                      .epsilon = 1e-8f};
    j->k->adamw(j->y, j->y + j->n, j->y + 2 * (size_t)j->n, j->x, &a, j->n);
}

static void bench_rows(bool json, const struct sl_kernels *k)
{
    static const struct {
        const char *name;
        void (*run)(const struct job *j);
    } rows[] = {
        {"gelu", run_gelu},       {"softmax", run_softmax},         {"layernorm", run_layernorm},
        {"dropout", run_dropout}, {"to_operands", run_to_operands}, {"dot", run_dot},
        {"adamw", run_adamw}};

    enum { N = 256 };

    const struct job j = {
        .k = k, .x = numbers(N), .b = numbers(N), .y = memory(3 * sizeof(float) * N), .n = N};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        report(json, rows[r].name, k->name, "ns/element", best_ns(rows[r].run, &j) / N);
    free(j.x);
    free(j.y);
    free_const(j.b);
}

/* words: level, M, N, K. */
static bool bench_product(char **words)
{
    int shape[3];
    for (int i = 0; i < 3; i++) {
        char *end;
        const long size = strtol(words[1 + i], &end, 10);
        if (*end || size < 1 || size > 1 << 20)
            return false;
        shape[i] = (int)size;
    }
    for (int isa = SL_ISA_PORTABLE; isa < SL_ISA_COUNT; isa++) {
        const struct sl_kernels *k = sl_kernels_for((enum sl_isa)isa);
        if (!k || strcmp(k->name, words[0]) != 0)
            continue;
        const struct job j = product_job(k, shape);
        (void)printf("{\"value\": %.5g, \"isa\": \"%s\"}\n",
                     2.0 * shape[0] * shape[1] * shape[2] / best_ns(run_gemm, &j), k->name);
        return true;
    }
    (void)fprintf(stderr, "bench_kernels: this machine has no level '%s'\n", words[0]);
    return false;
}

int main(int count, char **words)
{
    const bool json = count == 2 && strcmp(words[1], "--json") == 0;
    if (count == 6 && strcmp(words[1], "--product") == 0)
        return bench_product(words + 2) ? EXIT_SUCCESS : EXIT_FAILURE;
    if (count > 1 && !json) {
        (void)fprintf(stderr, "usage: bench_kernels [--json | --product LEVEL M N K]\n");
        return EXIT_FAILURE;
    }
    openblas_set_num_threads(1);
    if (json)
        (void)printf("[");
    else
        (void)printf("OpenBLAS: %s, core %s\n", openblas_get_config(), openblas_get_corename());
    bench_products(json);
    for (int isa = SL_ISA_REF; isa < SL_ISA_COUNT; isa++) {
        const struct sl_kernels *k = sl_kernels_for((enum sl_isa)isa);
        if (!k)
            continue;
        bench_attention(json, k);
        bench_rows(json, k);
    }
    if (json)
        (void)printf("\n]\n");
    return EXIT_SUCCESS;
}
