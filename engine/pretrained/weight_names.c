/* weight_names.c - finds the tensor of each parameter by the rows of its family. */
#include "pretrained/weight_names.h"

#include "autograd/tensor.h"

#include <assert.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 256 };

/* -- names ------------------------------------------------------------------------------------ */

/* A parameter's name in parts: "layers.3.mlp.up" and ".weight". */
struct parts {
    char stem[NAME_MAX_BYTES];
    const char *suffix;
    int layer;
};

static struct parts parts_of(const char *name)
{
    struct parts p = {.suffix = strrchr(name, '.')};
    assert(p.suffix);
    (void)snprintf(p.stem, sizeof p.stem, "%.*s", (int)(p.suffix - name), name);
    if (sscanf(name, "layers.%d.", &p.layer) != 1) // NOLINT(cert-err34-c): a name of ours
        p.layer = 0;
    return p;
}

/* Writes a pattern's name for a layer. */
static void spell(char name[NAME_MAX_BYTES], const char *prefix, const char *pattern, int layer,
                  const char *suffix)
{
    const char *number = strstr(pattern, "%d");
    const int before = number ? (int)(number - pattern) : (int)strlen(pattern);
    if (number)
        (void)snprintf(name, NAME_MAX_BYTES, "%s%.*s%d%s%s", prefix, before, pattern, layer,
                       number + 2, suffix);
    else
        (void)snprintf(name, NAME_MAX_BYTES, "%s%s%s", prefix, pattern, suffix);
}

static const struct sl_family_weight *row_in(const struct sl_family_weight *rows,
                                             const struct parts *parts)
{
    char name[NAME_MAX_BYTES];
    for (; rows && rows->ours; rows++) {
        spell(name, "", rows->ours, parts->layer, "");
        if (strcmp(name, parts->stem) == 0)
            return rows;
    }
    return NULL;
}

/* Old files call the two numbers of a norm gamma and beta. */
static const char *old_suffix(const char *suffix)
{
    return strcmp(suffix, ".weight") == 0 ? ".gamma" : ".beta";
}

/* With the family's prefix or without. */
static struct sl_weight *find(const struct sl_weights *weights, const char *prefix,
                              const char *pattern, const struct parts *parts)
{
    const char *const prefixes[] = {prefix, ""};
    const char *const suffixes[] = {parts->suffix, old_suffix(parts->suffix)};
    char name[NAME_MAX_BYTES];
    for (int i = 0; i < 4; i++) {
        spell(name, prefixes[i % 2], pattern, parts->layer, suffixes[i / 2]);
        struct sl_weight *w = sl_weights_find(weights, name);
        if (w)
            return w;
    }
    return NULL;
}

/* -- values ----------------------------------------------------------------------------------- */

/* A matrix of ours that is filled from tensors of theirs; a vector has a row for each number. */
struct target {
    float *data;
    size_t rows, cols;
};

/* A tensor of theirs as rows of ours. */
struct source {
    const float *values;
    size_t rows, cols;
    bool transposed;
};

static void copy_rows(struct target to, const struct source *from, size_t first)
{
    for (size_t r = 0; r < to.rows; r++)
        for (size_t c = 0; c < to.cols; c++)
            to.data[r * to.cols + c] = from->transposed
                                           ? from->values[c * from->rows + first + r]
                                           : from->values[(first + r) * from->cols + c];
}

static bool fail_shape(const struct sl_weight *w, const struct target *to, struct sl_err *err)
{
    char shape[96] = "";
    size_t used = 0;
    for (int i = 0; i < w->rank; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%lld", i ? "x" : "",
                                 (long long)w->shape[i]);
    return sl_fail(err, SL_BAD_INPUT, "tensor '%s': shape %s: expected %zux%zu", w->name, shape,
                   to->rows, to->cols);
}

/* The shape of a tensor as rows of ours; a vector is a column. */
static bool shape_of(const struct sl_weight *w, unsigned how, struct source *from)
{
    from->transposed = (how & SL_WEIGHT_TRANSPOSED) && w->rank == 2;
    if (w->rank < 1 || w->rank > 2)
        return false;
    const size_t first = (size_t)w->shape[0], second = w->rank == 2 ? (size_t)w->shape[1] : 1;
    from->rows = from->transposed ? second : first;
    from->cols = from->transposed ? first : second;
    return true;
}

static bool all_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

static bool read_values(const struct sl_weight *w, float **values, struct sl_err *err)
{
    *values = NULL;
    if (w->type == SL_NUMBER_OTHER)
        return sl_fail(err, SL_BAD_INPUT, "tensor '%s' holds no numbers of a known type", w->name);
    *values = malloc((w->count + 1) * sizeof **values);
    if (!*values)
        return sl_fail(err, SL_NO_MEMORY, "no memory for tensor '%s'", w->name);
    sl_numbers_read(w->type, w->data, w->count, *values);
    return all_finite(*values, w->count) ||
           sl_fail(err, SL_BAD_INPUT, "tensor '%s' has a number that is NaN or infinite", w->name);
}

