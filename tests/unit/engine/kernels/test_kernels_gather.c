/* test_kernels_gather.c - the gather and scatter slots against sums in double precision. */
#include "base/bf16.h"
#include "support/kernel_buffers.h"
#include "support/test.h"

enum { TABLE_ROWS = 41, LONGEST = 40 };

/* Rows, a list of some of them, and the other operands. */
struct selection {
    const struct sl_kernels *k;
    struct sl_row_list l;
    int32_t at[LONGEST];
    float *rows, *x, *a; /* rows side by side; numbers that bf16 holds exactly */
    void *operands;
    uint16_t *bf16; /* rows as far apart */
};

static struct selection selection_make(const struct sl_kernels *k, int n, int width, bool has_list)
{
    struct selection t = {.k = k};
    t.rows = input_make((size_t)TABLE_ROWS * (size_t)width, 40, 1.0f);
    for (int i = 0; i < TABLE_ROWS * width; i++)
        t.rows[i] = sl_bf16_to_f32(sl_bf16_of(t.rows[i]));
    t.operands = operands_make(k, t.rows, TABLE_ROWS, width);
    t.bf16 = calloc((size_t)TABLE_ROWS * sl_operand_stride(k, width), sizeof *t.bf16);
    for (int r = 0; r < TABLE_ROWS; r++)
        for (int c = 0; c < width; c++)
            t.bf16[(size_t)r * sl_operand_stride(k, width) + (size_t)c] =
                sl_bf16_of(t.rows[r * width + c]);
    t.x = input_make((size_t)width, 41, 1.0f);
    t.a = input_make((size_t)n, 42, 1.0f);
    for (int j = 0; j < n; j++)
        t.at[j] = has_list ? (j * 17 + 3) % TABLE_ROWS : j;
    t.l = (struct sl_row_list){.stride = sl_operand_stride(k, width), .n = n, .width = width};
    return t;
}

static void selection_free(struct selection *t)
{
    free(t->rows);
    free(t->operands);
    free(t->bf16);
    free(t->x);
    free(t->a);
}

static const float *row_of(const struct selection *t, int j)
{
    return t->rows + (size_t)t->at[j] * (size_t)t->l.width;
}

static void check_gather_dot(const struct selection *t)
{
    const size_t bytes = (size_t)t->l.n * sizeof(float);
    float *out = output_make(bytes);
    t->k->gather_dot(out, 0.25f, t->x, t->operands, &t->l);
    cr_assert(output_guarded(out, bytes), "%s: gather_dot of %d", t->k->name, t->l.n);
    for (int j = 0; j < t->l.n; j++) {
        double want = 0.0;
        for (int c = 0; c < t->l.width; c++)
            want += 0.25 * (double)t->x[c] * (double)row_of(t, j)[c];
        cr_assert(is_near(out[j], (float)want, 4e-6f), "%s: dot %d of %d, width %d: %g, want %g",
                  t->k->name, j, t->l.n, t->l.width, (double)out[j], want);
    }
    output_free(out);
}

static void check_gather_sum(const struct selection *t, bool bf16)
{
    const size_t bytes = (size_t)t->l.width * sizeof(float);
    float *out = output_make(bytes);
    if (bf16)
        t->k->gather_sum_bf16(out, t->a, t->bf16, &t->l);
    else
        t->k->gather_sum(out, t->a, t->operands, &t->l);
    cr_assert(output_guarded(out, bytes), "%s: gather_sum of %d", t->k->name, t->l.width);
    for (int c = 0; c < t->l.width; c++) {
        double want = 0.0;
        for (int j = 0; j < t->l.n; j++)
            want += (double)t->a[j] * (double)row_of(t, j)[c];
        cr_assert(is_near(out[c], (float)want, 4e-6f), "%s: column %d of %d from %d: %g, want %g",
                  t->k->name, c, t->l.width, t->l.n, (double)out[c], want);
    }
    output_free(out);
}

/* Rows of gradients are as wide as they are apart, except for one float that must not change. */
static void check_scatter_axpy(const struct selection *t)
{
    struct sl_row_list l = t->l;
    l.stride = (size_t)l.width + 1;
    float *rows = calloc(TABLE_ROWS * l.stride, sizeof *rows);
    cr_assert(rows);
    t->k->scatter_axpy(rows, t->a, t->x, &l);
    for (int r = 0; r < TABLE_ROWS; r++) {
        double factor = 0.0;
        for (int j = 0; j < l.n; j++)
            factor += t->at[j] == r ? (double)t->a[j] : 0.0;
        for (int c = 0; c < l.width; c++)
            cr_assert(is_near(rows[(size_t)r * l.stride + (size_t)c],
                              (float)(factor * (double)t->x[c]), 4e-6f),
                      "%s: row %d column %d", t->k->name, r, c);
        cr_assert_eq(rows[(size_t)r * l.stride + (size_t)l.width], 0.0f, "%s: past row %d",
                     t->k->name, r);
    }
    free(rows);
}

static void check_level(const struct sl_kernels *k)
{
    static const int counts[] = {0, 1, 15, 16, 17, 33, LONGEST};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int width = 1; width <= 70; width += width < 34 ? 1 : 9)
            for (int has_list = 0; has_list < 2; has_list++) {
                struct selection t = selection_make(k, counts[i], width, has_list);
                t.l.indices = has_list ? t.at : NULL;
                check_gather_dot(&t);
                check_gather_sum(&t, false);
                check_gather_sum(&t, true);
                check_scatter_axpy(&t);
                selection_free(&t);
            }
}

Test(gather, rows_are_found_multiplied_and_added_to)
{
    for_each_isa(check_level);
}

/* A row's bits do not depend on other rows of the list. */
static void check_company(const struct sl_kernels *k)
{
    struct selection t = selection_make(k, LONGEST, 24, true);
    float together[LONGEST], alone;
    t.l.indices = t.at;
    k->gather_dot(together, 0.7f, t.x, t.operands, &t.l);
    for (int j = 0; j < LONGEST; j++) {
        struct sl_row_list one = t.l;
        one.indices = t.at + j;
        one.n = 1;
        k->gather_dot(&alone, 0.7f, t.x, t.operands, &one);
        cr_assert(same_bits(alone, together[j]), "%s: row %d of the list", k->name, j);
    }
    selection_free(&t);
}

Test(gather, a_dot_has_the_same_bits_alone)
{
    for_each_isa(check_company);
}
