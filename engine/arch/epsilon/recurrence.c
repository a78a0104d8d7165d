/* recurrence.c - adaptive halting: tokens halt one by one. A text to classify is done when its
 * first token has halted; a text being generated, when all of its tokens have. Epsilon, section
 * 3.4. */
#include "arch/epsilon/epsilon.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- recurrence of a classifier ------------------------------------------------------------- */

/* Whether rows that no result depends on are skipped. */
static bool skips_halted(const struct sl_tape *t)
{
    return !t->training && !t->policy->dense;
}

static void halting_begin(struct sl_tape *t, struct sl_halting_state *halting, int max_steps,
                          int padding_token)
{
    size_t rows = (size_t)t->view->batch->rows;
    *halting = (struct sl_halting_state){.max_steps = max_steps};
    halting->steps = sl_tape_struct(t, rows, sizeof *halting->steps);
    halting->remainder = sl_tape_struct(t, rows, sizeof *halting->remainder);
    halting->padding = sl_tape_struct(t, rows, sizeof *halting->padding);
    if (t->training)
        halting->remainder_grad = sl_tape_take(t, rows, sizeof *halting->remainder_grad);
    for (size_t r = 0; r < rows; r++) {
        halting->remainder[r] = 1.0f;
        halting->padding[r] =
            padding_token && !sl_tape_is_dry(t) && t->view->batch->tokens[r] + 1 == padding_token;
    }
}

/* 1 / number of rows without padding. The number of rows is that of the whole batch; the fraction
 * of padding is that of this micro-batch. */
static float row_weight_of(const struct sl_tape *t, const bool *padding)
{
    int counted = 0;
    for (int r = 0; r < t->view->batch->rows; r++)
        counted += !padding[r];
    return counted ? t->view->batch->row_scale * ((float)t->view->batch->rows / (float)counted)
                   : 0.0f;
}

/* Lists of rows for every sequence of the batch; they shrink in place. */
static void row_lists_begin(struct sl_tape *t, struct sl_recurrence *s)
{
    size_t rows = (size_t)t->view->batch->rows, count = (size_t)t->view->batch->count;
    s->first = sl_tape_struct(t, count + 1, sizeof *s->first);
    s->batch_row = sl_tape_struct(t, count, sizeof *s->batch_row);
    s->padding = sl_tape_struct(t, rows, sizeof *s->padding);
    s->other = skips_halted(t) ? sl_tape_struct(t, rows, sizeof *s->other) : NULL;
    memcpy(s->padding, s->halting.padding, rows * sizeof *s->padding);
    for (size_t i = 0; i < count; i++)
        s->first[i] = s->batch_row[i] = t->view->batch->sequences[i].first;
    s->first[count] = t->view->batch->rows;
}

/* The number of sequences in the recurrence has changed. */
static void row_lists_update(struct sl_recurrence *s, int count)
{
    s->segments = (struct sl_segments){s->first, count};
    s->first_list = (struct sl_rows){s->first, count};
    s->batch_rows = (struct sl_rows){s->batch_row, count};
    s->other_list = (struct sl_rows){s->other, 0};
    s->other_tokens = NULL;
}

static struct sl_tensor *zeros(struct sl_tape *t, int rows, int cols)
{
    struct sl_tensor *x = sl_tensor_take(t, rows, cols);
    if (!sl_tape_is_dry(t))
        memset(x->data, 0, (size_t)rows * (size_t)cols * sizeof(float));
    return x;
}

struct sl_recurrence *sl_recurrence_begin(struct sl_tape *t, struct sl_tensor *h, int max_steps,
                                          int padding_token)
{
    struct sl_recurrence *s = sl_tape_struct(t, 1, sizeof *s);
    assert(h->rows == t->view->batch->rows);
    s->h = h;
    s->step = 1;
    s->output = zeros(t, t->view->batch->count, h->cols);
    halting_begin(t, &s->halting, max_steps, padding_token);
    s->row_weight = row_weight_of(t, s->halting.padding);
    row_lists_begin(t, s);
    row_lists_update(s, t->view->batch->count);
    s->first_tokens = skips_halted(t) ? &s->first_list : NULL;
    return s;
}

static bool is_first(const struct sl_tape *t, int row)
{
    return t->view->batch->sequences[t->view->row_sequence[row]].first == row;
}

/* Whether the loss can still change: no longer once all rows have halted. */
static bool has_unhalted(const struct sl_tape *t, const struct sl_halting_state *halting)
{
    for (int r = 0; r < t->view->batch->rows; r++)
        if (halting->steps[r] == 0 && (!halting->padding[r] || is_first(t, r)))
            return true;
    return false;
}

bool sl_recurrence_has_next(const struct sl_tape *t, const struct sl_recurrence *s)
{
    if (s->step > s->halting.max_steps)
        return false;
    if (t->training && !sl_tape_is_dry(t))
        return has_unhalted(t, &s->halting);
    return s->segments.count > 0;
}

/* Whether the i-th sequence of the recurrence needs its other rows, and another step. */
static bool continues(const struct sl_recurrence *s, int i)
{
    return s->step < s->halting.max_steps && s->halting.steps[s->batch_row[i]] == 0;
}

