/* thread_pool.c - a fork-join pool without a lock on its fast path.
 *
 * Each thread has a fixed range of a batch's pieces, so that what it wrote in one op is in its
 * cache when it reads it in the next. A range is published in one 64-bit word, the ticket: the
 * batch's number in the upper half, the number of unclaimed pieces in the lower half. A thread
 * claims a piece by decrementing a ticket with compare-and-swap: first its own, then those of the
 * others (work stealing). A thread that slept through a batch finds another number, or no piece,
 * and claims nothing. So the caller waits for pieces only, never for a thread that is still
 * asleep. */
#include "base/thread_pool.h"
#include "base/clock.h"

#include "base/cpu.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE = 64,
    /* How long to spin before sleeping: several times the gap between two operations of a model,
     * and about the cost of sleeping and waking. */
    SPIN_NS = 40000,
    SPIN_LOOKS = 32 /* iterations between two readings of the clock */
};

/* A thread and its range of the batch. The first one is the caller. */
struct worker {
    _Alignas(LINE) _Atomic uint64_t ticket; /* batch number << 32 | pieces not yet taken */
    struct sl_thread_pool *pool;
    pthread_t thread;
    int index;
};

/* One cache line for what changes once per batch, one for the counter. The batch is atomic because
 * a late thread may read it while the next one is written; the claim of that thread then fails. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
struct sl_thread_pool {
    _Alignas(LINE) atomic_int count, grain;
    void (*_Atomic f)(void *ctx, int first, int last, int worker);
    void *_Atomic ctx;
    _Alignas(LINE) atomic_int left; /* pieces not yet finished */
    atomic_bool caller_sleeps;
    _Alignas(LINE) atomic_int sleepers;
    atomic_bool stopping;
    pthread_mutex_t lock; /* only for sleeping and waking */
    pthread_cond_t work, done;
    int64_t spin_ns; /* 0 when there are more threads than processors */
    int threads, started;
    bool busy; /* to detect nested calls */
    struct worker *workers;
};

/* The CPU's hint for spin loops. */
#if defined(__x86_64__)
static void relax(void)
{
    __builtin_ia32_pause();
}
#else
static void relax(void)
{
    __asm__ volatile("" ::: "memory");
}
#endif

static uint32_t batch_of(uint64_t ticket)
{
    return (uint32_t)(ticket >> 32);
}

/* Claims one piece of a range and returns how many were unclaimed; 0 when there was none, or
 * another batch has begun. */
static int claim(struct worker *share, uint32_t batch)
{
    uint64_t ticket = atomic_load_explicit(&share->ticket, memory_order_acquire);
    while (batch_of(ticket) == batch && (uint32_t)ticket > 0)
        if (atomic_compare_exchange_weak_explicit(&share->ticket, &ticket, ticket - 1,
                                                  memory_order_acq_rel, memory_order_acquire))
            return (int)(uint32_t)ticket;
    return 0;
}

static int pieces_of(int count, int grain)
{
    return count / grain + (count % grain != 0);
}

static int piece_end(int first, int count, int grain)
{
    return count - first > grain ? first + grain : count;
}

/* The first piece of a thread's range, which ends where the next one's begins. */
static int share_begin(int pieces, int thread, int threads)
{
    return (int)((int64_t)pieces * thread / threads);
}

/* Runs pieces of one range until none is left and returns how many. The batch is read before a
 * claim; it is valid if the claim succeeds, because the next batch is not written before all pieces
 * of this one are finished. */
static int take_share(struct sl_thread_pool *pool, uint32_t batch, int share, int worker)
{
    void (*f)(void *, int, int, int) = atomic_load_explicit(&pool->f, memory_order_relaxed);
    void *ctx = atomic_load_explicit(&pool->ctx, memory_order_relaxed);
    int count = atomic_load_explicit(&pool->count, memory_order_relaxed);
    int grain = atomic_load_explicit(&pool->grain, memory_order_relaxed);
    int end = share_begin(pieces_of(count, grain), share + 1, pool->threads), done = 0;
    for (int remaining; (remaining = claim(&pool->workers[share], batch)) > 0; done++) {
        int first = (end - remaining) * grain;
        f(ctx, first, piece_end(first, count, grain), worker);
    }
    return done;
}

