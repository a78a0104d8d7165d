/* optimizer.c - AdamW over all parameters, in pieces that no two threads share. */
#include "train/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 16384
}; /* floats: parameter, gradient and moments of one fit the second-level cache */

/* One segment of one parameter. */
struct piece {
    const struct sl_parameter *parameter;
    float *m, *v;
    size_t first;
    int count, index;
};

/* Floats that are trained. */
static size_t trained_floats(const struct sl_parameter *p)
{
    return p->frozen ? 0 : sl_parameter_floats(p);
}

static int pieces_of(const struct sl_parameter *p)
{
    return (int)((trained_floats(p) + PIECE - 1) / PIECE);
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
    return (struct piece){
        p, o->m[i] + first, o->v[i] + first, first, left < PIECE ? (int)left : PIECE, i};
}

/* Layers count from the token embeddings (0) over layers.0 (1) to the output (depth + 1). */
static int layer_of(const struct sl_parameter *p, int depth)
{
    static const char layers[] = "layers.";
    if (strncmp(p->name, layers, sizeof layers - 1) == 0)
        return 1 + (int)strtol(p->name + sizeof layers - 1, NULL, 10);
    return strstr(p->name, "embedding") ? 0 : depth + 1;
}

static void scale_rates(struct sl_optimizer *o, float layer_decay)
{
    int depth = o->model->config.depth;
    for (int i = 0; i < o->model->builder.count; i++) {
        int below = depth + 1 - layer_of(&o->model->builder.parameters[i], depth);
        o->rate_scale[i] = powf(layer_decay, (float)below);
    }
}

static float *take_zeros(struct sl_optimizer *o, size_t floats)
{
    float *x = sl_arena_take(&o->arena, floats, sizeof *x);
    return memset(x, 0, floats * sizeof *x);
}

bool sl_optimizer_init(struct sl_optimizer *o, struct sl_model *model,
                       const struct sl_hyperparameters *hyperparameters, struct sl_err *err)
{
    const struct sl_builder *b = &model->builder;
    bool averages = hyperparameters->average_decay > 0.0f;
    size_t count = (size_t)b->count, copies = averages ? 3 : 2;
    const size_t pieces = (size_t)pieces_in(model);
    size_t bytes = 4 * (count * sizeof(float *) + SL_ALIGN) + pieces * sizeof(double) + SL_ALIGN;
    for (int i = 0; i < b->count; i++)
        bytes += copies * (trained_floats(&b->parameters[i]) * sizeof(float) + SL_ALIGN);
    *o = (struct sl_optimizer){.model = model};
    if (!sl_arena_init(&o->arena, bytes, err))
        return sl_wrap(err, "optimiser");
    o->m = sl_arena_take(&o->arena, count, sizeof *o->m);
    o->v = sl_arena_take(&o->arena, count, sizeof *o->v);
    o->rate_scale = sl_arena_take(&o->arena, count, sizeof *o->rate_scale);
    o->squares = sl_arena_take(&o->arena, pieces, sizeof *o->squares);
    o->average = averages ? sl_arena_take(&o->arena, count, sizeof *o->average) : NULL;
    for (int i = 0; i < b->count; i++) {
        size_t floats = trained_floats(&b->parameters[i]);
        o->m[i] = take_zeros(o, floats);
        o->v[i] = take_zeros(o, floats);
        if (averages)
            o->average[i] = take_zeros(o, floats);
    }
    scale_rates(o, hyperparameters->layer_decay);
    return true;
}

void sl_optimizer_start_average(const struct sl_optimizer *o)
{
    for (int i = 0; o->average && i < o->model->builder.count; i++) {
        const struct sl_parameter *p = &o->model->builder.parameters[i];
        memcpy(o->average[i], p->data, trained_floats(p) * sizeof *p->data);
    }
}

