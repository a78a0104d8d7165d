/* thread_pool.h - the engine's threads, and the only way it uses more than one.
 *
 * sl_parallel_for cuts 0..count into pieces of `grain` and calls f(ctx, first, last, worker) once
 * for each piece, from any thread, in any order; it returns when all are done. Pieces are the same
 * whatever the number of threads, so an op that keeps every sum inside one piece gives the same
 * bits with 1 thread and with 64. `worker`, 0 .. sl_thread_pool_size()-1, differs between pieces
 * that run at the same time: use it to pick scratch memory.
 *
 * Idle threads sleep, after spinning for a few microseconds. One caller at a time: the thread that
 * runs a batch owns the pool. */
#pragma once

#include "sluice/err.h"

struct sl_thread_pool;

struct sl_thread_pool *sl_thread_pool_create(int threads, struct sl_err *err) SL_MUST_CHECK;
void sl_thread_pool_destroy(struct sl_thread_pool *pool); /* NULL is fine */
int sl_thread_pool_size(const struct sl_thread_pool *pool);

void sl_parallel_for(struct sl_thread_pool *pool, int count, int grain,
                     void (*f)(void *ctx, int first, int last, int worker), void *ctx);
