/* test_kernels_int8.c - rows as int8 and their products: the bits of the reference at every level
 * this machine has. */
#include "support/kernel_buffers.h"
#include "support/test.h"

/* ---- rows ------------------------------------------------------------------------------------ */

/* The bf16 of floats that it holds exactly, with zeros up to a multiple of 32. */
static uint16_t *bf16_make(const float *x, int n)
{
    uint16_t *out = calloc(sl_round_up((size_t)n, 32), sizeof *out);
    cr_assert(out);
    for (int i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        out[i] = (uint16_t)(bits >> 16);
    }
    return out;
}

static void same_groups(const struct sl_kernels *k, const void *x, enum sl_type type, int n,
                        int group)
{
    enum { GROUPS_MAX = 8 };

    const size_t bytes = sl_round_up((size_t)n, SL_INT8_STEP);
    int8_t *got = output_make(bytes), *want = output_make(bytes);
    struct sl_int8_group groups[GROUPS_MAX], expected[GROUPS_MAX];
    k->quantize(got, groups, x, type, n, group);
    reference_kernels()->quantize(want, expected, x, type, n, group);
    cr_assert(output_guarded(got, bytes), "%s: %d", k->name, n);
    cr_assert_eq(memcmp(got, want, bytes), 0, "%s: %d", k->name, n);
    for (int i = 0; i < sl_int8_groups(n, group); i++) {
        cr_assert(same_bits(groups[i].scale, expected[i].scale), "%s: %d: %.9g, want %.9g", k->name,
                  n, (double)groups[i].scale, (double)expected[i].scale);
        cr_assert_eq(groups[i].sum, expected[i].sum, "%s: %d", k->name, n);
    }
    output_free(got);
    output_free(want);
}

static void same_row(const struct sl_kernels *k, const void *x, enum sl_type type, int n)
{
    static const int groups[] = {SL_INT8_STEP, 2 * SL_INT8_STEP, SL_INT8_DEPTH_MAX};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        same_groups(k, x, type, n, groups[i]);
}

static void quantizes_all_lengths(const struct sl_kernels *k)
{
    for (int n = 1; n <= 150; n++) {
        float *x = input_make((size_t)n, 20, ldexpf(1.0f, n % 20 - 10));
        same_row(k, x, SL_F32, n);
        for (int i = 0; i < n; i++)
            x[i] = ldexpf(roundf(x[i] * 128.0f), -7); /* exact in bf16 */
        uint16_t *half = bf16_make(x, n);
        same_row(k, half, SL_BF16, n);
        free(half);
        free(x);
    }
}

Test(quantize, is_the_reference)
{
    for_each_isa(quantizes_all_lengths);
}

static void quantizes_special_rows(const struct sl_kernels *k)
{
    static const float specials[] = {0.0f, -0.0f,     0x1p-140f, 0x1p-101f, 0x1p-99f,
                                     1.0f, -3.40e38f, INFINITY,  -INFINITY, NAN};
    for (size_t s = 0; s < sizeof specials / sizeof *specials; s++)
        for (int at = 0; at < 70; at += 23) {
            float x[70] = {0};
            x[at] = specials[s];
            same_row(k, x, SL_F32, 70);
        }
}

Test(quantize, of_special_numbers_is_the_reference)
{
    for_each_isa(quantizes_special_rows);
}

/* The definition: the highest magnitude is 127, halves go to the even number. */
Test(quantize, rounds_to_even)
{
    const float x[] = {127.0f, -127.0f, 0.5f, 1.5f, -2.5f, 3.25f, -0.5f};
    const int8_t want[SL_INT8_STEP] = {127, -127, 0, 2, -2, 3, 0};
    int8_t got[SL_INT8_STEP];
    struct sl_int8_group row;
    reference_kernels()->quantize(got, &row, x, SL_F32, 7, SL_INT8_STEP);
    cr_expect_eq(memcmp(got, want, sizeof want), 0);
    cr_expect(same_bits(row.scale, 1.0f));
    cr_expect_eq(row.sum, 3);
}

/* ---- products ------------------------------------------------------------------------------- */

struct product {
    int m, n, k;
    size_t x_stride;
    int8_t *x;
    struct sl_int8_group *groups;
    void *packed;
    float *y;
};

/* Groups of a row of x. */
static size_t groups_of(const struct sl_kernels *k, int depth)
{
    return (size_t)sl_int8_groups(depth, k->int8_group);
}

