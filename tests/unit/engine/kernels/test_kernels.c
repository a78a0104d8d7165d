/* test_kernels.c - the tables, matrix products and conversions of every level this machine has,
 * against the reference. Row slots are in test_kernels_rows.c, attention in
 * test_kernels_attention.c. */
#include "support/kernel_buffers.h"
#include "support/test.h"

/* ---- the tables ----------------------------------------------------------------------------- */

static void has_all_slots(const struct sl_kernels *k)
{
    /* From pack_bytes on, the struct is pointers to functions only. */
    const unsigned char *slots = (const unsigned char *)k + offsetof(struct sl_kernels, pack_bytes);
    const size_t bytes = sizeof *k - offsetof(struct sl_kernels, pack_bytes);
    for (size_t at = 0; at < bytes; at += sizeof(void *)) {
        void *slot;
        memcpy(&slot, slots + at, sizeof slot);
        cr_assert(slot, "%s: slot %zu is empty", k->name, at / sizeof slot);
    }
    cr_assert_str_eq(k->name, sl_isa_name(k->isa));
}

Test(tables, every_slot_is_filled)
{
    for_each_isa(has_all_slots);
}

Test(tables, the_environment_chooses)
{
    cr_assert_eq(setenv("SLUICE_ISA", "portable", 1), 0);
    cr_assert_eq(sl_kernels_best(), sl_kernels_for(SL_ISA_PORTABLE));
    cr_assert_eq(setenv("SLUICE_ISA", "vax", 1), 0);
    cr_assert_eq(sl_kernels_best(), NULL);
    cr_assert_eq(unsetenv("SLUICE_ISA"), 0);
    for (int isa = (int)sl_kernels_best()->isa + 1; isa < SL_ISA_COUNT; isa++)
        cr_assert(sl_isa_needs_precision((enum sl_isa)isa) || !sl_kernels_for((enum sl_isa)isa));
    cr_assert_not(sl_isa_needs_precision(sl_kernels_best()->isa), "only on request");
}

/* ---- matrix products ------------------------------------------------------------------------ */

struct shape {
    int m, n, k;
};

/* Inputs of one product, in a level's types. */
struct product {
    struct shape s;
    float *x, *b; /* rounded as the level rounds them */
    void *operands, *packed;
    size_t packed_bytes;
};

static struct product product_make(const struct sl_kernels *k, struct shape s)
{
    struct product p = {.s = s};
    p.x = input_make((size_t)s.m * (size_t)s.k, 1, 1.0f);
    p.b = input_make((size_t)s.k * (size_t)s.n, 2, 1.0f);
    round_to_operands(k, p.x, s.m * s.k);
    round_to_operands(k, p.b, s.k * s.n);
    p.operands = operands_make(k, p.x, s.m, s.k);
    p.packed_bytes = k->pack_bytes(s.k, s.n);
    p.packed = output_make(p.packed_bytes);
    k->pack(p.packed, p.b, SL_F32, (size_t)s.n, false, s.k, s.n, 0, s.n);
    cr_assert(output_guarded(p.packed, p.packed_bytes));
    return p;
}

static void product_free(struct product *p)
{
    free(p->x);
    free(p->b);
    free(p->operands);
    output_free(p->packed);
}

static struct sl_gemm gemm_of(const struct sl_kernels *k, const struct product *p, float *y)
{
    return (struct sl_gemm){
        .x = p->operands,
        .packed = p->packed,
        .y = y,
        .x_stride = sl_operand_stride(k, p->s.k),
        .y_stride = (size_t)p->s.n,
        .m = p->s.m,
        .n = p->s.n,
        .k = p->s.k,
    };
}

/* How far a level's product may be from the reference's. Where multiply-adds are fused, it is the
 * same chain of them. Else each product is rounded, too, and tiles add in another order: an error
 * of some ulp of the largest partial sum (products are below 1 in magnitude). */
static float product_tolerance(const struct sl_kernels *k, int depth)
{
    return is_fused(k) && k->operand == SL_F32 ? 0.0f : 1e-6f * (float)depth;
}

