/* pooled_vectors.c - means of the vectors of a text's tokens, without gradients: the vectors are
 * not trained.
 *
 * Of a classifier, for each view, and divided by its length:
 *     v = sum of w(t) E[t]                                    over the different tokens of the text
 * A word counts once, however often it occurs: in long texts a few words would outweigh the others.
 *
 * Of a base, as an embedding, divided by the sum of the factors of E:
 *     v = sum of (1 + log(occurrences of t)) w(t) E[t]        over the different tokens of the text
 * with w of the second view, but 1e-6 for punctuation, so that a text of nothing else has a vector.
 * Arora et al. 2017, without removing a direction that texts have in common, and with the counts of
 * TF-IDF. */
#include "layers/bag_of_words.h"

#include <math.h>
#include <string.h>

static const float punctuation = 1e-6f;

/* The different tokens of a text in order of first occurrence, and how often each occurs. */
struct distinct {
    struct sl_hash_index tokens;
    float times[SL_BAG_TOKENS_MAX];
    uint64_t keys[SL_BAG_TOKENS_MAX];
    int32_t slots[2 * SL_BAG_TOKENS_MAX];
};

static void find_distinct(struct distinct *d, const int32_t *tokens, int count)
{
    assert(count <= SL_BAG_TOKENS_MAX);
    d->tokens = sl_hash_index_in(d->keys, d->slots, count);
    for (int i = 0; i < count; i++)
        sl_count(&d->tokens, tokens[i], d->times);
}

static const float *vector_of(const struct sl_bag_of_words *m, int32_t token)
{
    return m->vectors->data + (size_t)token * (size_t)m->vectors->cols;
}

static void normalize(const struct sl_kernels *k, float *v, int width)
{
    float squares = k->dot(v, v, width);
    if (squares > 1e-20f)
        k->scale(v, 1.0f / sqrtf(squares), v, width);
}

void sl_pool_tokens(const struct sl_kernels *k, const struct sl_bag_of_words *m,
                    const int32_t *tokens, int count, float *out)
{
    struct distinct d;
    const int width = m->vectors->cols;
    find_distinct(&d, tokens, count);
    memset(out, 0, (size_t)(SL_BAG_VIEWS * width) * sizeof *out);
    for (int view = 0; view < SL_BAG_VIEWS; view++, out += width) {
        for (int i = 0; i < d.tokens.count; i++) {
            const int32_t token = (int32_t)d.keys[i];
            const float weight = sl_token_weight(m, view, token);
            if (weight > 0.0f)
                k->axpy(out, weight, vector_of(m, token), width);
        }
        normalize(k, out, width);
    }
}

static float weight_in_embedding(const struct sl_bag_of_words *m, int32_t token)
{
    const float weight = sl_token_weight(m, SL_BAG_VIEWS - 1, token);
    return weight > 0.0f && sl_token_role(m->roles, token) == SL_TOKEN_SKIPPED ? punctuation
                                                                               : weight;
}

void sl_embed_tokens(const struct sl_kernels *k, const struct sl_bag_of_words *m,
                     const int32_t *tokens, int count, float *out)
{
    struct distinct d;
    const int width = m->embedding_width;
    float total = 0.0f;
    find_distinct(&d, tokens, count);
    memset(out, 0, (size_t)width * sizeof *out);
    for (int i = 0; i < d.tokens.count; i++) {
        const int32_t token = (int32_t)d.keys[i];
        const float weight = sl_tfidf(d.times[i], weight_in_embedding(m, token));
        total += weight;
        k->axpy(out, weight, vector_of(m, token), width);
    }
    if (total > 0.0f)
        k->scale(out, 1.0f / total, out, width);
}

/* ---- the op ---------------------------------------------------------------------------------- */

struct pooling {
    const struct sl_bag_of_words *m;
    sl_pool_function *pool;
};

static void forward_sequence(const struct sl_node *n, int s)
{
    const struct pooling *a = n->args;
    const struct sl_batch *batch = n->view->batch;
    a->pool(n->tape->kernels, a->m, batch->tokens + batch->sequences[s].first,
            batch->sequences[s].rows, sl_row(n->out, s));
}

static const struct sl_op pooled = {.name = "pooled_vectors",
                                    .forward_row = forward_sequence,
                                    .grain = 1};

struct sl_tensor *sl_text_vectors(struct sl_tape *t, const struct sl_bag_of_words *m,
                                  sl_pool_function *pool, int width)
{
    struct pooling *a = sl_tape_struct(t, 1, sizeof *a);
    struct sl_tensor *out = sl_tensor_take(t, t->view->batch->count, width);
    *a = (struct pooling){m, pool};
    out->needs_grad = false;
    return sl_tape_run(t, (struct sl_node){.op = &pooled, .out = out, .args = a});
}