/* Its own range, then the others'. */
static int take_part(struct sl_thread_pool *pool, uint32_t batch, int worker)
{
    int done = 0;
    for (int i = 0; i < pool->threads; i++)
        done += take_share(pool, batch, (worker + i) % pool->threads, worker);
    return done;
}

/* Counts finished pieces. The thread that finishes the last one wakes the caller if it sleeps. */
static void report(struct sl_thread_pool *pool, int done)
{
    if (done == 0 || atomic_fetch_sub(&pool->left, done) != done)
        return;
    if (!atomic_load(&pool->caller_sleeps))
        return;
    (void)pthread_mutex_lock(&pool->lock);
    (void)pthread_cond_signal(&pool->done);
    (void)pthread_mutex_unlock(&pool->lock);
}

static bool has_work(struct worker *self, uint32_t seen)
{
    return batch_of(atomic_load_explicit(&self->ticket, memory_order_acquire)) != seen ||
           atomic_load_explicit(&self->pool->stopping, memory_order_relaxed);
}

static bool is_finished(struct worker *self, uint32_t unused)
{
    (void)unused;
    return atomic_load_explicit(&self->pool->left, memory_order_acquire) == 0;
}

/* Spins for a while; true when the event came. */
static bool spin(struct worker *self, bool (*event)(struct worker *, uint32_t), uint32_t seen)
{
    if (event(self, seen))
        return true;
    if (self->pool->spin_ns == 0)
        return false;
    int64_t end = sl_now_ns() + self->pool->spin_ns;
    do {
        for (int i = 0; i < SPIN_LOOKS; i++) {
            if (event(self, seen))
                return true;
            relax();
        }
    } while (sl_now_ns() < end);
    return false;
}

/* No wake-up is lost: a worker counts itself asleep and then reads its ticket; the caller writes
 * the tickets and then reads the count. All four are sequentially consistent, so at least one of
 * the two sees the other. The same holds for the caller's sleep, with caller_sleeps and left. */
static void sleep_until_work(struct worker *self, uint32_t seen)
{
    struct sl_thread_pool *pool = self->pool;
    (void)pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (batch_of(atomic_load(&self->ticket)) == seen && !atomic_load(&pool->stopping))
        (void)pthread_cond_wait(&pool->work, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    (void)pthread_mutex_unlock(&pool->lock);
}

static void sleep_until_done(struct sl_thread_pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->caller_sleeps, true);
    while (atomic_load(&pool->left) != 0)
        (void)pthread_cond_wait(&pool->done, &pool->lock);
    atomic_store(&pool->caller_sleeps, false);
    (void)pthread_mutex_unlock(&pool->lock);
}

/* Wakes as many sleepers as there are pieces for them. */
static void wake(struct sl_thread_pool *pool, int wanted)
{
    int sleepers = atomic_load(&pool->sleepers);
    if (sleepers == 0)
        return;
    (void)pthread_mutex_lock(&pool->lock);
    if (wanted >= sleepers)
        (void)pthread_cond_broadcast(&pool->work);
    else
        for (int i = 0; i < wanted; i++)
            (void)pthread_cond_signal(&pool->work);
    (void)pthread_mutex_unlock(&pool->lock);
}

static void *work(void *ctx)
{
    struct worker *self = ctx;
    struct sl_thread_pool *pool = self->pool;
    uint32_t seen = 0;
    for (;;) {
        if (!spin(self, has_work, seen))
            sleep_until_work(self, seen);
        if (atomic_load(&pool->stopping))
            return NULL;
        seen = batch_of(atomic_load_explicit(&self->ticket, memory_order_acquire));
        report(pool, take_part(pool, seen, self->index));
    }
}

/* Signals are blocked in workers; the program's own threads handle them. */
static int start(struct worker *w)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&w->thread, NULL, work, w);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