static void multiplies(const struct sl_kernels *k, struct shape s, bool accumulate)
{
    struct product p = product_make(k, s);
    const size_t count = (size_t)s.m * (size_t)s.n, bytes = count * sizeof(float);
    float *got = output_make(bytes), *want = output_make(bytes);
    float *start = input_make(count, 3, 4.0f);
    memcpy(got, start, bytes);
    memcpy(want, start, bytes);
    struct product r = {.s = s};
    r.operands = p.x;
    r.packed = output_make(reference_kernels()->pack_bytes(s.k, s.n));
    reference_kernels()->pack(r.packed, p.b, SL_F32, (size_t)s.n, false, s.k, s.n, 0, s.n);
    struct sl_gemm g = gemm_of(k, &p, got), h = gemm_of(reference_kernels(), &r, want);
    g.accumulate = h.accumulate = accumulate;
    k->gemm(&g);
    reference_kernels()->gemm(&h);
    cr_assert(output_guarded(got, bytes), "%s %dx%dx%d", k->name, s.m, s.n, s.k);
    for (size_t i = 0; i < count; i++)
        cr_assert(is_near(got[i], want[i], product_tolerance(k, s.k)),
                  "%s %dx%dx%d: [%zu] = %.9g, want %.9g", k->name, s.m, s.n, s.k, i, (double)got[i],
                  (double)want[i]);
    output_free(r.packed);
    output_free(got);
    output_free(want);
    free(start);
    product_free(&p);
}

/* A compact B gives the bits of the same B that is not, and one that bf16 does not hold stays as it
 * is. */
static void multiplies_compact(const struct sl_kernels *k, struct shape s)
{
    struct product p = product_make(k, s);
    const size_t count = (size_t)s.m * (size_t)s.n, bytes = count * sizeof(float);
    float *got = output_make(bytes), *want = output_make(bytes);
    void *before = memcpy(output_make(p.packed_bytes), p.packed, p.packed_bytes);
    cr_assert_not(k->compact(p.packed, s.k, s.n), "%s: of numbers that bf16 lacks", k->name);
    cr_assert_eq(memcmp(p.packed, before, p.packed_bytes), 0, "%s: changed", k->name);
    for (size_t i = 0; i < (size_t)s.k * (size_t)s.n; i++)
        p.b[i] = ldexpf(roundf(p.b[i] * 128.0f), -7); /* exact in bf16 */
    k->pack(p.packed, p.b, SL_F32, (size_t)s.n, false, s.k, s.n, 0, s.n);
    struct sl_gemm g = gemm_of(k, &p, want);
    k->gemm(&g);
    g.y = got;
    g.compact = k->compact(p.packed, s.k, s.n);
    k->gemm(&g);
    cr_assert_eq(g.compact, k->operand == SL_F32, "%s", k->name);
    cr_assert(output_guarded(p.packed, p.packed_bytes));
    cr_assert_eq(memcmp(got, want, bytes), 0, "%s %dx%dx%d", k->name, s.m, s.n, s.k);
    output_free(before);
    output_free(got);
    output_free(want);
    product_free(&p);
}

static void multiplies_all_shapes(const struct sl_kernels *k)
{
    static const int ms[] = {1, 2, 3, 5, 12, 15, 16, 17, 31, 32, 33, 64, 70};
    static const int ns[] = {1, 16, 31, 32, 33, 65, 130}, ks[] = {1, 12, 31, 32, 33, 65};
    for (size_t i = 0; i < sizeof ms / sizeof *ms; i++)
        for (size_t j = 0; j < sizeof ns / sizeof *ns; j++)
            for (size_t l = (i + j) % TEST_STEP; l < sizeof ks / sizeof *ks; l += TEST_STEP)
                multiplies(k, (struct shape){ms[i], ns[j], ks[l]}, (i + j + l) % 2);
    for (size_t i = 0; i < sizeof ms / sizeof *ms; i++)
        for (size_t j = i % TEST_STEP; j < sizeof ns / sizeof *ns; j += TEST_STEP)
            multiplies_compact(k, (struct shape){ms[i], ns[j], ms[i] + 16});
    multiplies(k, (struct shape){300, 33, 40}, false);
    multiplies(k, (struct shape){9, 70, 1100}, true);
}

Test(gemm, is_the_reference)
{
    for_each_isa(multiplies_all_shapes);
}

/* Rows first .. first + count - 1 alone have the bits they have among all. */
static void rows_alone(const struct sl_kernels *k, const struct product *p, const float *all,
                       int first, int count)
{
    const size_t bytes = (size_t)count * (size_t)p->s.n * sizeof(float);
    const size_t row_bytes = sl_operand_stride(k, p->s.k) * sl_type_bytes(k->operand);
    float *y = output_make(bytes);
    struct sl_gemm g = gemm_of(k, p, y);
    g.x = (const unsigned char *)p->operands + (size_t)first * row_bytes;
    g.m = count;
    k->gemm(&g);
    cr_assert_eq(memcmp(y, all + (size_t)first * (size_t)p->s.n, bytes), 0,
                 "%s: rows %d to %d differ alone", k->name, first, first + count - 1);
    output_free(y);
}

