/* test_attention_ops.c - gradients of attention in its uses, and of rotary positions. */
#include "support/op_check.h"
#include "support/test.h"

static const int32_t chosen[] = {0, 2, 3, 7, 12};
static const struct sl_rows some = {chosen, 5};

static struct sl_tensor *use_attend(struct sl_tape *t, struct op_inputs *in)
{
    return sl_attention(t, in->tensors[0], in->tensors[1],
                        (struct sl_attention_args){.heads = 4, .dropout = 0.2f});
}

static struct sl_tensor *use_attend_rows(struct sl_tape *t, struct op_inputs *in)
{
    return sl_attention(t, in->tensors[0], in->tensors[1],
                        (struct sl_attention_args){.heads = 2, .rows = &some});
}

static struct sl_tensor *use_attend_shared(struct sl_tape *t, struct op_inputs *in)
{
    return sl_attention(t, in->tensors[0], in->tensors[1],
                        (struct sl_attention_args){.heads = 4, .key_heads = 2, .dropout = 0.2f});
}

static struct sl_tensor *use_attend_window(struct sl_tape *t, struct op_inputs *in)
{
    return sl_attention(t, in->tensors[0], in->tensors[1],
                        (struct sl_attention_args){.heads = 2, .window = 2, .bidirectional = true});
}

/* Angles of no meaning: any table must do. */
static struct sl_tensor *use_rotary(struct sl_tape *t, struct op_inputs *in)
{
    struct sl_parameter *table = sl_tape_struct(t, 1, sizeof *table);
    *table = (struct sl_parameter){.rows = FIXTURE_CONTEXT, .cols = NARROW};
    table->data = sl_tape_struct(t, (size_t)FIXTURE_CONTEXT * NARROW, sizeof *table->data);
    for (int i = 0; i < FIXTURE_CONTEXT * NARROW; i++)
        table->data[i] = op_weight(i);
    return sl_rotary(t, in->tensors[0],
                     (struct sl_rotary_args){.table = table, .heads = 2, .head_dim = NARROW + 1});
}

static const struct op_case cases[] = {
    {"attend", {ROWS, ROWS}, {COLS, 2 * COLS}, {0}, {0}, 0, use_attend},
    {"attend, some queries", {5, ROWS}, {COLS, 2 * COLS}, {0}, {0}, 0, use_attend_rows},
    {"attend, shared keys", {ROWS, ROWS}, {COLS, COLS}, {0}, {0}, 0, use_attend_shared},
    {"attend, window", {ROWS, ROWS}, {COLS, 2 * COLS}, {0}, {0}, 0, use_attend_window},
    {"rotary", {ROWS}, {COLS}, {0}, {0}, 0, use_rotary},
};

Test(attention_ops, gradients_agree_with_finite_differences)
{
    struct sl_engine *engine = fixture_exact_engine(1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        op_check(&cases[i], engine);
    sl_engine_destroy(engine);
}
