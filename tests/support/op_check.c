/* op_check.c - the loss is the sum of a weight times each element of the result. */
#include "support/op_check.h"

#include "base/random.h"
#include "support/test.h"

#include <math.h>

float op_weight(int i)
{
    return (float)sl_random_normal(sl_random_key(5, "weights"), (uint64_t)i);
}

static void probe_forward(const struct sl_node *n)
{
    const struct sl_tensor *x = n->in[0];
    float row[2 * COLS + 2 * NARROW * BINS];
    for (int r = 0; r < x->rows; r++) {
        n->tape->kernels->from_operands(row, sl_row_any(x, r), x->cols);
        const float *values = x->type == SL_F32 ? sl_row(x, r) : row;
        for (int c = 0; c < x->cols; c++)
            n->tape->stats.loss += (double)op_weight(r * x->cols + c) * (double)values[c];
    }
}

static void probe_backward(const struct sl_node *n)
{
    for (int i = 0; i < n->in[0]->rows * n->in[0]->cols; i++)
        n->in[0]->grad[i] = op_weight(i) + (n->overwrite[0] ? 0.0f : n->in[0]->grad[i]);
}

static const struct sl_op probe = {.name = "probe",
                                   .forward = probe_forward,
                                   .backward = probe_backward};

static void set_up(struct op_inputs *in, const struct op_case *c)
{
    static const char *const names[] = {"first", "second", "third", "fourth"};
    for (int i = 0; i < LEAVES; i++)
        for (int j = 0; j < c->leaf_rows[i] * c->leaf_cols[i]; j++)
            in->leaves[i][j] =
                (float)sl_random_normal(sl_random_key(1, c->name), (uint64_t)(i * 10000 + j));
    for (int i = 0; i < PARAMETERS; i++) {
        struct sl_parameter *p = &in->parameters[i];
        *p = (struct sl_parameter){.name = names[i],
                                   .data = in->data[i],
                                   .grad = in->grads[i],
                                   .rows = c->parameter_rows[i],
                                   .cols = c->parameter_cols[i],
                                   .product = i < c->products};
        for (int j = 0; j < p->rows * p->cols; j++)
            p->data[j] =
                (float)sl_random_normal(sl_random_key(2, c->name), (uint64_t)(i * 10000 + j));
    }
}

static void pack(const struct sl_kernels *k, struct sl_parameter *p)
{
    if (!p->product)
        return;
    if (!p->packed) {
        p->packed = aligned_alloc(64, (k->pack_bytes(p->cols, p->rows) + 63) / 64 * 64);
        p->packed_back = aligned_alloc(64, (k->pack_bytes(p->rows, p->cols) + 63) / 64 * 64);
    }
    k->pack(p->packed, p->data, SL_F32, (size_t)p->cols, true, p->cols, p->rows, 0, p->rows);
    k->pack(p->packed_back, p->data, SL_F32, (size_t)p->cols, false, p->rows, p->cols, 0, p->cols);
}

static double run(struct sl_tape *t, const struct sl_batch *batch, struct op_inputs *in,
                  const struct op_case *c)
{
    sl_tape_begin(t, batch, true);
    for (int i = 0; i < c->products; i++)
        pack(t->kernels, &in->parameters[i]);
    for (int i = 0; i < LEAVES && c->leaf_rows[i]; i++) {
        in->tensors[i] = sl_tensor_take(t, c->leaf_rows[i], c->leaf_cols[i]);
        memcpy(in->tensors[i]->data, in->leaves[i],
               (size_t)(c->leaf_rows[i] * c->leaf_cols[i]) * sizeof(float));
    }
    struct sl_tensor *out = c->build(t, in);
    if (out)
        (void)sl_tape_run(t, (struct sl_node){.op = &probe, .in = {out}});
    return t->stats.loss + t->stats.aux_loss;
}

struct checked {
    struct sl_tape *t;
    const struct sl_batch *batch;
    struct op_inputs *in;
    const struct op_case *c;
};

/* Every element on its own: two steps and Richardson extrapolation. */
static void check_elements(const struct checked *k, const char *what, float *values,
                           const float *grads, int count)
{
    static const double step = 0.01;
    int compared = 0, checked = 0;
    for (int i = 0; i < count; i += TEST_STEP, checked++) {
        float kept = values[i];
        double slopes[2];
        for (int j = 0; j < 2; j++) {
            double h = step * (j + 1);
            values[i] = (float)((double)kept + h);
            double above = run(k->t, k->batch, k->in, k->c);
            values[i] = (float)((double)kept - h);
            slopes[j] = (above - run(k->t, k->batch, k->in, k->c)) / (2.0 * h);
            values[i] = kept;
        }
        double want = (4.0 * slopes[0] - slopes[1]) / 3.0, have = (double)grads[i];
        /* A kink of ReLU within the step shows as slopes that disagree: nothing to learn there. */
        if (fabs(slopes[0] - slopes[1]) >= 0.02 * (fabs(want) + 0.05))
            continue;
        compared++;
        cr_expect_lt(fabs(want - have), 5e-3 * (fabs(want) + 0.2), "%s, %s[%d]: %g, computed %g",
                     k->c->name, what, i, want, have);
    }
    cr_expect_geq(10 * compared, 9 * checked, "%s, %s: %d of %d compared", k->c->name, what,
                  compared, checked);
}

void op_check(const struct op_case *c, struct sl_engine *engine)
{
    static const int lengths[] = {6, 1, 6, 0};
    struct op_inputs *in = calloc(1, sizeof *in);
    struct sl_tape t;
    struct sl_err err;
    struct fixture_batch f;
    cr_assert(in);
    fixture_batch_init(&f, lengths, 4);
    EXPECT_OK(sl_tape_init(&t, engine->kernels, engine->pool, 1 << 22, &err), err);
    set_up(in, c);
    (void)run(&t, &f.batch, in, c);
    sl_tape_backward(&t);
    struct op_inputs *copy = malloc(sizeof *copy);
    cr_assert(copy);
    *copy = *in;
    struct checked k = {&t, &f.batch, in, c};
    for (int i = 0; i < LEAVES && c->leaf_rows[i]; i++) {
        int count = c->leaf_rows[i] * c->leaf_cols[i];
        float *grads = malloc((size_t)count * sizeof *grads);
        cr_assert(grads);
        (void)run(&t, &f.batch, in, c);
        sl_tape_backward(&t);
        memcpy(grads, in->tensors[i]->grad, (size_t)count * sizeof *grads);
        check_elements(&k, "input", in->leaves[i], grads, count);
        free(grads);
    }
    for (int i = 0; i < PARAMETERS && c->parameter_rows[i]; i++)
        check_elements(&k, in->parameters[i].name, in->data[i], copy->grads[i],
                       c->parameter_rows[i] * c->parameter_cols[i]);
    sl_tape_release(&t);
    for (int i = 0; i < c->products; i++) {
        free(in->parameters[i].packed);
        free(in->parameters[i].packed_back);
    }
    free(in);
    free(copy);
}
