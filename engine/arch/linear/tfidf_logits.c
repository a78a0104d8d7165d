/* tfidf_logits.c - y_s = x_s + bias + sum over the n-grams f of text s: v_f weights_f, with v = u /
 * |u| and u_f = (1 + log tf_f) idf_f; the gradient is scattered. v of words and of characters are
 * normalized separately. */
#include "arch/linear/bag_of_words.h"

#include <math.h>
#include <string.h>

enum { X };

enum { WEIGHTS, BIAS };

enum { COLUMNS = 64 };

struct feature {
    int32_t row;
    float value; /* number of occurrences, then v_f */
};

struct tfidf {
    const struct sl_bag_of_words *m;
    struct feature *features; /* of sequence s from per_token() times its first row on */
    int *counts;              /* by sequence: number of features */
};

/* Memory of a sequence while its features are collected. */
struct scratch {
    uint64_t *hashes;
    int32_t *slots; /* a hash table of features; -1: empty */
    uint32_t slots_count;
};

/* Most features of a token. */
static int per_token(const struct sl_bag_of_words *m)
{
    return m->order + (m->spellings ? SL_SPELLING_CHARACTERS : 0);
}

static struct feature *features_of(const struct sl_node *n, int s)
{
    const struct tfidf *a = n->args;
    return a->features + (size_t)n->tape->batch->sequences[s].first * (size_t)per_token(a->m);
}

/* Counts an occurrence of a row; returns the number of features. */
static int count_row(const struct scratch *scratch, struct feature *features, int count, int row)
{
    uint32_t mixed = (uint32_t)row * UINT32_C(0x9E3779B1);
    uint32_t at = (uint32_t)((uint64_t)mixed * scratch->slots_count >> 32);
    while (scratch->slots[at] >= 0 && features[scratch->slots[at]].row != row)
        at = at + 1 < scratch->slots_count ? at + 1 : 0;
    if (scratch->slots[at] >= 0) {
        features[scratch->slots[at]].value += 1.0f;
        return count;
    }
    scratch->slots[at] = count;
    features[count] = (struct feature){.row = row, .value = 1.0f};
    return count + 1;
}

static void weigh(const struct sl_bag_of_words *m, struct feature *features, int count)
{
    float squares = 0.0f;
    for (int i = 0; i < count; i++) {
        features[i].value = (1.0f + logf(features[i].value)) * m->idf->data[features[i].row];
        squares += features[i].value * features[i].value;
    }
    const float by = squares > 0.0f ? 1.0f / sqrtf(squares) : 0.0f;
    for (int i = 0; i < count; i++)
        features[i].value *= by;
}

/* Sets the features of n-grams of one kind; returns how many there are. */
static int collect_kind(const struct sl_bag_of_words *m, const struct scratch *scratch, int ngrams,
                        struct feature *features)
{
    int count = 0;
    memset(scratch->slots, -1, scratch->slots_count * sizeof *scratch->slots);
    for (int i = 0; i < ngrams; i++) {
        int row = sl_ngram_row(m->keys, scratch->hashes[i]);
        if (row >= 0 && m->idf->data[row] > 0.0f)
            count = count_row(scratch, features, count, row);
    }
    weigh(m, features, count);
    return count;
}

static void collect(const struct sl_node *n, int s, const struct scratch *scratch)
{
    const struct tfidf *a = n->args;
    const struct sl_sequence *sequence = &n->tape->batch->sequences[s];
    const int32_t *tokens = n->tape->batch->tokens + sequence->first;
    struct feature *features = features_of(n, s);
    int words, ngrams = sl_ngram_hashes(a->m->roles, a->m->order, tokens, sequence->rows,
                                        scratch->hashes, &words);
    int count = collect_kind(a->m, scratch, ngrams, features);
    if (a->m->spellings) {
        ngrams = sl_character_hashes(a->m, tokens, sequence->rows, scratch->hashes);
        count += collect_kind(a->m, scratch, ngrams, features + count);
    }
    a->counts[s] = count;
}

static void forward_sequence(const struct sl_node *n, int s)
{
    const struct tfidf *a = n->args;
    const struct feature *features = features_of(n, s);
    const int classes = n->out->cols;
    float *y = sl_row(n->out, s);
    if (n->in[X])
        memcpy(y, sl_row(n->in[X], s), (size_t)classes * sizeof *y);
    else
        memset(y, 0, (size_t)classes * sizeof *y);
    for (int c = 0; c < classes; c++)
        y[c] += a->m->bias->data[c];
    for (int i = 0; i < a->counts[s]; i++) {
        const float *row = a->m->ngram_weights->data + (size_t)features[i].row * (size_t)classes;
        for (int c = 0; c < classes; c++)
            y[c] += features[i].value * row[c];
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
        const struct sl_sequence *sequence = &f->n->tape->batch->sequences[s];
        size_t before = (size_t)sequence->first * (size_t)per_token(a->m);
        const struct scratch scratch = {.hashes = f->hashes + before,
                                        .slots = f->slots + 2 * before,
                                        .slots_count = 2 * (uint32_t)sequence->rows *
                                                       (uint32_t)per_token(a->m)};
        a->counts[s] = 0;
        if (a->m->keys)
            collect(f->n, s, &scratch);
        forward_sequence(f->n, s);
    }
}

static size_t ngrams_max(const struct sl_node *n)
{
    const struct tfidf *a = n->args;
    return (size_t)n->tape->batch->rows * (size_t)per_token(a->m);
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
        const struct feature *features = features_of(n, s);
        for (int c = first; c < last; c++)
            a->m->bias->grad[c] += dy[c];
        for (int i = 0; i < a->counts[s]; i++) {
            float *row = a->m->ngram_weights->grad + (size_t)features[i].row * (size_t)n->out->cols;
            for (int c = first; c < last; c++)
                row[c] += features[i].value * dy[c];
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
    const struct sl_batch *batch = t->batch;
    struct tfidf *a = sl_tape_struct(t, 1, sizeof *a);
    a->m = m;
    a->features = sl_tape_take(t, (size_t)batch->rows * (size_t)per_token(m), sizeof *a->features);
    a->counts = sl_tape_take(t, (size_t)batch->count, sizeof *a->counts);
    return sl_tape_run(t, (struct sl_node){.op = &added,
                                           .out = sl_tensor_take(t, batch->count, m->bias->cols),
                                           .in = {x},
                                           .parameter = {m->ngram_weights, m->bias},
                                           .args = a});
}