/* x has rows of very different magnitudes, w columns of such. */
static struct product product_make(const struct sl_kernels *k, int m, int n, int depth)
{
    struct product p = {.m = m, .n = n, .k = depth};
    float *x = input_make((size_t)m * (size_t)depth, 21, 1.0f);
    float *w = input_make((size_t)n * (size_t)depth, 22, 1.0f);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < depth; i++)
            w[j * depth + i] = ldexpf(w[j * depth + i], j % 9);
    p.x_stride = sl_round_up((size_t)depth, SL_INT8_STEP) + SL_INT8_STEP;
    p.x = malloc((size_t)m * p.x_stride);
    p.groups = malloc((size_t)m * groups_of(k, depth) * sizeof *p.groups);
    cr_assert(p.x);
    cr_assert(p.groups);
    memset(p.x, 0x7f, (size_t)m * p.x_stride);
    for (int r = 0; r < m; r++) {
        for (int i = 0; i < depth; i++)
            x[r * depth + i] = ldexpf(x[r * depth + i], r % 7);
        k->quantize(p.x + (size_t)r * p.x_stride, p.groups + (size_t)r * groups_of(k, depth),
                    x + (size_t)r * (size_t)depth, SL_F32, depth, k->int8_group);
    }
    p.packed = output_make(sl_int8_bytes(depth, n, k->int8_group));
    for (int first = 0; first < n; first += SL_PANEL)
        sl_int8_pack(k, p.packed, w, (size_t)depth, depth, n, first,
                     first + SL_PANEL < n ? first + SL_PANEL : n);
    cr_assert(output_guarded(p.packed, sl_int8_bytes(depth, n, k->int8_group)));
    p.y = output_make((size_t)m * (size_t)n * sizeof *p.y);
    free(x);
    free(w);
    return p;
}

static void product_free(struct product *p)
{
    free(p->x);
    free(p->groups);
    output_free(p->packed);
    output_free(p->y);
}

/* Rows first .. first + count - 1. */
static void multiply(const struct sl_kernels *k, const struct product *p, int first, int count)
{
    const struct sl_gemm g = {.x = p->x + (size_t)first * p->x_stride,
                              .int8_groups = p->groups + (size_t)first * groups_of(k, p->k),
                              .int8_group = k->int8_group,
                              .packed = p->packed,
                              .y = p->y + (size_t)first * (size_t)p->n,
                              .x_stride = p->x_stride,
                              .y_stride = (size_t)p->n,
                              .m = count,
                              .n = p->n,
                              .k = p->k};
    k->int8_gemm(&g);
}

static void multiplies(const struct sl_kernels *k, int m, int n, int depth)
{
    const size_t bytes = (size_t)m * (size_t)n * sizeof(float);
    struct sl_kernels reference = *reference_kernels();
    reference.int8_group = k->int8_group;
    struct product p = product_make(k, m, n, depth), q = product_make(&reference, m, n, depth);
    multiply(k, &p, 0, m);
    multiply(&reference, &q, 0, m);
    cr_assert(output_guarded(p.y, bytes), "%s %dx%dx%d", k->name, m, n, depth);
    for (size_t i = 0; i < (size_t)m * (size_t)n; i++)
        cr_assert(same_bits(p.y[i], q.y[i]), "%s %dx%dx%d: [%zu] = %.9g, want %.9g", k->name, m, n,
                  depth, i, (double)p.y[i], (double)q.y[i]);
    product_free(&p);
    product_free(&q);
}

static void multiplies_all_shapes(const struct sl_kernels *k)
{
    static const int ms[] = {1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 31, 32, 33, 47, 64, 70};
    static const int ns[] = {1, 16, 31, 32, 33, 65, 130, 300}, ks[] = {1, 3, 63, 64, 65, 200};
    for (size_t i = 0; i < sizeof ms / sizeof *ms; i++)
        for (size_t j = 0; j < sizeof ns / sizeof *ns; j++)
            for (size_t l = (i + j) % TEST_STEP; l < sizeof ks / sizeof *ks; l += TEST_STEP)
                multiplies(k, ms[i], ns[j], ks[l]);
    multiplies(k, 300, 33, 40);
    multiplies(k, 9, 70, 4100);
}

Test(int8_gemm, has_the_bits_of_the_reference)
{
    for_each_isa(multiplies_all_shapes);
}

/* Products of whole numbers that are their own int8, with one that makes its group coarse: the
 * others are exact. */