static void rows_are_independent(const struct sl_kernels *k)
{
    struct product p = product_make(k, (struct shape){40, 200, 560});
    float *all = output_make((size_t)p.s.m * (size_t)p.s.n * sizeof(float));
    const struct sl_gemm g = gemm_of(k, &p, all);
    k->gemm(&g);
    for (int row = 0; row < p.s.m; row++)
        rows_alone(k, &p, all, row, 1);
    for (int count = 2; count < p.s.m; count += 3)
        rows_alone(k, &p, all, (p.s.m - count) / 2, count);
    output_free(all);
    product_free(&p);
}

Test(gemm, a_row_does_not_know_its_company)
{
    for_each_isa(rows_are_independent);
}

/* An epilogue within a product, and what it does. */
struct fused_case {
    enum sl_activation activation;
    bool bias, out, rows, gates;
};

static const struct fused_case fused_cases[] = {
    {SL_GELU, true, true, false, false},   {SL_RELU, false, true, false, false},
    {SL_LINEAR, true, true, false, false}, {SL_GELU, true, false, false, false},
    {SL_RELU, true, false, false, true},   {SL_LINEAR, true, false, true, true},
    {SL_LINEAR, false, false, true, false}};

/* The product, then `epilogue`, then `axpy`, row by row. */
static void in_steps(const struct sl_kernels *k, struct sl_gemm g)
{
    const struct sl_gemm_epilogue *e = g.epilogue;
    const size_t n = (size_t)g.n;
    float *sums = output_make((size_t)g.m * n * sizeof(float));
    struct sl_gemm plain = g;
    plain.epilogue = NULL;
    plain.accumulate = false;
    plain.y = sums;
    plain.y_stride = n;
    k->gemm(&plain);
    for (int r = 0; r < g.m; r++) {
        float *row = sums + (size_t)r * n;
        k->epilogue(&(struct sl_epilogue){
            .products = row,
            .bias = e->bias,
            .activation = e->activation,
            .out = e->out ? (uint16_t *)e->out + (size_t)r * e->out_stride : NULL,
            .n = g.n});
        float *y = g.y + (size_t)(e->rows ? e->rows[r] : r) * g.y_stride;
        if (g.accumulate)
            k->axpy(y, e->gates ? e->scale * e->gates[r] : e->scale, row, g.n);
        else if (!e->out)
            memcpy(y, row, n * sizeof *y);
    }
    output_free(sums);
}

static void fuses(const struct sl_kernels *k, struct shape s, const struct fused_case *c)
{
    struct product p = product_make(k, s);
    const size_t m = (size_t)s.m, n = (size_t)s.n, stride = sl_operand_stride(k, s.n);
    const size_t bytes = m * n * sizeof(float), out_bytes = m * stride * sizeof(uint16_t);
    float *bias = input_make(n, 4, 1.0f), *gates = input_make(m, 5, 1.0f);
    float *start = input_make(m * n, 6, 4.0f), *y[2];
    void *out[2];
    int32_t rows[128];
    for (int i = 0; i < s.m; i++)
        rows[i] = s.m - 1 - i;
    for (int i = 0; i < 2; i++) {
        y[i] = memcpy(output_make(bytes), start, bytes);
        out[i] = output_make(out_bytes);
        const struct sl_gemm_epilogue e = {.bias = c->bias ? bias : NULL,
                                           .activation = c->activation,
                                           .out = c->out ? out[i] : NULL,
                                           .out_stride = stride,
                                           .rows = c->rows ? rows : NULL,
                                           .gates = c->gates ? gates : NULL,
                                           .scale = 0.75f};
        struct sl_gemm g = gemm_of(k, &p, y[i]);
        g.accumulate = c->rows || c->gates;
        g.epilogue = &e;
        if (i == 0)
            in_steps(k, g);
        else
            k->gemm(&g);
        cr_assert(output_guarded(y[i], bytes) && output_guarded(out[i], out_bytes));
    }
    const int which = (int)(c - fused_cases);
    cr_assert_eq(memcmp(y[0], y[1], bytes), 0, "%s: y, case %d, %dx%dx%d", k->name, which, s.m, s.n,
                 s.k);
    cr_assert_eq(memcmp(out[0], out[1], out_bytes), 0, "%s: out, case %d, %dx%dx%d", k->name, which,
                 s.m, s.n, s.k);
    for (int i = 0; i < 2; i++) {
        output_free(y[i]);
        output_free(out[i]);
    }
    free(bias);
    free(gates);
    free(start);
    product_free(&p);
}

