/* optimizer.c - AdamW over all parameters, in pieces that no two threads share. */
#include "train/optimizer.h"

#include <math.h>
#include <string.h>

enum {
    PIECE = 16384
}; /* floats: parameter, gradient and moments of one fit the second-level cache */

/* One segment of one parameter. */
struct piece {
    const struct sl_parameter *parameter;
    float *m, *v;
    size_t first;
    int count;
};

static int pieces_of(const struct sl_parameter *p)
{
    return (int)((sl_parameter_floats(p) + PIECE - 1) / PIECE);
}

static int pieces_in(const struct sl_model *model)
{
    int total = 0;
    for (int i = 0; i < model->builder.count; i++)
        total += pieces_of(&model->builder.parameters[i]);
    return total;
}

static struct piece piece_at(const struct sl_optimizer *o, int index)
{
    const struct sl_builder *b = &o->model->builder;
    int i = 0;
    for (; index >= pieces_of(&b->parameters[i]); i++)
        index -= pieces_of(&b->parameters[i]);
    const struct sl_parameter *p = &b->parameters[i];
    size_t first = (size_t)index * PIECE, left = sl_parameter_floats(p) - first;
    return (struct piece){p, o->m[i] + first, o->v[i] + first, first,
                          left < PIECE ? (int)left : PIECE};
}

bool sl_optimizer_init(struct sl_optimizer *o, struct sl_model *model, struct sl_err *err)
{
    const struct sl_builder *b = &model->builder;
    size_t count = (size_t)b->count, bytes = 2 * count * sizeof(float *) + (size_t)2 * SL_ALIGN;
    for (int i = 0; i < b->count; i++)
        bytes += 2 * (sl_parameter_floats(&b->parameters[i]) * sizeof(float) + SL_ALIGN);
    *o = (struct sl_optimizer){.model = model};
    if (!sl_arena_init(&o->arena, bytes, err))
        return sl_wrap(err, "optimiser");
    o->m = sl_arena_take(&o->arena, count, sizeof *o->m);
    o->v = sl_arena_take(&o->arena, count, sizeof *o->v);
    for (int i = 0; i < b->count; i++) {
        size_t floats = sl_parameter_floats(&b->parameters[i]);
        o->m[i] =
            memset(sl_arena_take(&o->arena, floats, sizeof(float)), 0, floats * sizeof(float));
        o->v[i] =
            memset(sl_arena_take(&o->arena, floats, sizeof(float)), 0, floats * sizeof(float));
    }
    return true;
}

void sl_optimizer_release(struct sl_optimizer *o)
{
    sl_arena_release(&o->arena);
}

/* Squares are summed within a piece in fp32, over pieces in double and in order. */
double sl_optimizer_norm(const struct sl_optimizer *o)
{
    double sum = 0.0;
    int count = pieces_in(o->model);
    for (int i = 0; i < count; i++) {
        struct piece p = piece_at(o, i);
        const float *g = p.parameter->grad + p.first;
        sum += (double)o->model->engine->kernels->dot(g, g, p.count);
    }
    return sqrt(sum);
}

struct update {
    const struct sl_optimizer *o;
    const struct sl_hyperparameters *hyperparameters;
    struct sl_adamw with, without; /* decay */
};

static void update_pieces(void *ctx, int first, int last, int worker)
{
    const struct update *u = ctx;
    (void)worker;
    for (int i = first; i < last; i++) {
        struct piece p = piece_at(u->o, i);
        bool decays = p.parameter->decays || u->hyperparameters->weight_decay_all;
        u->o->model->engine->kernels->adamw(p.parameter->data + p.first, p.m, p.v,
                                            p.parameter->grad + p.first,
                                            decays ? &u->with : &u->without, p.count);
    }
}

void sl_optimizer_step(const struct sl_optimizer *o,
                       const struct sl_hyperparameters *hyperparameters, int step, double norm)
{
    double rate = sl_learning_rate_at(hyperparameters, step), t = step + 1.0;
    double scale = hyperparameters->max_grad_norm > 0.0f
                       ? (double)hyperparameters->max_grad_norm / (norm + 1e-6)
                       : 1.0;
    double correction1 =
        hyperparameters->bias_correction ? 1.0 - pow((double)hyperparameters->beta1, t) : 1.0;
    double correction2 =
        hyperparameters->bias_correction ? 1.0 - pow((double)hyperparameters->beta2, t) : 1.0;
    struct sl_adamw without = {.grad_scale = scale < 1.0 ? (float)scale : 1.0f,
                               .b1 = hyperparameters->beta1,
                               .b2 = hyperparameters->beta2,
                               .rate = (float)(rate / correction1),
                               .correction2 = (float)correction2,
                               .epsilon = hyperparameters->adam_eps};
    struct update u = {
        .o = o, .hyperparameters = hyperparameters, .with = without, .without = without};
    u.with.decay = (float)(rate * (double)hyperparameters->weight_decay);
    sl_parallel(o->model->engine->pool, pieces_in(o->model), 1, update_pieces, &u);
    sl_model_update_buffers(o->model);
}
