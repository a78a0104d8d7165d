/* output_head.c - output heads: logits of tokens or of a text's class, or losses of pretraining. */
#include "layers/layers.h"

const char *const sl_pooling_names[] = {
    [SL_POOLING_MEAN] = "mean",
    [SL_POOLING_FIRST] = "first",
    [SL_POOLING_LAST] = "last",
    NULL,
};

struct sl_output_head sl_output_head_build(struct sl_builder *b, struct sl_output_head_shape shape)
{
    int width = shape.embedding.tokens->cols;
    struct sl_output_head head = {.embedding = shape.embedding, .pooling = shape.pooling};
    if (!shape.without_norm)
        head.norm = sl_norm_build(b, "final_norm", width, (struct sl_norm_shape){0});
    if (shape.pretrains) {
        head.transform =
            sl_linear_build(b, "pretraining.transform",
                            (struct sl_linear_shape){.outs = width, .ins = width, .bias = true});
        head.detect = sl_linear_build(
            b, "pretraining.detect",
            (struct sl_linear_shape){.outs = 2, .ins = width, .bias = true, .bias_zero = true});
    }
    if (shape.classes > 0)
        head.classify = sl_linear_build(
            b, "classifier",
            (struct sl_linear_shape){.outs = shape.classes, .ins = width, .bias = true});
    return head;
}

static struct sl_tensor *normed(struct sl_tape *t, const struct sl_output_head *head,
                                struct sl_tensor *h)
{
    return head->norm.weight ? sl_norm_apply(t, &head->norm, h) : h;
}

const struct sl_rows *sl_end_rows(struct sl_tape *t, enum sl_pooling pooling)
{
    const bool last = pooling == SL_POOLING_LAST;
    struct sl_rows *rows = sl_tape_struct(t, 1, sizeof *rows);
    int32_t *index = sl_tape_struct(t, (size_t)t->view->batch->count, sizeof *index);
    for (int s = 0; s < t->view->batch->count; s++) {
        const struct sl_sequence *sequence = &t->view->batch->sequences[s];
        index[s] = sequence->first + (last ? sequence->rows - 1 : 0);
    }
    *rows = (struct sl_rows){index, t->view->batch->count};
    return rows;
}

struct sl_tensor *sl_pool_sequences(struct sl_tape *t, struct sl_tensor *x, enum sl_pooling pooling)
{
    if (pooling == SL_POOLING_MEAN)
        return sl_segment_mean(t, x, NULL);
    return sl_gather_rows(t, x, sl_end_rows(t, pooling));
}

const struct sl_rows *sl_output_head_rows(struct sl_tape *t, const struct sl_output_head *head)
{
    bool all = t->training || t->policy->dense || head->pooling == SL_POOLING_MEAN;
    if (!head->classify.weight || all)
        return NULL;
    return sl_end_rows(t, head->pooling);
}

static struct sl_tensor *classify(struct sl_tape *t, const struct sl_output_head *head,
                                  struct sl_tensor *h)
{
    /* Rows are independent up to here, so only the needed ones are computed. */
    if (head->pooling != SL_POOLING_MEAN)
        h = normed(t, head, sl_pool_sequences(t, h, head->pooling));
    else
        h = sl_pool_sequences(t, normed(t, head, h), head->pooling);
    return sl_linear_apply(t, &head->classify, h, (struct sl_linear_args){0});
}

static void add_pretraining_losses(struct sl_tape *t, const struct sl_output_head *head,
                                   struct sl_tensor *h)
{
    const struct sl_corruption *c = t->view->batch->corruption;
    h = sl_linear_apply(t, &head->transform, normed(t, head, h),
                        (struct sl_linear_args){.activation = SL_GELU, .operand = true});
    if (c->masked->count > 0)
        sl_cross_entropy(
            t, sl_embedding_logits(t, &head->embedding, sl_gather_rows(t, h, c->masked)),
            (struct sl_cross_entropy_args){.targets = c->targets, .weight = c->masked_weight});
    if (c->replaced_weight > 0.0f)
        sl_cross_entropy(
            t, sl_linear_apply(t, &head->detect, h, (struct sl_linear_args){0}),
            (struct sl_cross_entropy_args){.targets = c->replaced, .weight = c->replaced_weight});
}

struct sl_tensor *sl_output_head_apply(struct sl_tape *t, const struct sl_output_head *head,
                                       struct sl_tensor *h)
{
    if (head->transform.weight && !t->view->batch->corruption)
        return sl_pool_sequences(t, normed(t, head, h), SL_POOLING_MEAN);
    if (head->transform.weight) {
        add_pretraining_losses(t, head, h);
        return NULL;
    }
    if (head->classify.weight)
        return classify(t, head, h);
    h = sl_norm_rows(t, &head->norm, h, t->view->batch->wanted);
    return sl_embedding_logits(t, &head->embedding, h);
}
