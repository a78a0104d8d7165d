/* scheduler.c - the dispatcher: one thread that runs what was admitted, batch after batch. */
#include "serve/scheduler.h"
#include "core/limits.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sv_batcher {
    struct sv_batcher_options options;
    struct sv_lane *lanes[SV_MODELS_MAX];
    int lane_count;
    pthread_t thread;
    bool started;

    pthread_mutex_t lock; /* guards the next four */
    pthread_cond_t change;
    bool poked, sweep, stop;
    struct sv_problem ending; /* of a kind other than SV_FINE: everything ends with it */

    _Atomic int64_t moved_ns;    /* the last sign of life */
    atomic_bool waits;           /* has nothing to do */
    int64_t beaten_ns, swept_ns; /* the dispatcher's */
};

/* What the dispatcher was asked, read under the lock. */
struct orders {
    bool sweep, stop, ending;
};

/* ---- the thread ------------------------------------------------------------------------------ */

static void sleep_until_poked(struct sv_batcher *batcher, int64_t ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!batcher->poked)
        if (pthread_cond_timedwait(&batcher->change, &batcher->lock, &until) == ETIMEDOUT)
            break;
}

static struct orders take_orders(struct sv_batcher *batcher, bool idle)
{
    /* With work that cannot move (streams without room), deadlines still pass. */
    int64_t ms = sv_batcher_items(batcher) > 0 ? SV_SWEEP_MS : SV_IDLE_MS;
    pthread_mutex_lock(&batcher->lock);
    atomic_store(&batcher->waits, idle);
    if (idle)
        sleep_until_poked(batcher, ms);
    atomic_store(&batcher->waits, false);
    struct orders orders = {.sweep = batcher->sweep || batcher->ending.kind != SV_FINE,
                            .stop = batcher->stop,
                            .ending = batcher->ending.kind != SV_FINE};
    batcher->poked = false;
    batcher->sweep = false;
    pthread_mutex_unlock(&batcher->lock);
    return orders;
}

static void beat(struct sv_batcher *batcher)
{
    int64_t now = sv_now_ns();
    atomic_store(&batcher->moved_ns, now);
    if (!batcher->options.beat || now - batcher->beaten_ns < (int64_t)SV_IDLE_MS * 1000000)
        return;
    batcher->beaten_ns = now;
    batcher->options.beat(batcher->options.context);
}

static bool step_all(struct sv_batcher *batcher, const struct orders *orders)
{
    bool ran = false;
    int64_t now = sv_now_ns();
    bool sweep = orders->sweep || now - batcher->swept_ns > (int64_t)SV_SWEEP_MS * 1000000;
    for (int i = 0; i < batcher->lane_count; i++) {
        /* `ending` does not change once it is set, so it may be read without the lock. */
        const struct sv_problem *ending = orders->ending ? &batcher->ending : NULL;
        struct sv_lane *lane = batcher->lanes[i];
        sv_lane_collect(lane);
        if (sweep)
            lane->kind->sweep(lane, ending);
        ran = lane->kind->step(lane) || ran;
        beat(batcher);
    }
    if (sweep)
        batcher->swept_ns = now;
    return ran;
}

static void *dispatch(void *argument)
{
    struct sv_batcher *batcher = argument;
    bool idle = true;
    (void)pthread_setname_np(pthread_self(), "dispatcher");
    for (;;) {
        struct orders orders = take_orders(batcher, idle);
        beat(batcher);
        idle = !step_all(batcher, &orders);
        if (orders.stop && sv_batcher_items(batcher) == 0)
            return NULL;
    }
}

/* ---- making and unmaking --------------------------------------------------------------------- */

/* Of the kind that the model's task wants. */
static struct sv_lane *make_lane(const struct sv_batcher_options *options, struct sv_served *served,
                                 struct sv_metrics *metrics, struct sl_err *err)
{
    if (sl_model_facts(sv_served_model(served)).task == SL_TASK_COMPLETION)
        return sv_complete_lane_create(served, &options->complete, metrics, err);
    return sv_classify_lane_create(served, &options->classify, metrics, err);
}

static bool make_lanes(struct sv_batcher *batcher, struct sv_registry *registry,
                       struct sv_metrics *metrics, struct sl_err *err)
{
    for (int i = 0; i < SV_MODELS_MAX; i++) {
        struct sv_served *served = sv_registry_acquire_at(registry, i);
        if (!served)
            return true;
        struct sv_lane *lane = make_lane(&batcher->options, served, metrics, err);
        sv_served_release(served);
        if (!lane)
            return false;
        batcher->lanes[batcher->lane_count++] = lane;
    }
    return true;
}

static void init_change(pthread_cond_t *change)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(change, &attributes);
    pthread_condattr_destroy(&attributes);
}

