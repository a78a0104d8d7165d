/* text_embedding.c - the embedding of a text: a weighted mean of the vectors of its tokens.
 *
 *     w(t) = a / (a + p(t))                       1e-6 for punctuation, 0 for special tokens
 *     v    = sum of (1 + log(occurrences of t)) w(t) E[t]     over the different tokens of the text
 *
 * divided by the sum of the factors of E. a / (a + p) is the base's second view. Arora et al. 2017,
 * without removing a direction that texts have in common, and with the counts of TF-IDF. */
#include "arch/linear/linear_classifier.h"

#include <math.h>
#include <string.h>

/* So that a text of nothing else has a vector. */
static const float punctuation = 1e-6f;

enum { VECTORS, WEIGHTS, ROLES };

static float weight_of(const struct sl_node *n, int32_t token)
{
    const struct sl_parameter *weights = n->parameter[WEIGHTS];
    const float weight =
        weights->data[(size_t)(weights->rows - 1) * (size_t)weights->cols + (size_t)token];
    if (weight > 0.0f && sl_token_role(n->parameter[ROLES], token) == SL_TOKEN_SKIPPED)
        return punctuation;
    return weight;
}

static void pool(const struct sl_node *n, const int32_t *tokens, int count, float *out)
{
    int32_t distinct[SL_BAG_TOKENS_MAX], times[SL_BAG_TOKENS_MAX];
    const struct sl_kernels *k = n->tape->kernels;
    const struct sl_parameter *vectors = n->parameter[VECTORS];
    const int found = sl_distinct_tokens(tokens, count, distinct, times), width = n->out->cols;
    float total = 0.0f;
    memset(out, 0, (size_t)width * sizeof *out);
    for (int i = 0; i < found; i++) {
        const float weight = (1.0f + logf((float)times[i])) * weight_of(n, distinct[i]);
        total += weight;
        k->axpy(out, weight, vectors->data + (size_t)distinct[i] * (size_t)vectors->cols, width);
    }
    if (total > 0.0f)
        k->scale(out, 1.0f / total, out, width);
}

static void forward_sequences(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct sl_batch *batch = n->tape->batch;
    (void)worker;
    for (int s = first; s < last; s++) {
        const struct sl_sequence *sequence = &batch->sequences[s];
        pool(n, batch->tokens + sequence->first, sequence->rows, sl_row(n->out, s));
    }
}

static void embedding_forward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->rows, 1, forward_sequences);
}

static const struct sl_op text_embedding = {.name = "text_embedding", .forward = embedding_forward};

struct sl_tensor *sl_text_embedding(struct sl_tape *t, const struct sl_bag_of_words *m)
{
    struct sl_tensor *out = sl_tensor_take(t, t->batch->count, m->embedding_width);
    out->needs_grad = false;
    return sl_tape_run(t, (struct sl_node){.op = &text_embedding,
                                           .out = out,
                                           .parameter = {m->vectors, m->token_weights, m->roles}});
}
