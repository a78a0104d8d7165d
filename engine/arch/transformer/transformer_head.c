/* transformer_head.c - outputs of published transformers. */
#include "arch/transformer/transformer_head.h"

#include <math.h>

const char *const sl_transformer_activation_names[] = {"gelu", "gelu_tanh", "relu",
                                                       "silu", "tanh",      NULL};

const enum sl_activation sl_transformer_activations[] = {SL_GELU, SL_GELU_TANH, SL_RELU, SL_SILU,
                                                         SL_TANH};

/* -- build -------------------------------------------------------------------------------- */

bool sl_transformer_predicts_tokens(const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    return c->task == SL_TASK_PRETRAINING && own->masked_language_model;
}

bool sl_transformer_head_reads_tokens(const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    return (c->task == SL_TASK_COMPLETION || sl_transformer_predicts_tokens(c)) && own->tied_output;
}

/* A dense layer to `outs`, and its norm. */
static void dense_build(struct sl_builder *b, struct transformer_head *head,
                        const struct sl_config *c, int outs, const struct sl_norm_shape *norm)
{
    const struct transformer_config *own = sl_config_own(c);
    head->dense = sl_linear_build(
        b, "head.dense",
        (struct sl_linear_shape){.outs = outs, .ins = c->width, .bias = own->head_dense_bias});
    if (norm)
        head->norm = sl_norm_build(b, "head.norm", outs, *norm);
}

int sl_transformer_embedding_size(const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    return own->embedding_dense_2   ? own->embedding_dense_2
           : own->embedding_dense_1 ? own->embedding_dense_1
                                    : c->width;
}

static void embedding_dense_build(struct sl_builder *b, struct transformer_head *head,
                                  const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);

    const struct {
        const char *name;
        int outs;
        bool bias, tanh;
    } layers[TRANSFORMER_DENSE_MAX] = {{"embedding_dense_1", own->embedding_dense_1,
                                        own->embedding_dense_1_bias, own->embedding_dense_1_tanh},
                                       {"embedding_dense_2", own->embedding_dense_2,
                                        own->embedding_dense_2_bias, own->embedding_dense_2_tanh}};

    int ins = c->width;
    for (int i = 0; i < TRANSFORMER_DENSE_MAX && layers[i].outs > 0; i++) {
        head->embedding_dense[i] = sl_linear_build(
            b, layers[i].name,
            (struct sl_linear_shape){.outs = layers[i].outs, .ins = ins, .bias = layers[i].bias});
        head->embedding_activation[i] = layers[i].tanh ? SL_TANH : SL_LINEAR;
        ins = layers[i].outs;
    }
}

struct transformer_head sl_transformer_head_build(struct sl_builder *b, const struct sl_config *c,
                                                  const struct sl_embedding *embedding,
                                                  struct sl_norm_shape norm)
{
    const struct transformer_config *own = sl_config_own(c);
    struct transformer_head head = {.task = c->task,
                                    .pooling = (enum sl_pooling)c->pooling,
                                    .activation = sl_transformer_activations[own->head_activation],
                                    .embedding = *embedding};
    if (sl_task_classifies(c->task) && own->head_dense)
        dense_build(b, &head, c, c->width, own->head_norm ? &norm : NULL);
    const bool predicts = sl_transformer_predicts_tokens(c);
    if (predicts)
        dense_build(b, &head, c, embedding->tokens->cols, &norm);
    if (predicts && own->tied_output)
        head.output_bias =
            sl_parameter_add(b, "head.bias", SL_ROLE_VECTOR, 1, c->vocab, sl_constant(0.0f));
    if (sl_task_classifies(c->task))
        head.output = sl_linear_build(b, "classifier",
                                      (struct sl_linear_shape){.outs = c->classes,
                                                               .ins = c->width,
                                                               .bias = own->output_layer_bias});
    if ((c->task == SL_TASK_COMPLETION || predicts) && !own->tied_output)
        head.output = sl_linear_build(
            b, "output",
            (struct sl_linear_shape){.outs = c->vocab,
                                     .ins = predicts ? embedding->tokens->cols : c->width,
                                     .bias = predicts});
    if (c->task == SL_TASK_PRETRAINING)
        embedding_dense_build(b, &head, c);
    return head;
}