struct sv_batcher *sv_batcher_create(const struct sv_batcher_options *options,
                                     struct sv_registry *registry, struct sv_metrics *metrics,
                                     struct sl_err *err)
{
    struct sv_batcher *batcher = calloc(1, sizeof *batcher);
    if (!batcher) {
        (void)sl_fail(err, SL_NO_MEMORY, "batcher");
        return NULL;
    }
    batcher->options = *options;
    pthread_mutex_init(&batcher->lock, NULL);
    init_change(&batcher->change);
    atomic_store(&batcher->moved_ns, sv_now_ns());
    bool fine = make_lanes(batcher, registry, metrics, err);
    if (fine && pthread_create(&batcher->thread, NULL, dispatch, batcher) != 0)
        fine = sl_fail(err, SL_IO, "start the dispatcher: no more threads");
    batcher->started = fine;
    if (!fine) {
        sv_batcher_destroy(batcher);
        return NULL;
    }
    return batcher;
}

void sv_batcher_destroy(struct sv_batcher *batcher)
{
    if (!batcher)
        return;
    struct sv_problem problem;
    (void)sv_refuse(&problem, SV_DRAINING, NULL, "The server is shutting down.");
    sv_batcher_end_all(batcher, &problem);
    pthread_mutex_lock(&batcher->lock);
    batcher->stop = true;
    pthread_mutex_unlock(&batcher->lock);
    sv_batcher_poke(batcher);
    if (batcher->started)
        (void)pthread_join(batcher->thread, NULL);
    for (int i = 0; i < batcher->lane_count; i++)
        batcher->lanes[i]->kind->destroy(batcher->lanes[i]);
    pthread_cond_destroy(&batcher->change);
    pthread_mutex_destroy(&batcher->lock);
    free(batcher);
}

/* ---- for other threads ----------------------------------------------------------------------- */

static struct sv_lane *lane_of(const struct sv_batcher *batcher, const struct sv_served *served)
{
    int i = 0;
    while (i < batcher->lane_count && batcher->lanes[i]->served != served)
        i++;
    assert(i < batcher->lane_count); /* whatever the registry serves has a lane */
    return batcher->lanes[i];
}

bool sv_batcher_has_room(struct sv_batcher *batcher, const struct sv_served *served, int items,
                         struct sv_problem *problem)
{
    return sv_gate_has_room(&lane_of(batcher, served)->gate, items, problem);
}

bool sv_batcher_admit(struct sv_batcher *batcher, const struct sv_served *served, int items,
                      int64_t tokens, struct sv_problem *problem)
{
    return sv_gate_enter(&lane_of(batcher, served)->gate, items, tokens, problem);
}

void sv_batcher_dismiss(struct sv_batcher *batcher, const struct sv_served *served, int items,
                        int64_t tokens)
{
    sv_gate_leave(&lane_of(batcher, served)->gate, items, tokens);
}

void sv_batcher_submit(struct sv_batcher *batcher, const struct sv_served *served,
                       struct sv_task *task)
{
    sv_complete_lane_push(lane_of(batcher, served), task);
    sv_batcher_poke(batcher);
}

void sv_batcher_classify(struct sv_batcher *batcher, const struct sv_served *served,
                         struct sv_classify_task *task)
{
    sv_classify_lane_push(lane_of(batcher, served), task);
    sv_batcher_poke(batcher);
}

bool sv_batcher_stats(struct sv_batcher *batcher, const struct sv_served *served,
                      struct sv_classify_stats *stats)
{
    return sv_classify_lane_stats(lane_of(batcher, served), stats);
}

static void poke(struct sv_batcher *batcher, bool sweep)
{
    pthread_mutex_lock(&batcher->lock);
    batcher->poked = true;
    batcher->sweep = batcher->sweep || sweep;
    pthread_cond_signal(&batcher->change);
    pthread_mutex_unlock(&batcher->lock);
}

void sv_batcher_poke(struct sv_batcher *batcher)
{
    poke(batcher, false);
}

void sv_batcher_sweep(struct sv_batcher *batcher)
{
    poke(batcher, true);
}

void sv_batcher_end_all(struct sv_batcher *batcher, const struct sv_problem *problem)
{
    assert(problem->kind != SV_FINE);
    pthread_mutex_lock(&batcher->lock);
    if (batcher->ending.kind == SV_FINE)
        batcher->ending = *problem;
    pthread_mutex_unlock(&batcher->lock);
    sv_batcher_sweep(batcher);
}

int64_t sv_batcher_items(struct sv_batcher *batcher)
{
    int64_t items = 0;
    for (int i = 0; i < batcher->lane_count; i++)
        items += sv_lane_items(batcher->lanes[i]);
    return items;
}

bool sv_batcher_is_alive(const struct sv_batcher *batcher)
{
    int64_t silent = sv_now_ns() - atomic_load(&batcher->moved_ns);
    return atomic_load(&batcher->waits) || silent < (int64_t)SV_HEARTBEAT_SECONDS_MAX * 1000000000;
}
