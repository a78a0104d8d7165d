/* session.c - runs batches over slots with KV caches: the serving state of one model. */
#include "sluice/session.h"
#include "base/allocate.h"

#include "base/int_math.h"
#include "infer/batch_runner.h"
#include "infer/logits.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* The keys and values of each head have a place of their own. So the first token of a text touches
 * pages all over its slot, and if they are huge ones, takes all of its memory. Beyond this size of
 * a slot small pages are used. */
enum { HUGE_PAGES_MOST = 4 << 20 };

struct sl_session {
    const struct sl_model *model;
    struct sl_batch_runner runner;
    struct sl_arena caches_arena;
    struct sl_session_options options;
    struct sl_cache *caches; /* per slot */
    bool *used;              /* per slot: already in the current run */
    /* The current run: */
    struct sl_sequence *sequences;
    int32_t *tokens, *wanted;
    struct sl_rows wanted_rows;
};

/* Tokens of a cache: a context, in whole panels of packed keys. */
static int cache_capacity(const struct sl_model *m)
{
    return sl_ceil_div(m->config.context_length, SL_PANEL) * SL_PANEL;
}

/* One slot's cache; called with a dry arena first, to count. */
static struct sl_cache cache_take(const struct sl_model *m, struct sl_arena *arena)
{
    size_t capacity = (size_t)cache_capacity(m);
    size_t operands = sl_size_product(capacity, (size_t)m->builder.cache_operands);
    size_t floats = sl_size_product(capacity, (size_t)m->builder.cache_floats);
    struct sl_cache cache = {.capacity = (int)capacity};
    cache.operands = sl_arena_take(arena, operands, sl_type_bytes(m->kernels->operand));
    cache.floats = sl_arena_take(arena, floats, sizeof *cache.floats);
    cache.state = sl_arena_take(arena, m->builder.cache_state, sizeof *cache.state);
    return cache;
}

size_t sl_session_slot_bytes(const struct sl_model *model)
{
    struct sl_arena dry;
    sl_arena_dry(&dry);
    (void)cache_take(model, &dry);
    return sl_round_up(dry.peak, SL_ALIGN);
}

/* Of a slot in one run: a text, and before it one to translate. */
static int rows_most(const struct sl_model *m)
{
    return (m->config.task == SL_TASK_TRANSLATION ? 2 : 1) * m->config.context_length;
}

static bool allocate(struct sl_session *s, struct sl_err *err)
{
    const struct sl_model *m = s->model;
    size_t slots = (size_t)s->options.max_sequences, rows = (size_t)s->options.max_batch_tokens;
    s->caches = calloc(slots, sizeof *s->caches);
    s->used = calloc(slots, sizeof *s->used);
    s->sequences = calloc(rows, sizeof *s->sequences);
    s->tokens = calloc(rows, sizeof *s->tokens);
    s->wanted = calloc(rows, sizeof *s->wanted);
    if (!s->caches || !s->used || !s->sequences || !s->tokens || !s->wanted)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %zu slots and %zu rows", slots, rows);
    const size_t slot_bytes = sl_session_slot_bytes(m);
    if (!sl_arena_init(&s->caches_arena, sl_size_product(slots, slot_bytes), err))
        return false;
    if (slot_bytes > HUGE_PAGES_MOST)
        sl_arena_small_pages(&s->caches_arena);
    for (size_t i = 0; i < slots; i++)
        s->caches[i] = cache_take(m, &s->caches_arena);
    const struct sl_batch_limits limits = {.rows = s->options.max_batch_tokens,
                                           .sequences = s->options.max_sequences,
                                           .context = rows_most(m),
                                           .cache_capacity = cache_capacity(m)};
    return sl_batch_runner_init(&s->runner, m, &m->policy, limits, err);
}

struct sl_session *sl_session_create(const struct sl_model *model,
                                     const struct sl_session_options *options, struct sl_err *err)
{
    enum { SLOTS_MOST = 65536 };

    if (!sl_task_generates(model->config.task)) {
        sl_fail(err, SL_BAD_INPUT, "the model is for %s", sl_task_name(model->config.task));
        return NULL;
    }
    if (options->max_sequences < 1 || options->max_sequences > SLOTS_MOST ||
        options->max_batch_tokens < options->max_sequences ||
        options->max_batch_tokens > SL_BATCH_ROWS_MAX) {
        sl_fail(
            err, SL_BAD_INPUT,
            "invalid max_sequences %d or max_batch_tokens %d: expected 1 to %d, and as many to %d",
            options->max_sequences, options->max_batch_tokens, SLOTS_MOST, SL_BATCH_ROWS_MAX);
        return NULL;
    }
    struct sl_session *s = sl_new(sizeof *s, "a session", err);
    if (!s)
        return NULL;
    s->model = model;
    s->options = *options;
    if (allocate(s, err))
        return s;
    sl_wrap(err, "session");
    sl_session_destroy(s);
    return NULL;
}

