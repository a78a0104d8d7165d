/* ngram_logits.c - y_s = x_s + scale sum of (0, table_f) over the set of features f of text s; the
 * gradient is scattered. A feature is one, two or three consecutive tokens; a hash gives its row of
 * the table. */
#include "base/random.h"
#include "ops/ops.h"

#include <string.h>

enum { X };

enum {
    LONGEST = 3,         /* tokens of a feature; as many features end in each row, at most.
                          * Checkpoints depend on it */
    SLOTS = 2 * LONGEST, /* of a set, for each row */
    COLUMNS = 64
};

struct bag {
    float scale;
    int padding_token;
    int32_t *features; /* of sequence s from LONGEST times its first row on, */
    int *counts;       /* by sequence: number of features */
};

static int32_t *features_of(const struct sl_node *n, int s)
{
    const struct bag *a = n->args;
    return a->features + (size_t)n->view->batch->sequences[s].first * LONGEST;
}

/* The table row of a feature: a token and those before it, nearest first, each as 1 + its id in 32
 * bits. Checkpoints depend on this function. */
static int32_t feature_of(const struct sl_node *n, uint64_t before, int32_t token)
{
    uint64_t bits = sl_random_bits(before, (uint64_t)token);
    return (int32_t)(bits % (uint64_t)n->parameter[0]->rows);
}

static const float *table_row(const struct sl_node *n, int32_t feature)
{
    const struct sl_parameter *table = n->parameter[0];
    return table->data + (size_t)feature * (size_t)table->cols;
}

/* Adds a feature to the set; false if it was there already. Empty slots are -1. */
static bool is_new(int32_t *set, uint32_t slots, int32_t feature)
{
    uint32_t mixed = (uint32_t)feature * UINT32_C(0x9E3779B1);
    uint32_t at = (uint32_t)((uint64_t)mixed * slots >> 32);
    while (set[at] >= 0 && set[at] != feature)
        at = at + 1 < slots ? at + 1 : 0;
    bool fresh = set[at] < 0;
    set[at] = feature;
    return fresh;
}

static void collect(const struct sl_node *n, int s, int32_t *set)
{
    const struct bag *a = n->args;
    const struct sl_sequence *sequence = &n->view->batch->sequences[s];
    const int32_t *tokens = n->view->batch->tokens + sequence->first;
    uint32_t slots = (uint32_t)sequence->rows * SLOTS;
    int32_t *features = features_of(n, s);
    int count = 0;
    memset(set, -1, slots * sizeof *set);
    for (int i = 0; i < sequence->rows; i++) {
        if (tokens[i] + 1 == a->padding_token)
            continue;
        uint64_t before = 0;
        for (int back = 0; back < LONGEST && back <= i; back++) {
            if (back > 0)
                before = before << 32 | (1 + (uint64_t)tokens[i - back]);
            features[count] = feature_of(n, before, tokens[i]);
            __builtin_prefetch(table_row(n, features[count]));
            count += is_new(set, slots, features[count]);
        }
    }
    a->counts[s] = count;
}

struct ngram_logits_ctx {
    const struct sl_node *n;
    int32_t *sets;
};

static void forward_sequences(void *ctx, int first, int last, int worker)
{
    const struct ngram_logits_ctx *p = ctx;
    const struct sl_node *n = p->n;
    const struct bag *a = n->args;
    (void)worker;
    for (int s = first; s < last; s++) {
        collect(n, s, p->sets + (size_t)n->view->batch->sequences[s].first * SLOTS);
        const int32_t *features = features_of(n, s);
        float *y = sl_row(n->out, s);
        memcpy(y, sl_row(n->in[X], s), (size_t)n->out->cols * sizeof *y);
        for (int i = 0; i < a->counts[s]; i++) {
            const float *row = table_row(n, features[i]);
            for (int c = 0; c + 1 < n->out->cols; c++)
                y[1 + c] += a->scale * row[c];
        }
    }
}

static size_t ngram_logits_scratch(const struct sl_node *n, bool backward)
{
    return backward ? 0 : (size_t)n->view->batch->rows * SLOTS * sizeof(int32_t);
}

static void ngram_logits_forward(const struct sl_node *n)
{
    struct ngram_logits_ctx p = {n, sl_tape_scratch(n, ngram_logits_scratch(n, false))};
    sl_parallel_for(n->tape->pool, n->out->rows, 1, forward_sequences, &p);
}

/* Several texts may have the same feature, so threads divide the columns: each sums all texts in
 * order. */
static void backward_columns(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct bag *a = n->args;
    const struct sl_parameter *table = n->parameter[0];
    (void)worker;
    for (int s = 0; s < n->out->rows; s++) {
        const float *dy = sl_grad_row(n->out, s) + 1;
        const int32_t *features = features_of(n, s);
        for (int i = 0; i < a->counts[s]; i++) {
            float *row = table->grad + (size_t)features[i] * (size_t)table->cols;
            for (int c = first; c < last; c++)
                row[c] += a->scale * dy[c];
        }
    }
}

static void ngram_logits_backward(const struct sl_node *n)
{
    sl_node_parallel(n, n->parameter[0]->cols, COLUMNS, backward_columns);
    for (int s = 0; s < n->out->rows && n->in[X]->grad != n->out->grad; s++)
        n->tape->kernels->axpy(sl_grad_row(n->in[X], s), 1.0f, sl_grad_row(n->out, s),
                               n->out->cols);
}

static const struct sl_op bag = {.name = "ngram_logits",
                                 .scratch = ngram_logits_scratch,
                                 .forward = ngram_logits_forward,
                                 .backward = ngram_logits_backward,
                                 .passes = 1 + X};

struct sl_tensor *sl_add_ngram_logits(struct sl_tape *t, struct sl_tensor *x,
                                      struct sl_ngram_logits_args args)
{
    const struct sl_batch *batch = t->view->batch;
    assert(x->rows == batch->count);
    assert(x->cols == 1 + args.table->cols);
    struct bag *a = sl_tape_struct(t, 1, sizeof *a);
    *a = (struct bag){.scale = args.scale, .padding_token = args.padding_token};
    a->features = sl_tape_take(t, (size_t)batch->rows * LONGEST, sizeof *a->features);
    a->counts = sl_tape_take(t, (size_t)batch->count, sizeof *a->counts);
    return sl_tape_run(t, (struct sl_node){.op = &bag,
                                           .out = sl_tensor_take(t, x->rows, x->cols),
                                           .in = {x},
                                           .parameter = {args.table},
                                           .args = a});
}
