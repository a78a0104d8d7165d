/* sparse_columns.c - sparse features by feature, and the product by their kernel. */
#include "linear/sparse_columns.h"

#include <stdlib.h>
#include <string.h>

/* ---- opening --------------------------------------------------------------------------------- */

/* How many texts of the problem have each feature. */
static void count_texts(const struct sl_logistic_problem *p, int32_t *texts)
{
    const struct sl_text_matrix *x = p->x;
    for (int r = 0; r < p->count; r++)
        for (int64_t i = x->first[p->rows[r]]; i < x->first[p->rows[r] + 1]; i++)
            texts[x->index[i]]++;
}

/* Replaces counts by numbers of features, -1 for those that are not listed. */
static bool list_features(struct sl_sparse_columns *s, int cols, int32_t *texts, struct sl_err *err)
{
    int64_t entries = 0;
    for (int f = 0; f < cols; f++) {
        s->features += texts[f] > 1;
        entries += texts[f] > 1 ? texts[f] : 0;
    }
    s->feature = calloc((size_t)s->features + 1, sizeof *s->feature);
    s->first = calloc((size_t)s->features + 2, sizeof *s->first);
    s->row = malloc(((size_t)entries + 1) * sizeof *s->row);
    s->value = malloc(((size_t)entries + 1) * sizeof *s->value);
    if (!s->feature || !s->first || !s->row || !s->value)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d n-grams by text", s->features);
    for (int f = 0, number = 0; f < cols; f++) {
        const int32_t count = texts[f];
        texts[f] = count > 1 ? number : -1;
        if (count <= 1)
            continue;
        s->feature[number] = f;
        s->first[number + 1] = s->first[number] + count;
        number++;
    }
    return true;
}

static void add_alone(const struct sl_sparse_columns *s, const struct sl_logistic_problem *p, int r,
                      int64_t entry)
{
    const struct sl_text_matrix *x = p->x;
    const size_t classes = (size_t)p->classes;
    const float *factor =
        p->sparse_factors ? p->sparse_factors + (size_t)x->index[entry] * classes : NULL;
    float *alone = s->alone + (size_t)r * classes;
    const float square = p->sparse_c * x->value[entry] * x->value[entry];
    for (size_t c = 0; c < classes; c++)
        alone[c] += factor ? square * factor[c] : square;
}

/* While entries are added, first[f] is where the feature's next one goes: in the end it is where
 * the next feature's begin. */
static void add_entries(struct sl_sparse_columns *s, const struct sl_logistic_problem *p,
                        const int32_t *numbers)
{
    const struct sl_text_matrix *x = p->x;
    for (int r = 0; r < p->count; r++)
        for (int64_t i = x->first[p->rows[r]]; i < x->first[p->rows[r] + 1]; i++) {
            const int32_t f = numbers[x->index[i]];
            if (f < 0) {
                add_alone(s, p, r, i);
                continue;
            }
            const int64_t at = s->first[f]++;
            s->row[at] = r;
            s->value[at] = x->value[i];
        }
    for (int f = s->features; f > 0; f--)
        s->first[f] = s->first[f - 1];
    s->first[0] = 0;
}

bool sl_sparse_columns_open(struct sl_sparse_columns *s, const struct sl_logistic_problem *p,
                            struct sl_err *err)
{
    const size_t classes = (size_t)p->classes;
    int32_t *numbers = calloc((size_t)p->x->sparse_cols + 1, sizeof *numbers);
    *s = (struct sl_sparse_columns){.alone =
                                        calloc((size_t)p->count * classes + 1, sizeof *s->alone),
                                    .sum = calloc(classes, sizeof *s->sum)};
    bool ok = (numbers && s->alone && s->sum) ||
              sl_fail(err, SL_NO_MEMORY, "no memory for the n-grams of %d texts", p->count);
    if (ok && p->sparse_c > 0.0f)
        count_texts(p, numbers);
    ok = ok && list_features(s, p->x->sparse_cols, numbers, err);
    if (ok && p->sparse_c > 0.0f)
        add_entries(s, p, numbers);
    free(numbers);
    if (!ok)
        sl_sparse_columns_close(s);
    return ok;
}

void sl_sparse_columns_close(struct sl_sparse_columns *s)
{
    free(s->feature);
    free(s->first);
    free(s->row);
    free(s->value);
    free(s->alone);
    free(s->sum);
    *s = (struct sl_sparse_columns){0};
}

/* ---- the product ----------------------------------------------------------------------------- */

static inline void add_scaled(float *restrict y, float by, const float *restrict x, int count)
{
    for (int c = 0; c < count; c++)
        y[c] += by * x[c];
}

/* Inlined for each number of classes that has loops of its own. */
static inline __attribute__((always_inline)) void multiply_feature(
    const struct sl_sparse_columns *s, const struct sl_logistic_problem *p, int f, const float *a,
    float *z, int classes)
{
    const size_t width = (size_t)classes;
    float *sum = s->sum;
    for (int c = 0; c < classes; c++)
        sum[c] = 0.0f;
    for (int64_t i = s->first[f]; i < s->first[f + 1]; i++)
        add_scaled(sum, s->value[i], a + (size_t)s->row[i] * width, classes);
    for (int c = 0; c < classes; c++)
        sum[c] *= p->sparse_c;
    if (p->sparse_factors) {
        const float *factor = p->sparse_factors + (size_t)s->feature[f] * width;
        for (int c = 0; c < classes; c++)
            sum[c] *= factor[c];
    }
    for (int64_t i = s->first[f]; i < s->first[f + 1]; i++)
        add_scaled(z + (size_t)s->row[i] * width, s->value[i], sum, classes);
}

void sl_sparse_columns_multiply(struct sl_sparse_columns *s, const struct sl_logistic_problem *p,
                                const float *a, float *z)
{
    const size_t size = (size_t)p->count * (size_t)p->classes;
    for (size_t i = 0; i < size; i++)
        z[i] = s->alone[i] * a[i];
    for (int f = 0; f < s->features; f++)
        if (p->classes == 2)
            multiply_feature(s, p, f, a, z, 2);
        else if (p->classes == 4)
            multiply_feature(s, p, f, a, z, 4);
        else
            multiply_feature(s, p, f, a, z, p->classes);
}