void sl_session_destroy(struct sl_session *s)
{
    if (!s)
        return;
    sl_batch_runner_release(&s->runner);
    sl_arena_release(&s->caches_arena);
    free(s->caches);
    free(s->used);
    free(s->sequences);
    free(s->tokens);
    free(s->wanted);
    free(s);
}

int sl_session_length(const struct sl_session *s, int slot)
{
    assert(slot >= 0);
    assert(slot < s->options.max_sequences);
    return s->caches[slot].length;
}

void sl_session_clear(struct sl_session *s, int slot)
{
    assert(slot >= 0);
    assert(slot < s->options.max_sequences);
    s->caches[slot].length = s->caches[slot].source_length = 0;
}

void sl_session_copy(struct sl_session *s, int from, int to)
{
    const struct sl_model *m = s->model;
    const struct sl_cache *a = &s->caches[from];
    struct sl_cache *b = &s->caches[to];
    const size_t columns = (size_t)m->builder.cache_operands * sl_type_bytes(m->kernels->operand);
    assert(from != to);
    memcpy(b->operands, a->operands, columns * (size_t)a->capacity);
    memcpy(b->floats, a->floats,
           (size_t)m->builder.cache_floats * (size_t)a->capacity * sizeof *b->floats);
    memcpy(b->state, a->state, m->builder.cache_state * sizeof *b->state);
    b->length = a->length;
    b->source_length = a->source_length;
}

/* -- a run ------------------------------------------------------------------------------------ */

static bool check_ids(const struct sl_session *s, int slot, const int32_t *ids, int count,
                      struct sl_err *err)
{
    const int vocab = s->model->config.vocab;
    for (int i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= vocab)
            return sl_fail(err, SL_BAD_INPUT, "slot %d: invalid token id %d: expected 0 to %d",
                           slot, ids[i], vocab - 1);
    return true;
}

/* A translation begins with its source, and only then. */
static bool check_source(const struct sl_session *s, const struct sl_chunk *f, struct sl_err *err)
{
    const bool begins =
        s->model->config.task == SL_TASK_TRANSLATION && s->caches[f->slot].source_length == 0;
    const int least = begins ? 1 : 0, most = begins ? s->model->config.context_length : 0;
    if (f->source_count < least || f->source_count > most)
        return sl_fail(err, SL_BAD_INPUT,
                       "slot %d: a text to translate of %d tokens: expected %d to %d", f->slot,
                       f->source_count, least, most);
    return check_ids(s, f->slot, f->source, f->source_count, err);
}

static bool check_tokens(const struct sl_session *s, const struct sl_chunk *f, struct sl_err *err)
{
    const int context = s->model->config.context_length;
    if (f->count < 1 || f->count > context - s->caches[f->slot].length)
        return sl_fail(err, SL_BAD_INPUT,
                       "slot %d caches %d tokens, %d more were given: the context is %d", f->slot,
                       s->caches[f->slot].length, f->count, context);
    return check_ids(s, f->slot, f->tokens, f->count, err) && check_source(s, f, err);
}

/* All rules are checked before anything runs: one bad chunk must not affect the others. */
static bool check_chunks(struct sl_session *s, const struct sl_chunk *chunks, int count,
                         struct sl_err *err)
{
    int rows = 0;
    memset(s->used, 0, (size_t)s->options.max_sequences * sizeof *s->used);
    for (int i = 0; i < count; i++) {
        const struct sl_chunk *f = &chunks[i];
        if (f->slot < 0 || f->slot >= s->options.max_sequences)
            return sl_fail(err, SL_BAD_INPUT, "chunk %d: invalid slot %d: expected 0 to %d", i,
                           f->slot, s->options.max_sequences - 1);
        if (s->used[f->slot])
            return sl_fail(err, SL_BAD_INPUT, "slot %d appears twice in one run", f->slot);
        if (f->operating_point < 0 || f->operating_point > s->model->operating_point_count)
            return sl_fail(err, SL_BAD_INPUT,
                           "slot %d: invalid operating_point %d: expected 0 to %d", f->slot,
                           f->operating_point, s->model->operating_point_count);
        s->used[f->slot] = true;
        if (!check_tokens(s, f, err))
            return false;
        if (f->source_count + f->count > s->options.max_batch_tokens - rows)
            return sl_fail(err, SL_BAD_INPUT,
                           "the chunks have more than %d tokens (max_batch_tokens)",
                           s->options.max_batch_tokens);
        rows += f->source_count + f->count;
    }
    return count > 0 || sl_fail(err, SL_BAD_INPUT, "a run without chunks");
}