static bool start_workers(struct sl_thread_pool *pool, struct sl_err *err)
{
    for (int i = 1; i < pool->threads; i++, pool->started++) {
        int failure = start(&pool->workers[i]);
        if (failure)
            return sl_fail(err, SL_NO_MEMORY, "start thread %d of %d: %s", i + 1, pool->threads,
                           strerrordesc_np(failure));
        char name[20]; /* the kernel accepts at most 15 characters */
        (void)snprintf(name, sizeof name, "sluice-%d", i);
        (void)pthread_setname_np(pool->workers[i].thread, name);
    }
    return true;
}

struct sl_thread_pool *sl_thread_pool_create(int threads, struct sl_err *err)
{
    assert(threads >= 1);
    struct sl_thread_pool *pool = aligned_alloc(LINE, sizeof *pool);
    struct worker *workers = aligned_alloc(LINE, (size_t)threads * sizeof *workers);
    if (!pool || !workers) {
        free(pool);
        free(workers);
        (void)sl_fail(err, SL_NO_MEMORY, "no memory for a pool of %d threads", threads);
        return NULL;
    }
    *pool = (struct sl_thread_pool){.threads = threads, .workers = workers};
    for (int i = 0; i < threads; i++)
        workers[i] = (struct worker){.pool = pool, .index = i};
    pool->spin_ns = threads <= sl_cpu_budget() ? SPIN_NS : 0;
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->work, NULL);
    (void)pthread_cond_init(&pool->done, NULL);
    if (!start_workers(pool, err)) {
        sl_thread_pool_destroy(pool);
        return NULL;
    }
    return pool;
}

void sl_thread_pool_destroy(struct sl_thread_pool *pool)
{
    if (!pool)
        return;
    assert(!pool->busy);
    (void)pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->stopping, true);
    (void)pthread_cond_broadcast(&pool->work);
    (void)pthread_mutex_unlock(&pool->lock);
    for (int i = 1; i <= pool->started; i++)
        (void)pthread_join(pool->workers[i].thread, NULL);
    (void)pthread_cond_destroy(&pool->done);
    (void)pthread_cond_destroy(&pool->work);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
}

int sl_thread_pool_size(const struct sl_thread_pool *pool)
{
    assert(pool);
    return pool->threads;
}

/* Makes the batch visible and returns its number. */
static uint32_t publish(struct sl_thread_pool *pool, int pieces)
{
    uint32_t batch =
        batch_of(atomic_load_explicit(&pool->workers->ticket, memory_order_relaxed)) + 1;
    atomic_store_explicit(&pool->left, pieces, memory_order_relaxed);
    for (int i = 0; i < pool->threads; i++) {
        int share =
            share_begin(pieces, i + 1, pool->threads) - share_begin(pieces, i, pool->threads);
        atomic_store(&pool->workers[i].ticket, (uint64_t)batch << 32 | (uint32_t)share);
    }
    wake(pool, pieces - 1);
    return batch;
}

void sl_parallel_for(struct sl_thread_pool *pool, int count, int grain,
                     void (*f)(void *ctx, int first, int last, int worker), void *ctx)
{
    assert(pool);
    assert(f);
    assert(count >= 0);
    assert(grain > 0);
    assert(!pool->busy);
    pool->busy = true;
    if (pool->threads == 1 || count <= grain) {
        for (int first = 0, last; first < count; first = last) {
            last = piece_end(first, count, grain);
            f(ctx, first, last, 0);
        }
    } else {
        atomic_store_explicit(&pool->f, f, memory_order_relaxed);
        atomic_store_explicit(&pool->ctx, ctx, memory_order_relaxed);
        atomic_store_explicit(&pool->count, count, memory_order_relaxed);
        atomic_store_explicit(&pool->grain, grain, memory_order_relaxed);
        uint32_t batch = publish(pool, pieces_of(count, grain));
        report(pool, take_part(pool, batch, 0));
        if (!spin(pool->workers, is_finished, 0))
            sleep_until_done(pool);
    }
    pool->busy = false;
}
