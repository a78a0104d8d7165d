/* admission.c - limits how many texts and tokens are in progress; a request is admitted whole or
 * rejected whole. */
#include "serve/admission.h"
#include "core/limits.h"
#include "core/request.h"

#include <assert.h>
#include <math.h>

static const double pace_seconds = 10; /* of work, about the last of which the pace follows */

void sv_gate_init(struct sv_gate *gate, const char *name, int64_t items_max, int64_t tokens_max,
                  struct sv_series *refused)
{
    *gate = (struct sv_gate){
        .name = name, .items_max = items_max, .tokens_max = tokens_max, .refused = refused};
    pthread_mutex_init(&gate->lock, NULL);
}

void sv_gate_release(struct sv_gate *gate)
{
    assert(gate->items == 0);
    pthread_mutex_destroy(&gate->lock);
}

/* How many of the texts inside must end to make room for these: of tokens, each has its share. */
static double texts_in_the_way(const struct sv_gate *gate, int items, int64_t tokens)
{
    double by_items = (double)(gate->items + items - gate->items_max);
    double by_tokens = (double)(gate->tokens + tokens - gate->tokens_max);
    if (gate->tokens > 0)
        by_tokens *= (double)gate->items / (double)gate->tokens;
    return fmax(fmax(by_items, by_tokens), 1.0);
}

/* How long until so many texts have ended, at the pace of late. */
static int retry_ms(const struct sv_gate *gate, double texts)
{
    if (gate->ended_items <= 0)
        return 1000;
    double ms = 1e3 * texts * gate->ended_seconds / gate->ended_items;
    if (ms > SV_RETRY_MS_MAX)
        return SV_RETRY_MS_MAX;
    return ms < SV_RETRY_MS_MIN ? SV_RETRY_MS_MIN : (int)ms;
}

static bool refuse_full(struct sv_gate *gate, int items, int wait_ms, struct sv_problem *problem)
{
    sv_metric_add(gate->refused, 1);
    (void)sv_refuse(problem, SV_OVERLOADED, NULL,
                    "The queue of '%s' is full: there is no room for %d more text%s now.",
                    gate->name, items, items == 1 ? "" : "s");
    problem->retry_ms = wait_ms;
    return false;
}

bool sv_gate_has_room(struct sv_gate *gate, int items, struct sv_problem *problem)
{
    pthread_mutex_lock(&gate->lock);
    bool full = items <= gate->items_max && gate->items + items > gate->items_max;
    int wait_ms = full ? retry_ms(gate, texts_in_the_way(gate, items, 0)) : 0;
    pthread_mutex_unlock(&gate->lock);
    return !full || refuse_full(gate, items, wait_ms, problem);
}

bool sv_gate_enter(struct sv_gate *gate, int items, int64_t tokens, struct sv_problem *problem)
{
    assert(items > 0);
    if (items > gate->items_max || tokens > gate->tokens_max)
        return sv_refuse(problem, SV_BAD_VALUE, NULL,
                         "This request asks for %d texts and %lld tokens, read and written; "
                         "this server can hold %lld texts and %lld tokens.",
                         items, (long long)tokens, (long long)gate->items_max,
                         (long long)gate->tokens_max);
    pthread_mutex_lock(&gate->lock);
    bool fits = gate->items + items <= gate->items_max && gate->tokens + tokens <= gate->tokens_max;
    int wait_ms = retry_ms(gate, texts_in_the_way(gate, items, tokens));
    if (fits && gate->items == 0)
        gate->ended_ns = sv_now_ns();
    if (fits) {
        gate->items += items;
        gate->tokens += tokens;
    }
    pthread_mutex_unlock(&gate->lock);
    return fits || refuse_full(gate, items, wait_ms, problem);
}

void sv_gate_leave(struct sv_gate *gate, int items, int64_t tokens)
{
    pthread_mutex_lock(&gate->lock);
    gate->items -= items;
    gate->tokens -= tokens;
    assert(gate->items >= 0);
    assert(gate->tokens >= 0);
    pthread_mutex_unlock(&gate->lock);
}

void sv_gate_end(struct sv_gate *gate, int64_t tokens)
{
    int64_t now = sv_now_ns();
    pthread_mutex_lock(&gate->lock);
    double seconds = 1e-9 * (double)(now - gate->ended_ns), kept = exp(-seconds / pace_seconds);
    gate->ended_items = kept * gate->ended_items + 1;
    gate->ended_seconds = kept * gate->ended_seconds + seconds;
    gate->ended_ns = now;
    pthread_mutex_unlock(&gate->lock);
    sv_gate_leave(gate, 1, tokens);
}

void sv_gate_inside(struct sv_gate *gate, int64_t *items, int64_t *tokens)
{
    pthread_mutex_lock(&gate->lock);
    *items = gate->items;
    *tokens = gate->tokens;
    pthread_mutex_unlock(&gate->lock);
}