void sl_optimizer_swap_average(const struct sl_optimizer *o)
{
    for (int i = 0; o->average && i < o->model->builder.count; i++) {
        const struct sl_parameter *p = &o->model->builder.parameters[i];
        size_t floats = trained_floats(p);
        for (size_t j = 0; j < floats; j++) {
            float value = p->data[j];
            p->data[j] = o->average[i][j];
            o->average[i][j] = value;
        }
    }
}

void sl_optimizer_release(struct sl_optimizer *o)
{
    sl_arena_release(&o->arena);
}

static void square_pieces(void *ctx, int first, int last, int worker)
{
    const struct sl_optimizer *o = ctx;
    (void)worker;
    for (int i = first; i < last; i++) {
        const struct piece p = piece_at(o, i);
        const float *g = p.parameter->grad + p.first;
        o->squares[i] = (double)o->model->kernels->dot(g, g, p.count);
    }
}

/* Squares are summed within a piece in fp32, over pieces in double and in order. */
double sl_optimizer_norm(const struct sl_optimizer *o)
{
    double sum = 0.0;
    const int count = pieces_in(o->model);
    struct sl_optimizer of = *o;
    sl_parallel_for(o->model->engine->pool, count, 8, square_pieces, &of);
    for (int i = 0; i < count; i++)
        sum += o->squares[i];
    return sqrt(sum);
}

struct update {
    const struct sl_optimizer *o;
    const struct sl_hyperparameters *hyperparameters;
    struct sl_adamw adamw; /* of a parameter that does not decay and whose rate is not scaled */
    float decay, average_decay;
};

static void update_piece(const struct update *u, const struct piece *p)
{
    const struct sl_kernels *k = u->o->model->kernels;
    float *data = p->parameter->data + p->first, scale = u->o->rate_scale[p->index];
    bool decays = p->parameter->decays || u->hyperparameters->weight_decay_all;
    struct sl_adamw adamw = u->adamw;
    adamw.rate *= scale;
    adamw.decay = decays ? u->decay * scale : 0.0f;
    k->adamw(data, p->m, p->v, p->parameter->grad + p->first, &adamw, p->count);
    if (!u->o->average)
        return;
    float *average = u->o->average[p->index] + p->first;
    k->scale(average, u->average_decay, average, p->count);
    k->axpy(average, 1.0f - u->average_decay, data, p->count);
}

static void update_pieces(void *ctx, int first, int last, int worker)
{
    const struct update *u = ctx;
    (void)worker;
    for (int i = first; i < last; i++) {
        struct piece p = piece_at(u->o, i);
        update_piece(u, &p);
    }
}

/* Early on the average follows the weights closely: it would remember the initial values. */
static float average_decay_at(const struct sl_hyperparameters *h, int step)
{
    return fminf(h->average_decay, (1.0f + (float)step) / (10.0f + (float)step));
}

static double correction(const struct sl_hyperparameters *h, float beta, int step)
{
    return h->bias_correction ? 1.0 - pow((double)beta, step + 1.0) : 1.0;
}

void sl_optimizer_step(const struct sl_optimizer *o,
                       const struct sl_hyperparameters *hyperparameters, int step, double norm)
{
    double rate = sl_learning_rate_at(hyperparameters, step);
    double scale = hyperparameters->max_grad_norm > 0.0f
                       ? (double)hyperparameters->max_grad_norm / (norm + 1e-6)
                       : 1.0;
    struct update u = {
        .o = o,
        .hyperparameters = hyperparameters,
        .decay = (float)(rate * (double)hyperparameters->weight_decay),
        .average_decay = average_decay_at(hyperparameters, step),
        .adamw = {.grad_scale = scale < 1.0 ? (float)scale : 1.0f,
                  .b1 = hyperparameters->beta1,
                  .b2 = hyperparameters->beta2,
                  .rate = (float)(rate / correction(hyperparameters, hyperparameters->beta1, step)),
                  .correction2 = (float)correction(hyperparameters, hyperparameters->beta2, step),
                  .epsilon = hyperparameters->adam_eps}};
    sl_parallel_for(o->model->engine->pool, pieces_in(o->model), 1, update_pieces, &u);
    sl_model_update_buffers(o->model);
}
