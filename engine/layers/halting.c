/* halting.c - spend less: tokens halt one by one, and a text is done when its first token is.
 * Epsilon, section 3.4. */
#include "layers/layers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- the stream ----------------------------------------------------------------------------- */

/* Whether work is left out that no answer depends on. */
static bool is_lazy(const struct sl_tape *t)
{
    return !t->training && !t->policy->dense;
}

static void halts_begin(struct sl_tape *t, struct sl_halts *halts, int steps_most)
{
    size_t rows = (size_t)t->batch->rows;
    *halts = (struct sl_halts){.steps_most = steps_most};
    halts->steps = sl_tape_struct(t, rows, sizeof *halts->steps);
    halts->left = sl_tape_struct(t, rows, sizeof *halts->left);
    halts->padding = sl_tape_struct(t, rows, sizeof *halts->padding);
    if (t->training)
        halts->worth = sl_tape_take(t, rows, sizeof *halts->worth);
    for (size_t r = 0; r < rows; r++) {
        halts->left[r] = 1.0f;
        halts->padding[r] = !sl_tape_is_dry(t) && t->batch->tokens[r] == 0;
    }
}

/* 1 / rows that count. The trainer knows how many rows the whole batch has; how many of them are
 * padding, only this part of it. */
static float share_of(const struct sl_tape *t, const bool *padding)
{
    int counted = 0;
    for (int r = 0; r < t->batch->rows; r++)
        counted += !padding[r];
    return counted ? t->batch->row_scale * ((float)t->batch->rows / (float)counted) : 0.0f;
}

/* Lists of rows for every sequence of the batch; they become shorter in place. */
static void lists_begin(struct sl_tape *t, struct sl_stream *s)
{
    size_t rows = (size_t)t->batch->rows, count = (size_t)t->batch->count;
    s->first = sl_tape_struct(t, count + 1, sizeof *s->first);
    s->batch_row = sl_tape_struct(t, count, sizeof *s->batch_row);
    s->padding = sl_tape_struct(t, rows, sizeof *s->padding);
    s->follower = is_lazy(t) ? sl_tape_struct(t, rows, sizeof *s->follower) : NULL;
    memcpy(s->padding, s->halts.padding, rows * sizeof *s->padding);
    for (size_t i = 0; i < count; i++)
        s->first[i] = s->batch_row[i] = t->batch->sequences[i].first;
    s->first[count] = t->batch->rows;
}

/* The number of sequences in the stream has changed. */
static void lists_renew(struct sl_stream *s, int count)
{
    s->stretches = (struct sl_stretches){s->first, count};
    s->firsts = (struct sl_rows){s->first, count};
    s->batch_rows = (struct sl_rows){s->batch_row, count};
    s->late = (struct sl_rows){s->follower, 0};
    s->followers = NULL;
}

static struct sl_tensor *zeros(struct sl_tape *t, int rows, int cols)
{
    struct sl_tensor *x = sl_tensor_take(t, rows, cols);
    if (!sl_tape_is_dry(t))
        memset(x->data, 0, (size_t)rows * (size_t)cols * sizeof(float));
    return x;
}

struct sl_stream *sl_stream_begin(struct sl_tape *t, struct sl_tensor *h, int steps_most)
{
    struct sl_stream *s = sl_tape_struct(t, 1, sizeof *s);
    assert(h->rows == t->batch->rows);
    s->h = h;
    s->step = 1;
    s->output = zeros(t, t->batch->count, h->cols);
    halts_begin(t, &s->halts, steps_most);
    s->share = share_of(t, s->halts.padding);
    lists_begin(t, s);
    lists_renew(s, t->batch->count);
    s->leaders = is_lazy(t) ? &s->firsts : NULL;
    return s;
}

static bool is_first(const struct sl_tape *t, int row)
{
    return t->batch->sequences[t->row_sequence[row]].first == row;
}

/* Whether the loss still depends on what any row does: all steps after the last row has halted
 * would change nothing. */
static bool is_open(const struct sl_tape *t, const struct sl_stream *s)
{
    const struct sl_halts *halts = &s->halts;
    for (int r = 0; r < t->batch->rows; r++)
        if (halts->steps[r] == 0 && (!halts->padding[r] || is_first(t, r)))
            return true;
    return false;
}

bool sl_stream_runs(const struct sl_tape *t, const struct sl_stream *s)
{
    if (s->step > s->halts.steps_most)
        return false;
    if (t->training && !sl_tape_is_dry(t))
        return is_open(t, s);
    return s->stretches.count > 0;
}