/* -- forward ------------------------------------------------------------------------------- */

/* NULL unless this batch is pretrained on. */
static const struct sl_corruption *corruption_of(const struct sl_tape *t,
                                                 const struct transformer_head *head)
{
    return head->task == SL_TASK_PRETRAINING ? t->view->batch->corruption : NULL;
}

/* Whether every token counts. */
static bool reads_tokens(const struct sl_tape *t, const struct transformer_head *head)
{
    return head->task == SL_TASK_TOKEN_CLASSIFICATION || corruption_of(t, head) ||
           t->view->batch->output == SL_OUTPUT_TOKENS || t->view->batch->output == SL_OUTPUT_SPARSE;
}

const struct sl_rows *sl_transformer_head_rows(struct sl_tape *t,
                                               const struct transformer_head *head)
{
    const bool all = t->training || t->policy->dense || head->pooling == SL_POOLING_MEAN;
    if (t->view->batch->output == SL_OUTPUT_MASKED)
        return t->view->batch->wanted;
    if (head->task == SL_TASK_COMPLETION || reads_tokens(t, head) || all)
        return NULL;
    return sl_end_rows(t, head->pooling);
}

static struct sl_tensor *normed(struct sl_tape *t, const struct sl_norm *norm, struct sl_tensor *x)
{
    return norm->weight ? sl_norm_apply(t, norm, x) : x;
}

/* Rows are independent up to the pooling, so only those that it chooses are normed. */
static struct sl_tensor *pooled(struct sl_tape *t, const struct transformer_head *head,
                                const struct sl_norm *final_norm, struct sl_tensor *h)
{
    if (head->pooling == SL_POOLING_MEAN)
        return sl_pool_sequences(t, normed(t, final_norm, h), head->pooling);
    return normed(t, final_norm, sl_pool_sequences(t, h, head->pooling));
}

/* norm(f(W x + b)) */
static struct sl_tensor *dense(struct sl_tape *t, const struct transformer_head *head,
                               struct sl_tensor *x)
{
    if (!head->dense.weight)
        return x;
    x = sl_linear_apply(
        t, &head->dense, x,
        (struct sl_linear_args){.activation = head->activation, .operand = !head->norm.weight});
    return normed(t, &head->norm, x);
}

static struct sl_tensor *token_logits(struct sl_tape *t, const struct transformer_head *head,
                                      struct sl_tensor *x)
{
    if (head->output.weight)
        return sl_linear_apply(t, &head->output, x, (struct sl_linear_args){0});
    return sl_linear(
        t, x, (struct sl_linear_args){.weight = head->embedding.tokens, .bias = head->output_bias});
}

/* Of the tokens that may stand at these rows; NULL: at all. */
static struct sl_tensor *predictions(struct sl_tape *t, const struct transformer_head *head,
                                     const struct sl_norm *final_norm, struct sl_tensor *h,
                                     const struct sl_rows *rows)
{
    struct sl_tensor *x = normed(t, final_norm, sl_gather_rows(t, h, rows));
    return token_logits(t, head, dense(t, head, x));
}

static void add_masked_loss(struct sl_tape *t, const struct transformer_head *head,
                            const struct sl_norm *final_norm, struct sl_tensor *h)
{
    const struct sl_corruption *c = t->view->batch->corruption;
    if (c->masked->count == 0 || !head->dense.weight)
        return;
    sl_cross_entropy(
        t, predictions(t, head, final_norm, h, c->masked),
        (struct sl_cross_entropy_args){.targets = c->targets, .weight = c->masked_weight});
}

/* The largest logits of rows from `first` on, or 0, into the rows of their sequences. */
static void take_largest(const struct sl_tape *t, const struct sl_tensor *logits, int first,
                         const struct sl_tensor *out)
{
    for (int r = 0; r < logits->rows; r++) {
        const float *x = sl_row(logits, r);
        float *y = sl_row(out, t->view->row_sequence[first + r]);
        for (int i = 0; i < logits->cols; i++)
            y[i] = x[i] > y[i] ? x[i] : y[i];
    }
}