static void list_other_tokens(struct sl_recurrence *s)
{
    int count = 0;
    for (int i = 0; i < s->segments.count; i++)
        for (int r = s->first[i] + 1; continues(s, i) && r < s->first[i + 1]; r++)
            s->other[count++] = r;
    s->other_list.count = count;
    s->other_tokens = count ? &s->other_list : NULL;
}

/* Moves the rows of remaining sequences up, over those that leave. */
static void remove_halted_sequences(const struct sl_tape *t, struct sl_recurrence *s)
{
    int count = 0, rows = 0;
    for (int i = 0; i < s->segments.count; i++) {
        int from = s->first[i], here = s->first[i + 1] - from;
        if (!continues(s, i))
            continue;
        if (from != rows && !sl_tape_is_dry(t)) {
            memmove(sl_row(s->h, rows), sl_row(s->h, from),
                    (size_t)here * s->h->stride * sizeof(float));
            memmove(s->padding + rows, s->padding + from, (size_t)here * sizeof *s->padding);
        }
        s->batch_row[count] = s->batch_row[i];
        s->first[count++] = rows;
        rows += here;
    }
    s->first[count] = rows;
    s->h->rows = rows;
    row_lists_update(s, count);
}

void sl_recurrence_advance(struct sl_tape *t, struct sl_recurrence *s)
{
    if (skips_halted(t))
        remove_halted_sequences(t, s);
    s->step++;
}

/* -- causal recurrence ---------------------------------------------------------------------- */

/* All rows are computed; a gate says which of them count. */
static void gate_update(struct sl_tape *t, struct sl_causal_recurrence *w)
{
    int rows = t->view->batch->rows;
    if (t->training || !w->gate.value)
        w->gate.value = sl_tensor_take(t, rows, 1);
    for (int r = 0; !sl_tape_is_dry(t) && r < rows; r++)
        *sl_row(w->gate.value, r) = w->halting.steps[r] == 0 ? 1.0f : 0.0f;
}

struct sl_causal_recurrence *sl_causal_recurrence_begin(struct sl_tape *t, struct sl_tensor *h,
                                                        int max_steps)
{
    struct sl_causal_recurrence *w = sl_tape_struct(t, 1, sizeof *w);
    size_t rows = (size_t)t->view->batch->rows;
    assert(h->rows == t->view->batch->rows);
    w->h = h;
    w->step = 1;
    w->output = zeros(t, h->rows, h->cols);
    halting_begin(t, &w->halting, max_steps, /* padding_token= */ 0);
    w->row_weight = row_weight_of(t, w->halting.padding);
    if (!skips_halted(t))
        gate_update(t, w);
    for (int i = 0; i < 2 && skips_halted(t); i++)
        w->row[i] = sl_tape_struct(t, rows, sizeof *w->row[i]);
    w->place = skips_halted(t) ? sl_tape_struct(t, rows, sizeof *w->place) : NULL;
    return w;
}

static bool has_caches(const struct sl_tape *t)
{
    for (int s = 0; s < t->view->batch->count; s++)
        if (t->view->batch->sequences[s].cache)
            return true;
    return false;
}

bool sl_causal_recurrence_has_next(const struct sl_tape *t, const struct sl_causal_recurrence *w)
{
    if (w->step > w->halting.max_steps)
        return false;
    if (sl_tape_is_dry(t) || (!t->training && (t->policy->dense || has_caches(t))))
        return true;
    return has_unhalted(t, &w->halting);
}

void sl_causal_recurrence_advance(struct sl_tape *t, struct sl_causal_recurrence *w)
{
    const struct sl_rows *took = w->gate.rows;
    struct sl_rows *next = &w->lists[w->step % 2];
    int32_t *row = w->row[w->step % 2];
    int count = 0, max = took ? took->count : t->view->batch->rows;
    sl_stats_add_layer(t, took);
    w->step++;
    if (!skips_halted(t)) {
        gate_update(t, w);
        return;
    }
    for (int i = 0; i < max; i++) {
        int r = sl_rows_at(took, i);
        if (w->halting.steps[r] != 0)
            continue;
        w->place[count] = i;
        row[count++] = r;
    }
    *next = (struct sl_rows){row, count};
    w->places = (struct sl_rows){w->place, count};
    w->computed_rows = took;
    w->gate.rows = next;
    w->gate_index = &w->places;
}

/* -- statistics ---------------------------------------------------------------------------- */

/* Steps that a row took until it halted. */
static int depth_of(const struct sl_halting_state *halting, int row)
{
    return halting->steps[row] ? halting->steps[row] : halting->max_steps;
}

/* others: include the halting of all other rows. */
static void record_depths(struct sl_tape *t, const struct sl_halting_state *halting, bool others)
{
    for (int r = 0; r < t->view->batch->rows; r++) {
        bool first = is_first(t, r);
        if (first)
            t->stats.first_depth += depth_of(halting, r);
        if (halting->padding[r] || (!others && !first))
            continue;
        t->stats.depth_sum += depth_of(halting, r);
        t->stats.depth_count += 1.0;
    }
}