static void fuses_all(const struct sl_kernels *k)
{
    static const int ms[] = {1, 16, 17, 32, 33, 70, 128}, ns[] = {1, 31, 33, 64, 130};
    static const int ks[] = {1, 33, 300};
    for (size_t c = 0; k->fuses_epilogue && c < sizeof fused_cases / sizeof *fused_cases; c++)
        for (size_t i = 0; i < sizeof ms / sizeof *ms; i++)
            for (size_t j = 0; j < sizeof ns / sizeof *ns; j++)
                for (size_t l = 0; l < sizeof ks / sizeof *ks; l++)
                    fuses(k, (struct shape){ms[i], ns[j], ks[l]}, &fused_cases[c]);
}

Test(gemm, a_fused_epilogue_gives_the_bits_of_its_steps)
{
    for_each_isa(fuses_all);
}

/* ---- products of what is not packed ---------------------------------------------------------- */

/* x lies as it is or transposed, and rows of all three are further apart than they are long. */
static void products_agree(const struct sl_kernels *k, struct shape s, bool transposed,
                           bool accumulate)
{
    const size_t m = (size_t)s.m, n = (size_t)s.n, depth = (size_t)s.k, gap = 3;
    const size_t count = (m - 1) * (n + gap) + n, bytes = count * sizeof(float);
    float *x = input_make(m * depth, 8, 1.0f),
          *b = input_make((depth - 1) * (n + gap) + n, 9, 1.0f);
    float *got = output_make(bytes), *want = output_make(bytes),
          *start = input_make(count, 10, 4.0f);
    memcpy(got, start, bytes);
    memcpy(want, start, bytes);
    struct sl_small_gemm p = {.x = x,
                              .b = b,
                              .y = got,
                              .x_row = transposed ? 1 : depth,
                              .x_col = transposed ? m : 1,
                              .b_row = n + gap,
                              .y_row = n + gap,
                              .m = s.m,
                              .n = s.n,
                              .k = s.k,
                              .accumulate = accumulate};
    k->small_gemm(&p);
    p.y = want;
    reference_kernels()->small_gemm(&p);
    cr_assert(output_guarded(got, bytes), "%s %dx%dx%d", k->name, s.m, s.n, s.k);
    for (size_t i = 0; i < count; i++)
        cr_assert(same_bits(got[i], want[i]) ||
                      (!is_fused(k) && is_near(got[i], want[i], 1e-6f * (float)s.k)),
                  "%s %dx%dx%d, transposed %d, accumulate %d: [%zu]", k->name, s.m, s.n, s.k,
                  transposed, accumulate, i);
    free(x);
    free(b);
    free(start);
    output_free(got);
    output_free(want);
}

static void products_of_all_shapes(const struct sl_kernels *k)
{
    static const int ms[] = {1, 2, 3, 4, 7, 8, 15, 33}, ns[] = {1, 5, 8, 16, 17, 32, 33, 70};
    static const int ks[] = {1, 2, 6, 31};
    for (size_t i = 0; i < sizeof ms / sizeof *ms; i++)
        for (size_t j = 0; j < sizeof ns / sizeof *ns; j++)
            for (size_t l = 0; l < sizeof ks / sizeof *ks; l++)
                for (int how = 0; how < 4; how++)
                    products_agree(k, (struct shape){ms[i], ns[j], ks[l]}, how / 2, how % 2);
}

Test(product, has_the_bits_of_the_reference)
{
    for_each_isa(products_of_all_shapes);
}

static void packs_alike(const struct sl_kernels *k, int depth, int n)
{
    struct product p = product_make(k, (struct shape){1, n, depth});
    const size_t count = (size_t)depth * (size_t)n;
    float *transposed = malloc(count * sizeof *transposed);
    uint16_t *bf16 = malloc((count + SL_PANEL) * sizeof *bf16);
    unsigned char *packed = output_make(p.packed_bytes);
    for (size_t i = 0; i < count; i++) {
        p.b[i] = ldexpf(roundf(p.b[i] * 128.0f), -7); /* exact in bf16 */
        transposed[i % (size_t)n * (size_t)depth + i / (size_t)n] = p.b[i];
        uint32_t bits;
        memcpy(&bits, &p.b[i], sizeof bits);
        bf16[i] = (uint16_t)(bits >> 16);
    }
    k->pack(p.packed, p.b, SL_F32, (size_t)n, false, depth, n, 0, n);
    k->pack(packed, transposed, SL_F32, (size_t)depth, true, depth, n, 0, n);
    cr_assert_eq(memcmp(packed, p.packed, p.packed_bytes), 0, "%s: transposed", k->name);
    memset(packed, 0xff, p.packed_bytes);
    for (int first = 0; first < n; first += SL_PANEL)
        k->pack(packed, bf16, SL_BF16, (size_t)n, false, depth, n, first,
                first + SL_PANEL < n ? first + SL_PANEL : n);
    cr_assert_eq(memcmp(packed, p.packed, p.packed_bytes), 0, "%s: bf16, in ranges", k->name);
    cr_assert(output_guarded(packed, p.packed_bytes));
    free(transposed);
    free(bf16);
    output_free(packed);
    product_free(&p);
}

