/* pooled_vectors.c - weighted means of the vectors of a text's words, each of length 1. A word
 * counts once, however often it occurs: in long texts a few words would outweigh the others. The
 * vectors are not trained, so there is no gradient. */
#include "layers/bag_of_words.h"

#include <math.h>
#include <string.h>

enum { VECTORS, WEIGHTS };

/* Of a text: the longest context, and a hash table that is never more than half full. */
enum { TOKENS_MAX = 8192, SLOTS_MAX = 2 * TOKENS_MAX };

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

/* The different tokens in order of their first occurrence; returns how many there are. */
static int list_distinct(const struct text *text, int32_t *distinct)
{
    int32_t slots[SLOTS_MAX];
    uint32_t size = 2;
    int count = 0;
    assert(text->count <= TOKENS_MAX);
    while (size < 2 * (uint32_t)text->count)
        size *= 2;
    memset(slots, -1, size * sizeof *slots);
    for (int i = 0; i < text->count; i++) {
        const int32_t token = text->tokens[i];
        uint32_t at = (uint32_t)token * UINT32_C(0x9E3779B1) & (size - 1);
        while (slots[at] >= 0 && slots[at] != token)
            at = (at + 1) & (size - 1);
        if (slots[at] < 0)
            distinct[count++] = slots[at] = token;
    }
    return count;
}

static void pool(const struct text *text, float *out)
{
    int32_t distinct[TOKENS_MAX];
    const int count = list_distinct(text, distinct);
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