/* Steps that ran on a row where halted ones are skipped: those until its sequence's first row
 * halts. */
static int steps_run(const struct sl_tape *t, const struct sl_halting_state *halting, int row)
{
    const int first = t->view->batch->sequences[t->view->row_sequence[row]].first;
    return depth_of(halting, first) - (row != first);
}

/* The steps of a row before it, or its sequence's first, halts; each as a part of the model. */
static void record_routing(struct sl_tape *t, const struct sl_halting_state *halting,
                           bool halts_with_first)
{
    for (int r = 0; t->stats.routing && r < t->view->batch->rows; r++) {
        const int steps = halts_with_first ? steps_run(t, halting, r) : depth_of(halting, r);
        for (int step = 0; step < steps && !halting->padding[r]; step++)
            sl_stats_set_routing(t, r, step, 1.0f);
    }
}

static void record_layers(struct sl_tape *t, const struct sl_recurrence *s)
{
    int32_t *used = t->stats.layers_used;
    for (int r = 0; used && r < t->view->batch->rows; r++)
        used[r] += skips_halted(t) ? steps_run(t, &s->halting, r) : s->step - 1;
}

struct sl_tensor *sl_recurrence_finish(struct sl_tape *t, struct sl_recurrence *s)
{
    if (!sl_tape_is_dry(t)) {
        record_depths(t, &s->halting, !skips_halted(t));
        record_layers(t, s);
        record_routing(t, &s->halting, skips_halted(t));
    }
    return s->output;
}

struct sl_tensor *sl_causal_recurrence_finish(struct sl_tape *t, struct sl_causal_recurrence *w)
{
    if (!sl_tape_is_dry(t)) {
        record_depths(t, &w->halting, /* others= */ true);
        record_routing(t, &w->halting, false);
    }
    return w->output;
}

/* -- halting ----------------------------------------------------------------------------------- */

struct sl_halting_layer sl_halting_layer_build(struct sl_builder *b,
                                               struct sl_halting_layer_shape shape)
{
    struct sl_halting_layer layer = {.kl_weight = shape.kl_weight, .prior_mean = shape.prior_mean};
    layer.scores = sl_arena_take(b->arena, (size_t)shape.max_steps, sizeof *layer.scores);
    for (int i = 0; i < shape.max_steps; i++) {
        char name[SL_NAME_MAX];
        (void)snprintf(name, sizeof name, "halting.%d", i);
        layer.scores[i] =
            sl_linear_build(b, name,
                            (struct sl_linear_shape){.outs = 1,
                                                     .ins = shape.width,
                                                     .bound = sl_glorot(shape.width, 1).value,
                                                     .bias = true});
    }
    return layer;
}

/* Of the mean divergence over rows, at this point of the training. */
static float kl_weight_of(const struct sl_tape *t, const struct sl_halting_layer *layer)
{
    double annealed = 0.1 + 0.45 * (1.0 + cos(M_PI * (double)t->progress));
    return t->training ? layer->kl_weight * (float)annealed : 0.0f;
}

/* The arguments of a step; each row has the weight `row_weight`. */
static struct sl_halting_step_args halting_args(const struct sl_tape *t,
                                                const struct sl_halting_layer *layer,
                                                struct sl_halting_state *halting, int step,
                                                float row_weight)
{
    double log_continue = log1p(-1.0 / (double)layer->prior_mean);
    return (struct sl_halting_step_args){
        .halting = halting,
        .step = step,
        .kl_weight = kl_weight_of(t, layer) * row_weight,
        .log_prior = (float)((step - 1) * log_continue - log((double)layer->prior_mean)),
        .log_prior_remainder = (float)(halting->max_steps * log_continue)};
}

static struct sl_tensor *score(struct sl_tape *t, const struct sl_halting_layer *layer, int step,
                               struct sl_tensor *states)
{
    const struct sl_linear_layer *l = &layer->scores[step - 1];
    return sl_linear(t, states, (struct sl_linear_args){.weight = l->weight, .bias = l->bias});
}

void sl_halting_layer_apply(struct sl_tape *t, const struct sl_halting_layer *layer,
                            struct sl_recurrence *s)
{
    struct sl_halting_step_args args = halting_args(t, layer, &s->halting, s->step, s->row_weight);
    struct sl_tensor *states = sl_gather_rows(t, s->h, &s->first_list);
    struct sl_tensor *scores = score(t, layer, s->step, s->first_tokens ? states : s->h);
    args.rows = s->first_tokens ? &s->batch_rows : NULL;
    s->output = sl_halting_step(t, s->output, states, scores, args);
    if (s->first_tokens)
        list_other_tokens(s);
}

void sl_halting_layer_apply_causal(struct sl_tape *t, const struct sl_halting_layer *layer,
                                   struct sl_causal_recurrence *w)
{
    struct sl_halting_step_args args = halting_args(t, layer, &w->halting, w->step, w->row_weight);
    struct sl_tensor *states = sl_gather_rows(t, w->h, w->gate.rows);
    args.rows = w->gate.rows;
    args.every_row = true;
    w->output = sl_halting_step(t, w->output, states, score(t, layer, w->step, states), args);
}