/* The rows from `first` on, at most so many. */
static const struct sl_rows *rows_from(struct sl_tape *t, int first, int most)
{
    struct sl_rows *rows = sl_tape_struct(t, 1, sizeof *rows);
    int32_t *index = sl_tape_struct(t, (size_t)most, sizeof *index);
    const int left = t->view->batch->rows - first;
    *rows = (struct sl_rows){index, left < most ? left : most};
    for (int i = 0; i < rows->count; i++)
        index[i] = first + i;
    return rows;
}

/* Serving only. A few rows at a time: the logits of all would take far more memory than the model's
 * other values. */
static struct sl_tensor *sparse_embeddings(struct sl_tape *t, const struct transformer_head *head,
                                           const struct sl_norm *final_norm, struct sl_tensor *h)
{
    enum { ROWS = 64 };

    struct sl_tensor *out = sl_tensor_take(t, t->view->batch->count, head->embedding.tokens->rows);
    const size_t floats = sl_size_product((size_t)out->rows, (size_t)out->cols);
    const bool dry = sl_tape_is_dry(t);
    float *values = out->data;
    if (!dry)
        memset(values, 0, floats * sizeof *values);
    for (int first = 0; first < h->rows; first += ROWS) {
        const size_t mark = sl_tape_mark(t);
        const struct sl_tensor *logits =
            predictions(t, head, final_norm, h, rows_from(t, first, ROWS));
        if (!dry)
            take_largest(t, logits, first, out);
        sl_tape_forget(t, mark);
    }
    for (size_t i = 0; i < floats && !dry; i++)
        values[i] = values[i] > 0.0f ? log1pf(values[i]) : 0.0f;
    return out;
}

/* Of texts, before the dense layers, or of tokens, in fp32. */
static struct sl_tensor *vectors(struct sl_tape *t, const struct transformer_head *head,
                                 const struct sl_norm *final_norm, struct sl_tensor *h)
{
    const bool of_tokens = t->view->batch->output == SL_OUTPUT_TOKENS;
    if (!of_tokens && head->pooling == SL_POOLING_MEAN)
        return pooled(t, head, final_norm, h);
    if (!of_tokens)
        h = sl_pool_sequences(t, h, head->pooling);
    return final_norm->weight ? sl_norm_stream(t, final_norm, h) : h;
}

static struct sl_tensor *embeddings(struct sl_tape *t, const struct transformer_head *head,
                                    const struct sl_norm *final_norm, struct sl_tensor *h)
{
    h = vectors(t, head, final_norm, h);
    if (t->view->batch->output == SL_OUTPUT_TOKENS)
        return h;
    for (int i = 0; i < TRANSFORMER_DENSE_MAX && head->embedding_dense[i].weight; i++)
        h = sl_linear_apply(t, &head->embedding_dense[i], h,
                            (struct sl_linear_args){.activation = head->embedding_activation[i]});
    return h;
}

struct sl_tensor *sl_transformer_head_apply(struct sl_tape *t, const struct transformer_head *head,
                                            const struct sl_norm *final_norm, struct sl_tensor *h)
{
    if (head->task == SL_TASK_COMPLETION)
        return token_logits(t, head,
                            final_norm->weight
                                ? sl_norm_rows(t, final_norm, h, t->view->batch->wanted)
                                : sl_gather_rows(t, h, t->view->batch->wanted));
    if (corruption_of(t, head)) {
        add_masked_loss(t, head, final_norm, h);
        return NULL;
    }
    if (t->view->batch->output == SL_OUTPUT_MASKED)
        return predictions(t, head, final_norm, h, t->view->batch->wanted);
    if (t->view->batch->output == SL_OUTPUT_SPARSE)
        return sparse_embeddings(t, head, final_norm, h);
    if (head->task == SL_TASK_PRETRAINING)
        return embeddings(t, head, final_norm, h);
    h = reads_tokens(t, head) ? normed(t, final_norm, h) : pooled(t, head, final_norm, h);
    return sl_linear_apply(t, &head->output, dense(t, head, h), (struct sl_linear_args){0});
}