static struct sl_batch gather(struct sl_session *s, const struct sl_chunk *chunks, int count)
{
    int row = 0, wanted = 0;
    bool keeps_routing = false;
    for (int i = 0; i < count; i++) {
        const struct sl_chunk *f = &chunks[i];
        struct sl_cache *cache = &s->caches[f->slot];
        s->sequences[i] =
            (struct sl_sequence){.first = row,
                                 .rows = f->source_count + f->count,
                                 .source = f->source_count,
                                 .position = cache->length,
                                 .cache = cache,
                                 .policy = sl_model_point_policy(s->model, f->operating_point)};
        if (f->source_count > 0)
            memcpy(s->tokens + row, f->source, (size_t)f->source_count * sizeof *s->tokens);
        row += f->source_count;
        memcpy(s->tokens + row, f->tokens, (size_t)f->count * sizeof *s->tokens);
        for (int j = f->all_logits ? 0 : f->count - 1; j < f->count; j++)
            s->wanted[wanted++] = row + j;
        row += f->count;
        keeps_routing |= f->wants_gates;
    }
    s->wanted_rows = (struct sl_rows){s->wanted, wanted};
    return (struct sl_batch){.tokens = s->tokens,
                             .sequences = s->sequences,
                             .rows = row,
                             .count = count,
                             .wanted = wanted == row ? NULL : &s->wanted_rows,
                             .keeps_routing = keeps_routing};
}

static void scatter(struct sl_session *s, struct sl_chunk *chunks, int count,
                    const struct sl_tensor *logits)
{
    int place = 0;
    for (int i = 0; i < count; i++) {
        struct sl_chunk *f = &chunks[i];
        int rows = f->all_logits ? f->count : 1;
        f->logits = sl_row(logits, place);
        f->finite = sl_all_finite(f->logits, (size_t)rows * (size_t)logits->cols);
        f->layers_full = (int64_t)s->sequences[i].rows * s->model->config.depth;
        f->layers_used = 0;
        for (int j = 0; j < s->sequences[i].rows; j++)
            f->layers_used += s->runner.layers_used[s->sequences[i].first + j];
        const int first = s->sequences[i].first + f->source_count;
        f->token_layers = s->runner.layers_used + first;
        f->gates = f->wants_gates ? sl_batch_runner_routing(&s->runner, first) : NULL;
        s->caches[f->slot].length += f->count;
        s->caches[f->slot].source_length += f->source_count;
        place += rows;
    }
    assert(place == logits->rows);
}

static void run(struct sl_session *s, struct sl_chunk *chunks, int count, bool shared)
{
    struct sl_batch batch = gather(s, chunks, count);
    scatter(s, chunks, count, sl_batch_runner_run(&s->runner, &batch, shared));
}

bool sl_session_run(struct sl_session *s, struct sl_chunk *chunks, int count, struct sl_err *err)
{
    struct sl_engine *engine = s->model->engine;
    if (!check_chunks(s, chunks, count, err))
        return sl_wrap(err, "run");
    pthread_mutex_lock(&engine->lock);
    run(s, chunks, count, true);
    pthread_mutex_unlock(&engine->lock);
    return true;
}

bool sl_session_warm_up(struct sl_session *s, const int32_t *tokens, int count, struct sl_err *err)
{
    struct sl_chunk chunk = {.slot = 0, .tokens = tokens, .count = count};
    if (s->model->config.task == SL_TASK_TRANSLATION) {
        chunk.source = tokens;
        chunk.source_count = count;
    }
    if (!check_chunks(s, &chunk, 1, err))
        return sl_wrap(err, "first run");
    run(s, &chunk, 1, false);
    sl_session_clear(s, 0);
    return chunk.finite || sl_fail(err, SL_NOT_FINITE, "the model produced NaN or infinity");
}
