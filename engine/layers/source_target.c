/* source_target.c - divides the rows of a batch into those of sources and of translations. */
#include "layers/source_target.h"

#include <string.h>

/* A batch that is being put together, row by row. */
struct part {
    struct sl_batch *batch;
    struct sl_sequence *sequences;
    int32_t *tokens, *targets, *origin;
};

static struct part part_begin(struct sl_tape *t, const struct sl_batch *whole)
{
    const size_t rows = (size_t)whole->rows, count = (size_t)whole->count;
    struct part p = {.batch = sl_tape_struct(t, 1, sizeof *p.batch),
                     .sequences = sl_tape_struct(t, count, sizeof *p.sequences),
                     .tokens = sl_tape_struct(t, rows, sizeof *p.tokens),
                     .targets = sl_tape_struct(t, rows, sizeof *p.targets),
                     .origin = sl_tape_struct(t, rows, sizeof *p.origin)};
    *p.batch = *whole;
    p.batch->sequences = p.sequences;
    p.batch->tokens = whole->tokens ? p.tokens : NULL;
    p.batch->targets = whole->targets ? p.targets : NULL;
    p.batch->wanted = NULL;
    p.batch->rows = p.batch->count = 0;
    return p;
}

/* Rows first.. of the whole batch. */
static void append(struct part *p, const struct sl_batch *whole, struct sl_sequence sequence,
                   int first)
{
    const int at = p->batch->rows;
    const size_t bytes = (size_t)sequence.rows * sizeof(int32_t);
    if (whole->tokens)
        memcpy(p->tokens + at, whole->tokens + first, bytes);
    if (whole->targets)
        memcpy(p->targets + at, whole->targets + first, bytes);
    for (int i = 0; i < sequence.rows; i++)
        p->origin[at + i] = first + i;
    sequence.first = at;
    sequence.source = 0;
    p->sequences[p->batch->count++] = sequence;
    p->batch->rows += sequence.rows;
}

static const struct sl_view *view_of(struct sl_tape *t, const struct part *p)
{
    struct sl_view *view = sl_tape_struct(t, 1, sizeof *view);
    *view = *sl_tape_view(t, p->batch);
    view->origin = p->origin;
    return view;
}

/* Requested rows, which are in order, as rows of the translations. */
static const struct sl_rows *wanted_of(struct sl_tape *t, const struct sl_rows *wanted,
                                       const struct part *target)
{
    if (!wanted)
        return NULL;
    struct sl_rows *rows = sl_tape_struct(t, 1, sizeof *rows);
    int32_t *index = sl_tape_struct(t, (size_t)wanted->count, sizeof *index);
    for (int i = 0, row = 0; i < wanted->count; i++) {
        while (target->origin[row] < sl_rows_at(wanted, i))
            row++;
        assert(target->origin[row] == sl_rows_at(wanted, i));
        index[i] = row;
    }
    *rows = (struct sl_rows){index, wanted->count};
    return rows;
}

/* The same rows as sequences without caches. */
static const struct sl_view *without_caches(struct sl_tape *t, const struct sl_view *view)
{
    struct sl_view *other = sl_tape_struct(t, 1, sizeof *other);
    struct sl_batch *batch = sl_tape_struct(t, 1, sizeof *batch);
    struct sl_sequence *sequences =
        sl_tape_struct(t, (size_t)view->batch->count, sizeof *sequences);
    *batch = *view->batch;
    for (int s = 0; s < batch->count; s++) {
        sequences[s] = batch->sequences[s];
        sequences[s].cache = NULL;
    }
    batch->sequences = sequences;
    *other = *view;
    other->batch = batch;
    return other;
}

struct sl_source_target sl_source_target_of(struct sl_tape *t)
{
    const struct sl_batch *whole = t->view->batch;
    const bool dry = sl_tape_is_dry(t);
    struct part source = part_begin(t, whole), target = part_begin(t, whole);
    int32_t *source_of = sl_tape_struct(t, (size_t)whole->count, sizeof *source_of);
    for (int s = 0; s < whole->count; s++) {
        struct sl_sequence sequence = whole->sequences[s], text = sequence;
        const int length = dry ? sequence.rows : sequence.source;
        source_of[s] = length > 0 ? source.batch->count : -1;
        text.rows = length;
        text.position = 0;
        if (length > 0)
            append(&source, whole, text, sequence.first);
        assert(sequence.rows > sequence.source);
        sequence.rows -= sequence.source;
        append(&target, whole, sequence, sequence.first + whole->sequences[s].source);
    }
    source.batch->row_base = whole->source_base;
    target.batch->row_base = whole->row_base - whole->source_base;
    target.batch->wanted = wanted_of(t, whole->wanted, &target);
    const struct sl_view *keys = view_of(t, &source);
    return (struct sl_source_target){.source = without_caches(t, keys),
                                     .keys = keys,
                                     .target = view_of(t, &target),
                                     .source_of = source_of};
}