static void packs_all_shapes(const struct sl_kernels *k)
{
    for (int depth = 1; depth < 70; depth += 11)
        for (int n = 1; n < 100; n += 16)
            packs_alike(k, depth, n);
}

Test(pack, does_not_care_how_b_lies)
{
    for_each_isa(packs_all_shapes);
}

static void transposes(const struct sl_kernels *k, int rows, int cols, bool pad)
{
    const size_t size = sl_type_bytes(k->operand), stride = sl_operand_stride(k, rows) + 32;
    const size_t bytes = stride * (size_t)cols * size;
    float *x = input_make((size_t)rows * (size_t)cols, 4, 1.0f);
    round_to_operands(k, x, rows * cols);
    unsigned char *out = output_make(bytes);
    void *operands = operands_make(k, x, rows, cols);
    k->transpose(out, stride, operands, sl_operand_stride(k, cols), rows, cols, pad);
    free(operands);
    cr_assert(output_guarded(out, bytes));
    float wide[256];
    for (int c = 0; c < cols; c++) {
        k->from_operands(wide, out + (size_t)c * stride * size, (int)stride);
        for (int r = 0; r < (int)stride; r++) {
            const bool filled = pad && r < (int)sl_operand_stride(k, rows);
            const bool right = r < rows ? is_near(wide[r], x[r * cols + c], 0.0f)
                               : filled ? is_near(wide[r], 0.0f, 0.0f)
                                        : isnan(wide[r]) != 0;
            cr_assert(right, "%s: %dx%d: row %d column %d", k->name, rows, cols, r, c);
        }
    }
    output_free(out);
    free(x);
}

static void transposes_all_shapes(const struct sl_kernels *k)
{
    for (int rows = 1; rows <= 70; rows += 3)
        for (int cols = 1; cols <= 70; cols += 4)
            transposes(k, rows, cols, (rows + cols) % 2);
}

Test(transpose, puts_columns_in_rows)
{
    for_each_isa(transposes_all_shapes);
}

static void narrows(const struct sl_kernels *k)
{
    /* 1 + 2^-8 lies between two bf16: to the even one below; 1 + 3 * 2^-8 to the even one above. */
    const float special[] = {0.0f,     -0.0f, 1.0f + 0x1p-8f, 1.0f + 0x3p-8f, 3.4e38f, -INFINITY,
                             INFINITY, NAN,   -1.0f,          0x1p-126f};
    const float as_bf16[] = {0.0f,      -0.0f,    1.0f, 1.0f + 0x1p-6f, INFINITY,
                             -INFINITY, INFINITY, NAN,  -1.0f,          0x1p-126f};
    for (int n = 1; n <= 70; n++) {
        const size_t stride = sl_operand_stride(k, n), bytes = stride * sl_type_bytes(k->operand);
        float *x = input_make((size_t)n, 5, 1.0f), *back = output_make((size_t)n * sizeof *back);
        for (int i = 0; i < n && i < 10; i++)
            x[i] = special[i];
        unsigned char *out = output_make(bytes);
        k->to_operands(out, x, n);
        k->from_operands(back, out, n);
        cr_assert(output_guarded(out, bytes));
        cr_assert(output_guarded(back, (size_t)n * sizeof *back));
        for (int i = 0; i < n; i++) {
            const float want = k->operand == SL_F32 ? x[i] : i < 10 ? as_bf16[i] : x[i];
            const float room = k->operand == SL_F32 || i < 10 ? 0.0f : fabsf(x[i]) * 0x1p-8f;
            cr_assert(isnan(want)   ? isnan(back[i]) != 0
                      : isinf(want) ? back[i] == want
                                    : is_near(back[i], want, room),
                      "%s: %.9g became %.9g", k->name, (double)x[i], (double)back[i]);
        }
        for (size_t i = (size_t)n * sl_type_bytes(k->operand); i < bytes; i++)
            cr_assert_eq(out[i], 0, "%s: padding of %d", k->name, n);
        free(x);
        output_free(out);
        output_free(back);
    }
}

Test(to_operands, rounds_to_even_and_pads)
{
    for_each_isa(narrows);
}
