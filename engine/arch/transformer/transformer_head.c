/* transformer_head.c - outputs of published transformers. */
#include "arch/transformer/transformer_head.h"

const char *const sl_transformer_activation_names[] = {"gelu", "gelu_tanh", "relu",
                                                       "silu", "tanh",      NULL};

const enum sl_activation sl_transformer_activations[] = {SL_GELU, SL_GELU_TANH, SL_RELU, SL_SILU,
                                                         SL_TANH};

/* -- build -------------------------------------------------------------------------------- */

static bool predicts_masked_tokens(const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    return c->task == SL_TASK_PRETRAINING && own->masked_language_model;
}

bool sl_transformer_head_reads_tokens(const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    return (c->task == SL_TASK_COMPLETION && own->tied_output) || predicts_masked_tokens(c);
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
    if (predicts_masked_tokens(c)) {
        dense_build(b, &head, c, embedding->tokens->cols, &norm);
        head.output_bias =
            sl_parameter_add(b, "head.bias", SL_ROLE_VECTOR, 1, c->vocab, sl_constant(0.0f));
    }
    if (sl_task_classifies(c->task))
        head.output = sl_linear_build(b, "classifier",
                                      (struct sl_linear_shape){.outs = c->classes,
                                                               .ins = c->width,
                                                               .bias = own->output_layer_bias});
    if (c->task == SL_TASK_COMPLETION && !own->tied_output)
        head.output = sl_linear_build(b, "output",
                                      (struct sl_linear_shape){.outs = c->vocab, .ins = c->width});
    return head;
}

/* -- forward ------------------------------------------------------------------------------- */

/* NULL unless this batch is pretrained on. */
static const struct sl_corruption *corruption_of(const struct sl_tape *t,
                                                 const struct transformer_head *head)
{
    return head->task == SL_TASK_PRETRAINING ? t->batch->corruption : NULL;
}

/* Whether every token counts. */
static bool reads_tokens(const struct sl_tape *t, const struct transformer_head *head)
{
    return head->task == SL_TASK_TOKEN_CLASSIFICATION || corruption_of(t, head) ||
           t->batch->output == SL_OUTPUT_TOKENS;
}

const struct sl_rows *sl_transformer_head_rows(struct sl_tape *t,
                                               const struct transformer_head *head)
{
    const bool all = t->training || t->policy->dense || head->pooling == SL_POOLING_MEAN;
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

static void add_masked_loss(struct sl_tape *t, const struct transformer_head *head,
                            const struct sl_norm *final_norm, struct sl_tensor *h)
{
    const struct sl_corruption *c = t->batch->corruption;
    if (c->masked->count == 0 || !head->dense.weight)
        return;
    struct sl_tensor *x = normed(t, final_norm, sl_gather_rows(t, h, c->masked));
    sl_cross_entropy(
        t, token_logits(t, head, dense(t, head, x)),
        (struct sl_cross_entropy_args){.targets = c->targets, .weight = c->masked_weight});
}

/* Of texts or of tokens, in fp32. */
static struct sl_tensor *embeddings(struct sl_tape *t, const struct transformer_head *head,
                                    const struct sl_norm *final_norm, struct sl_tensor *h)
{
    const bool of_tokens = t->batch->output == SL_OUTPUT_TOKENS;
    if (!of_tokens && head->pooling == SL_POOLING_MEAN)
        return pooled(t, head, final_norm, h);
    if (!of_tokens)
        h = sl_pool_sequences(t, h, head->pooling);
    return final_norm->weight ? sl_norm_stream(t, final_norm, h) : h;
}

struct sl_tensor *sl_transformer_head_apply(struct sl_tape *t, const struct transformer_head *head,
                                            const struct sl_norm *final_norm, struct sl_tensor *h)
{
    if (head->task == SL_TASK_COMPLETION)
        return token_logits(t, head,
                            final_norm->weight ? sl_norm_rows(t, final_norm, h, t->batch->wanted)
                                               : sl_gather_rows(t, h, t->batch->wanted));
    if (corruption_of(t, head)) {
        add_masked_loss(t, head, final_norm, h);
        return NULL;
    }
    if (head->task == SL_TASK_PRETRAINING)
        return embeddings(t, head, final_norm, h);
    h = reads_tokens(t, head) ? normed(t, final_norm, h) : pooled(t, head, final_norm, h);
    return sl_linear_apply(t, &head->output, dense(t, head, h), (struct sl_linear_args){0});
}
