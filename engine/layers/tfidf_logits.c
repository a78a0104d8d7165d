/* tfidf_logits.c - y_s = x_s + bias + sum over the n-grams f of text s: v_f weights_f, with v = u /
 * |u| and u_f = (1 + log tf_f) idf_f; the gradient is scattered. v of words and of characters are
 * normalized separately. */
#include "layers/bag_of_words.h"

#include <string.h>

enum { X };

enum { WEIGHTS, BIAS };

enum { COLUMNS = 64 };

/* The n-grams that count, and v_f of each. Those of sequence s are from per_token() times its first
 * row on. */
struct tfidf {
    const struct sl_bag_of_words *m;
    int32_t *rows;
    float *values;
    int *counts; /* by sequence */
};

/* Memory of a sequence while its n-grams are collected. */
struct scratch {
    uint64_t *hashes;
    int32_t *slots;
};

/* Most n-grams of a token. */
static int per_token(const struct sl_bag_of_words *m)
{
    return m->order + (m->spellings ? SL_SPELLING_CHARACTERS : 0);
}

static size_t first_of(const struct sl_node *n, int s)
{
    const struct tfidf *a = n->args;
    return (size_t)n->view->batch->sequences[s].first * (size_t)per_token(a->m);
}

/* Adds the n-grams of one kind from `first` on; returns how many there are. */
static int collect_kind(const struct tfidf *a, const struct scratch *scratch, int ngrams,
                        size_t first)
{
    struct sl_hash_index rows = sl_hash_index_in(scratch->hashes, scratch->slots, ngrams);
    float *values = a->values + first;
    sl_ngram_values(a->m, scratch->hashes, ngrams, &rows, values, values);
    for (int i = 0; i < rows.count; i++)
        a->rows[first + (size_t)i] = (int32_t)rows.keys[i];
    return rows.count;
}

static void collect(const struct sl_node *n, int s, const struct scratch *scratch)
{
    const struct tfidf *a = n->args;
    const struct sl_sequence *sequence = &n->view->batch->sequences[s];
    const int32_t *tokens = n->view->batch->tokens + sequence->first;
    const size_t first = first_of(n, s);
    int words, ngrams = sl_ngram_hashes(a->m->roles, a->m->order, tokens, sequence->rows,
                                        scratch->hashes, &words);
    int count = collect_kind(a, scratch, ngrams, first);
    if (a->m->spellings) {
        ngrams = sl_character_hashes(a->m, tokens, sequence->rows, scratch->hashes);
        count += collect_kind(a, scratch, ngrams, first + (size_t)count);
    }
    a->counts[s] = count;
}

static void forward_sequence(const struct sl_node *n, int s)
{
    const struct tfidf *a = n->args;
    const size_t begin = first_of(n, s), end = begin + (size_t)a->counts[s];
    const int classes = n->out->cols;
    float *y = sl_row(n->out, s);
    if (n->in[X])
        memcpy(y, sl_row(n->in[X], s), (size_t)classes * sizeof *y);
    else
        memset(y, 0, (size_t)classes * sizeof *y);
    for (int c = 0; c < classes; c++)
        y[c] += a->m->bias->data[c];
    for (size_t i = begin; i < end; i++) {
        const float *row = a->m->ngram_weights->data + (size_t)a->rows[i] * (size_t)classes;
        for (int c = 0; c < classes; c++)
            y[c] += a->values[i] * row[c];
    }
}

/* A sequence's part of the op's scratch memory: hashes, then slots. */
struct forward {
    const struct sl_node *n;
    uint64_t *hashes;
    int32_t *slots;
};

static void forward_sequences(void *ctx, int first, int last, int worker)
{
    const struct forward *f = ctx;
    const struct tfidf *a = f->n->args;
    (void)worker;
    for (int s = first; s < last; s++) {
        const size_t before = first_of(f->n, s);
        const struct scratch scratch = {f->hashes + before, f->slots + 2 * before};
        a->counts[s] = 0;
        if (a->m->keys)
            collect(f->n, s, &scratch);
        forward_sequence(f->n, s);
    }
}

static size_t ngrams_max(const struct sl_node *n)
{
    const struct tfidf *a = n->args;
    return (size_t)n->view->batch->rows * (size_t)per_token(a->m);
}

static size_t tfidf_scratch(const struct sl_node *n, bool backward)
{
    return backward ? 0 : ngrams_max(n) * (sizeof(uint64_t) + 2 * sizeof(int32_t));
}

static void tfidf_forward(const struct sl_node *n)
{
    struct forward f = {.n = n, .hashes = sl_tape_scratch(n, tfidf_scratch(n, false))};
    f.slots = (int32_t *)(f.hashes + ngrams_max(n));
    sl_parallel_for(n->tape->pool, n->out->rows, 1, forward_sequences, &f);
}

/* Several texts may have the same n-gram, so threads divide the columns: each sums all texts in
 * order. */
static void backward_columns(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct tfidf *a = n->args;
    (void)worker;
    for (int s = 0; s < n->out->rows; s++) {
        const float *dy = sl_grad_row(n->out, s);
        const size_t begin = first_of(n, s), end = begin + (size_t)a->counts[s];
        for (int c = first; c < last; c++)
            a->m->bias->grad[c] += dy[c];
        for (size_t i = begin; i < end; i++) {
            float *row = a->m->ngram_weights->grad + (size_t)a->rows[i] * (size_t)n->out->cols;
            for (int c = first; c < last; c++)
                row[c] += a->values[i] * dy[c];
        }
    }
}

/* x has no other use, so its gradient holds nothing yet. */
static void tfidf_backward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->cols, COLUMNS, backward_columns);
    if (!n->in[X])
        return;
    for (int s = 0; s < n->out->rows; s++)
        n->tape->kernels->scale(sl_grad_row(n->in[X], s), 1.0f, sl_grad_row(n->out, s),
                                n->out->cols);
}

static const struct sl_op added = {.name = "tfidf_logits",
                                   .scratch = tfidf_scratch,
                                   .forward = tfidf_forward,
                                   .backward = tfidf_backward};

struct sl_tensor *sl_add_tfidf_logits(struct sl_tape *t, struct sl_tensor *x,
                                      const struct sl_bag_of_words *m)
{
    const struct sl_batch *batch = t->view->batch;
    struct tfidf *a = sl_tape_struct(t, 1, sizeof *a);
    a->m = m;
    const size_t ngrams = (size_t)batch->rows * (size_t)per_token(m);
    a->rows = sl_tape_take(t, ngrams, sizeof *a->rows);
    a->values = sl_tape_take(t, ngrams, sizeof *a->values);
    a->counts = sl_tape_take(t, (size_t)batch->count, sizeof *a->counts);
    return sl_tape_run(t, (struct sl_node){.op = &added,
                                           .out = sl_tensor_take(t, batch->count, m->bias->cols),
                                           .in = {x},
                                           .parameter = {m->ngram_weights, m->bias},
                                           .args = a});
}