static void large_columns_spare_the_other_groups(const struct sl_kernels *k)
{
    enum { DEPTH = 4 * SL_INT8_STEP };

    if (k->int8_group >= DEPTH)
        return;
    float x[DEPTH], w[DEPTH], want = 0.0f;
    struct product p = product_make(k, 1, 1, DEPTH);
    for (int i = 0; i < DEPTH; i++) {
        x[i] = i % k->int8_group ? (float)(i % 100) : 127.0f;
        w[i] = i % k->int8_group ? (float)(i % 7) : 127.0f;
        want += i < k->int8_group ? 0.0f : x[i] * w[i];
    }
    x[1] = 127e4f; /* the rest of its group rounds to 0 or 127e4 / 127 */
    w[1] = 0.0f;
    x[0] = 0.0f;
    for (int i = 2; i < k->int8_group; i++)
        w[i] = 0.0f;
    k->quantize(p.x, p.groups, x, SL_F32, DEPTH, k->int8_group);
    sl_int8_pack(k, p.packed, w, DEPTH, DEPTH, 1, 0, 1);
    multiply(k, &p, 0, 1);
    cr_assert_eq(p.y[0], want, "%s: %.9g, want %.9g", k->name, (double)p.y[0], (double)want);
    product_free(&p);
}

Test(int8_gemm, large_columns_spare_the_other_groups)
{
    for_each_isa(large_columns_spare_the_other_groups);
}

static void rows_are_independent(const struct sl_kernels *k)
{
    struct product p = product_make(k, 40, 200, 560);
    const size_t bytes = (size_t)p.m * (size_t)p.n * sizeof(float);
    float *all = malloc(bytes);
    cr_assert(all);
    multiply(k, &p, 0, p.m);
    memcpy(all, p.y, bytes);
    for (int count = 1; count < p.m; count += TEST_STEP) {
        memset(p.y, 0xff, bytes);
        for (int first = 0; first < p.m; first += count)
            multiply(k, &p, first, first + count < p.m ? count : p.m - first);
        cr_assert_eq(memcmp(p.y, all, bytes), 0, "%s: %d rows at a time", k->name, count);
    }
    free(all);
    product_free(&p);
}

Test(int8_gemm, a_row_does_not_know_its_company)
{
    for_each_isa(rows_are_independent);
}

/* The largest sums there are: all products 127 127, or -127 127. */
static void extremes_do_not_saturate(const struct sl_kernels *k)
{
    enum { DEPTH = 4096, COLUMNS = 33 };

    float *x = malloc(DEPTH * sizeof *x), *w = malloc(sizeof *w * DEPTH * COLUMNS);
    cr_assert(x);
    cr_assert(w);
    struct product p = product_make(k, 1, COLUMNS, DEPTH);
    for (int i = 0; i < DEPTH; i++)
        x[i] = 127.0f;
    for (int i = 0; i < DEPTH * COLUMNS; i++)
        w[i] = i / DEPTH % 2 ? -127.0f : 127.0f;
    k->quantize(p.x, p.groups, x, SL_F32, DEPTH, k->int8_group);
    sl_int8_pack(k, p.packed, w, DEPTH, DEPTH, COLUMNS, 0, COLUMNS);
    multiply(k, &p, 0, 1);
    for (int j = 0; j < COLUMNS; j++)
        cr_assert_eq(p.y[j], (j % 2 ? -1.0f : 1.0f) * 127 * 127 * DEPTH, "%s: column %d", k->name,
                     j);
    product_free(&p);
    free(x);
    free(w);
}

Test(int8_gemm, the_largest_sums_are_exact)
{
    for_each_isa(extremes_do_not_saturate);
}

/* A result with NaN is noticed, in its own row and column only. */
static void what_is_not_finite_shows(const struct sl_kernels *k)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        struct product p = product_make(k, 5, 40, 70);
        float x[70] = {1.0f, 2.0f}, w[40 * 70];
        for (int i = 0; i < 40 * 70; i++)
            w[i] = (float)(i % 11);
        x[40] = w[7 * 70 + 3] = bad[b];
        k->quantize(p.x + 2 * p.x_stride, p.groups + 2 * groups_of(k, 70), x, SL_F32, 70,
                    k->int8_group);
        sl_int8_pack(k, p.packed, w, 70, 70, 40, 0, 40);
        multiply(k, &p, 0, 5);
        for (int i = 0; i < 5 * 40; i++)
            cr_assert_eq(!isfinite(p.y[i]), i / 40 == 2 || i % 40 == 7, "%s: row %d, column %d",
                         k->name, i / 40, i % 40);
        product_free(&p);
    }
}