/* Row 2 i + j of a head becomes row i + j half. */
static bool separate_halves(const struct sl_weight *w, float *values, struct sl_err *err)
{
    const size_t rows = (size_t)w->shape[0], cols = w->rank == 2 ? (size_t)w->shape[1] : 1;
    const size_t heads = (size_t)w->paired_heads, half = rows / heads / 2;
    if (heads * half * 2 != rows)
        return sl_fail(err, SL_BAD_INPUT, "tensor '%s' has %zu rows for %zu heads", w->name, rows,
                       heads);
    assert(values);
    float *copy = malloc((w->count + 1) * sizeof *copy);
    if (!copy)
        return sl_fail(err, SL_NO_MEMORY, "no memory for tensor '%s'", w->name);
    memcpy(copy, values, w->count * sizeof *copy);
    for (size_t row = 0; row < rows; row++) {
        const size_t head = row / (2 * half), i = row % half, j = row / half % 2;
        memcpy(values + row * cols, copy + (head * 2 * half + 2 * i + j) * cols,
               cols * sizeof *values);
    }
    free(copy);
    return true;
}

static bool fill(struct target to, struct sl_weight *w, unsigned how, struct sl_err *err)
{
    struct source from;
    const bool some = how & (SL_WEIGHT_FIRST | SL_WEIGHT_LAST);
    if (!shape_of(w, how, &from) || from.cols != to.cols ||
        (some ? from.rows < to.rows : from.rows != to.rows))
        return fail_shape(w, &to, err);
    float *values;
    bool ok =
        read_values(w, &values, err) && (w->paired_heads == 0 || separate_halves(w, values, err));
    from.values = values;
    if (ok)
        copy_rows(to, &from, how & SL_WEIGHT_LAST ? from.rows - to.rows : 0);
    free(values);
    w->used = true;
    return ok;
}

/* The part of a parameter that a tensor fills: all of it, or one half of its rows. A vector has a
 * row for each number. */
static struct target part_of(const struct sl_parameter *p, const struct sl_weight *w, int part,
                             int parts)
{
    const bool is_vector = w->rank == 1 && p->rows == 1;
    struct target to = {.rows = (size_t)(is_vector ? p->cols : p->rows) / (size_t)parts,
                        .cols = is_vector ? 1 : (size_t)p->cols};
    to.data = p->data + (size_t)part * to.rows * to.cols;
    return to;
}

/* What sentence-transformers adds to a model of any family. */
static const struct sl_family_weight dense_weights[] = {
    {"embedding_dense_1", {"dense_1.linear"}, 0},
    {"embedding_dense_2", {"dense_2.linear"}, 0},
    {NULL, {NULL}, 0}};

static const struct sl_family_weight *row_of(const struct sl_published *published,
                                             const struct parts *parts)
{
    const struct sl_family_weight *const tables[] = {published->task->weights,
                                                     published->family->weights, dense_weights};
    const struct sl_family_weight *row = NULL;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && !row; i++)
        row = row_in(tables[i], parts);
    return row;
}

static bool fail_missing(const char *prefix, const char *pattern, const struct parts *parts,
                         struct sl_err *err)
{
    char name[NAME_MAX_BYTES];
    spell(name, prefix, pattern, parts->layer, parts->suffix);
    return sl_fail(err, SL_BAD_INPUT, "tensor '%s' is missing", name);
}

static bool load_one(const struct sl_weights *weights, const struct sl_published *published,
                     const struct sl_parameter *p, struct sl_err *err)
{
    const char *prefix = published->family->prefix;
    const struct parts parts = parts_of(p->name);
    const struct sl_family_weight *row = row_of(published, &parts);
    if (!row)
        return sl_fail(err, SL_BAD_INPUT, "'%s' has no counterpart in models of the family '%s'",
                       p->name, published->family->model_type);
    const int count = row->theirs[1] ? 2 : 1;
    for (int i = 0; i < count; i++) {
        struct sl_weight *w = find(weights, prefix, row->theirs[i], &parts);
        if (!w)
            return fail_missing(prefix, row->theirs[i], &parts, err);
        if (!fill(part_of(p, w, i, count), w, row->how, err))
            return false;
    }
    return true;
}

/* -- what is left over ------------------------------------------------------------------------ */

static bool may_be_unused(const struct sl_published *published, const char *name)
{
    const char *prefix = published->family->prefix;
    const size_t length = strlen(prefix);
    const char *short_name = strncmp(name, prefix, length) == 0 ? name + length : name;
    for (const char *const *pattern = published->task->unused; *pattern; pattern++)
        if (fnmatch(*pattern, short_name, 0) == 0)
            return true;
    return false;
}

static bool check_left_over(const struct sl_weights *weights, const struct sl_published *published,
                            struct sl_err *err)
{
    for (size_t i = 0; i < weights->count; i++) {
        const struct sl_weight *w = &weights->list[i];
        if (!w->used && !may_be_unused(published, w->name))
            return sl_fail(err, SL_BAD_INPUT, "tensor '%s' is of no use in a %s", w->name,
                           published->task->architecture);
    }
    return true;
}

bool sl_weights_load(const struct sl_weights *weights, const struct sl_published *published,
                     const struct sl_parameter *parameters, int count, struct sl_err *err)
{
    for (int i = 0; i < count; i++)
        if (!load_one(weights, published, &parameters[i], err))
            return false;
    return check_left_over(weights, published, err);
}