/* Whether the i-th sequence of the stream needs its other rows, and another step. */
static bool goes_on(const struct sl_stream *s, int i)
{
    return s->step < s->halts.steps_most && s->halts.steps[s->batch_row[i]] == 0;
}

static void list_followers(struct sl_stream *s)
{
    int count = 0;
    for (int i = 0; i < s->stretches.count; i++)
        for (int r = s->first[i] + 1; goes_on(s, i) && r < s->first[i + 1]; r++)
            s->follower[count++] = r;
    s->late.count = count;
    s->followers = count ? &s->late : NULL;
}

/* Rows of the sequences that go on move up to where those that leave were. */
static void close_ranks(const struct sl_tape *t, struct sl_stream *s)
{
    int count = 0, rows = 0;
    for (int i = 0; i < s->stretches.count; i++) {
        int from = s->first[i], here = s->first[i + 1] - from;
        if (!goes_on(s, i))
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
    lists_renew(s, count);
}

void sl_stream_advance(struct sl_tape *t, struct sl_stream *s)
{
    if (is_lazy(t))
        close_ranks(t, s);
    s->step++;
}

/* -- what is told about it ------------------------------------------------------------------ */

/* Steps that a row was part of until it halted. */
static int depth_of(const struct sl_stream *s, int row)
{
    return s->halts.steps[row] ? s->halts.steps[row] : s->halts.steps_most;
}

static void note_depths(struct sl_tape *t, const struct sl_stream *s)
{
    for (int r = 0; r < t->batch->rows; r++) {
        bool first = is_first(t, r);
        if (first)
            t->notes.first_depth += depth_of(s, r);
        if (s->halts.padding[r] || (is_lazy(t) && !first))
            continue;
        t->notes.depth_sum += depth_of(s, r);
        t->notes.depth_count += 1.0;
    }
}

static void note_layers(struct sl_tape *t, const struct sl_stream *s)
{
    int32_t *used = t->notes.layers_used;
    for (int r = 0; used && r < t->batch->rows; r++) {
        int first = t->batch->sequences[t->row_sequence[r]].first;
        used[r] += is_lazy(t) ? depth_of(s, first) - (r != first) : s->step - 1;
    }
}

struct sl_tensor *sl_stream_finish(struct sl_tape *t, struct sl_stream *s)
{
    if (!sl_tape_is_dry(t)) {
        note_depths(t, s);
        note_layers(t, s);
    }
    return s->output;
}

/* -- halting ----------------------------------------------------------------------------------- */

struct sl_halting sl_halting_build(struct sl_builder *b, struct sl_halting_shape shape)
{
    struct sl_halting halting = {.price = shape.price, .mean = shape.mean};
    halting.scores = sl_arena_take(b->arena, (size_t)shape.steps_most, sizeof *halting.scores);
    for (int i = 0; i < shape.steps_most; i++) {
        char name[SL_NAME_MAX];
        (void)snprintf(name, sizeof name, "halting.%d", i);
        halting.scores[i] =
            sl_linear_build(b, name,
                            (struct sl_linear_shape){.outs = 1,
                                                     .ins = shape.width,
                                                     .bound = sl_glorot(shape.width, 1).value,
                                                     .bias = true});
    }
    return halting;
}

/* Of the mean divergence over rows, at this point of the training. */
static float price_of(const struct sl_tape *t, const struct sl_halting *halting)
{
    double annealed = 0.1 + 0.45 * (1.0 + cos(M_PI * (double)t->progress));
    return t->training ? halting->price * (float)annealed : 0.0f;
}

void sl_halting_apply(struct sl_tape *t, const struct sl_halting *halting, struct sl_stream *s)
{
    const struct sl_linear_layer *score = &halting->scores[s->step - 1];
    double go_on = log1p(-1.0 / (double)halting->mean);
    struct sl_tensor *states = sl_take_rows(t, s->h, &s->firsts);
    struct sl_tensor *scores =
        sl_linear(t, s->leaders ? states : s->h,
                  (struct sl_linear_args){.weight = score->weight, .bias = score->bias});
    s->output =
        sl_halt(t, s->output, states, scores,
                (struct sl_halt_args){
                    .halts = &s->halts,
                    .rows = s->leaders ? &s->batch_rows : NULL,
                    .step = s->step,
                    .price = price_of(t, halting) * s->share,
                    .log_prior = (float)((s->step - 1) * go_on - log((double)halting->mean)),
                    .log_prior_rest = (float)(s->halts.steps_most * go_on)});
    if (s->leaders)
        list_followers(s);
}
