/* pooled_vectors.c - weighted means of the vectors of a text's words, each of length 1. A word
 * counts once, however often it occurs: in long texts a few words would outweigh the others. The
 * vectors are not trained, so there is no gradient. */
#include "arch/linear/bag_of_words.h"

#include <math.h>
#include <string.h>

enum { VECTORS, WEIGHTS };

/* A hash table that is never more than half full. */
enum { SLOTS_MAX = 2 * SL_BAG_TOKENS_MAX };

struct text {
    const struct sl_kernels *k;
    const struct sl_parameter *vectors, *weights;
    const int32_t *tokens;
    int count;
};

static void normalize(const struct sl_kernels *k, float *v, int width)
{
    float squares = k->dot(v, v, width);
    if (squares > 1e-20f)
        k->scale(v, 1.0f / sqrtf(squares), v, width);
}

int sl_distinct_tokens(const int32_t *tokens, int count, int32_t *distinct, int32_t *times)
{
    int16_t slots[SLOTS_MAX]; /* indices into distinct */
    uint32_t size = 2;
    int found = 0;
    assert(count <= SL_BAG_TOKENS_MAX);
    while (size < 2 * (uint32_t)count)
        size *= 2;
    memset(slots, -1, size * sizeof *slots);
    for (int i = 0; i < count; i++) {
        uint32_t at = (uint32_t)tokens[i] * UINT32_C(0x9E3779B1) & (size - 1);
        while (slots[at] >= 0 && distinct[slots[at]] != tokens[i])
            at = (at + 1) & (size - 1);
        if (slots[at] < 0) {
            slots[at] = (int16_t)found;
            distinct[found] = tokens[i];
            times[found++] = 0;
        }
        times[slots[at]]++;
    }
    return found;
}

static void pool(const struct text *text, float *out)
{
    int32_t distinct[SL_BAG_TOKENS_MAX], times[SL_BAG_TOKENS_MAX];
    const int count = sl_distinct_tokens(text->tokens, text->count, distinct, times);
    const int width = text->vectors->cols, vocab = text->weights->cols;
    memset(out, 0, (size_t)(text->weights->rows * width) * sizeof *out);
    for (int view = 0; view < text->weights->rows; view++, out += width) {
        const float *weights = text->weights->data + (size_t)view * (size_t)vocab;
        for (int i = 0; i < count; i++) {
            size_t token = (size_t)distinct[i];
            if (weights[token] > 0.0f)
                text->k->axpy(out, weights[token], text->vectors->data + token * (size_t)width,
                              width);
        }
        normalize(text->k, out, width);
    }
}

void sl_pool_tokens(const struct sl_kernels *k, const struct sl_bag_of_words *m,
                    const int32_t *tokens, int count, float *out)
{
    const struct text text = {k, m->vectors, m->token_weights, tokens, count};
    pool(&text, out);
}

static void forward_sequences(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct sl_batch *batch = n->tape->batch;
    (void)worker;
    for (int s = first; s < last; s++) {
        const struct sl_sequence *sequence = &batch->sequences[s];
        const struct text text = {n->tape->kernels, n->parameter[VECTORS], n->parameter[WEIGHTS],
                                  batch->tokens + sequence->first, sequence->rows};
        pool(&text, sl_row(n->out, s));
    }
}

static void pooled_forward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->rows, 1, forward_sequences);
}

static void pooled_backward(const struct sl_node *n)
{
    (void)n;
}

static const struct sl_op pooled = {.name = "pooled_vectors",
                                    .forward = pooled_forward,
                                    .backward = pooled_backward};

struct sl_tensor *sl_pooled_vectors(struct sl_tape *t, const struct sl_parameter *vectors,
                                    const struct sl_parameter *token_weights)
{
    struct sl_tensor *out = sl_tensor_take(t, t->batch->count, token_weights->rows * vectors->cols);
    out->needs_grad = false;
    return sl_tape_run(
        t, (struct sl_node){.op = &pooled, .out = out, .parameter = {vectors, token_weights}});
}