Test(int8_gemm, what_is_not_finite_shows)
{
    for_each_isa(what_is_not_finite_shows);
}

/* The product, then `epilogue`, then `axpy`, row by row: what a fused epilogue has to give. */
static void finish_in_steps(const struct sl_kernels *k, const struct product *p,
                            const struct sl_gemm_epilogue *e, float *y)
{
    multiply(k, p, 0, p->m);
    for (int r = 0; r < p->m; r++) {
        float *row = p->y + (size_t)r * (size_t)p->n;
        k->epilogue(&(struct sl_epilogue){
            .products = row,
            .bias = e->bias,
            .activation = e->activation,
            .out = e->out ? (char *)e->out + (size_t)r * e->out_stride * sl_type_bytes(k->operand)
                          : NULL,
            .n = p->n});
        if (!e->out)
            k->axpy(y + (size_t)e->rows[r] * (size_t)p->n, e->scale * e->gates[r], row, p->n);
    }
}

static void finish_at_once(const struct sl_kernels *k, const struct product *p,
                           const struct sl_gemm_epilogue *e, float *y)
{
    k->int8_gemm(&(struct sl_gemm){.x = p->x,
                                   .int8_groups = p->groups,
                                   .int8_group = k->int8_group,
                                   .packed = p->packed,
                                   .y = y,
                                   .x_stride = p->x_stride,
                                   .y_stride = (size_t)p->n,
                                   .m = p->m,
                                   .n = p->n,
                                   .k = p->k,
                                   .accumulate = !e->out,
                                   .epilogue = e});
}

/* To operands after a GELU, or added to rows in another order. */
static void fuses(const struct sl_kernels *k, int m, int n, int depth, bool to_operands)
{
    enum { ROWS_MAX = 70 };

    struct product p = product_make(k, m, n, depth);
    const size_t stride = sl_operand_stride(k, n), bytes = (size_t)m * (size_t)n * sizeof(float);
    const size_t out_bytes = (size_t)m * stride * sl_type_bytes(k->operand);
    float *bias = input_make((size_t)n, 23, 1.0f), gates[ROWS_MAX] = {0}, *y[2];
    int32_t rows[ROWS_MAX] = {0};
    void *out[2];
    for (int i = 0; i < m; i++) {
        rows[i] = m - 1 - i;
        gates[i] = 0.5f + (float)i / 7.0f;
    }
    for (int i = 0; i < 2; i++) {
        y[i] = memset(output_make(bytes), 0, bytes);
        out[i] = output_make(out_bytes);
        const struct sl_gemm_epilogue e = {.bias = bias,
                                           .activation = to_operands ? SL_GELU : SL_RELU,
                                           .out = to_operands ? out[i] : NULL,
                                           .out_stride = stride,
                                           .rows = rows,
                                           .gates = gates,
                                           .scale = 0.75f};
        (i == 0 ? finish_in_steps : finish_at_once)(k, &p, &e, y[i]);
        cr_assert(output_guarded(y[i], bytes) && output_guarded(out[i], out_bytes));
    }
    cr_assert_arr_eq(y[0], y[1], bytes, "%s %dx%dx%d", k->name, m, n, depth);
    cr_assert_arr_eq(out[0], out[1], out_bytes, "%s %dx%dx%d", k->name, m, n, depth);
    for (int i = 0; i < 2; i++) {
        output_free(y[i]);
        output_free(out[i]);
    }
    free(bias);
    product_free(&p);
}

static void fuses_all(const struct sl_kernels *k)
{
    static const int ms[] = {1, 16, 17, 32, 33, 70}, ns[] = {1, 31, 33, 130}, ks[] = {1, 65, 300};
    for (size_t i = 0; k->int8_fuses_epilogue && i < sizeof ms / sizeof *ms; i++)
        for (size_t j = 0; j < sizeof ns / sizeof *ns; j++)
            for (size_t l = 0; l < sizeof ks / sizeof *ks; l++)
                for (int to_operands = 0; to_operands < 2; to_operands++)
                    fuses(k, ms[i], ns[j], ks[l], to_operands);
}

Test(int8_gemm, a_fused_epilogue_gives_the_bits_of_its_steps)
{
    for_each_isa(fuses_all);
}
