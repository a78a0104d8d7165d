/* batcher_world.h - a batcher over a store of tiny models, and calls without connections. */
#pragma once

#include "serve/scheduler.h"
#include "support/test.h"

#include "sluice/sluice.h"

enum { WAIT_MS = 30000 };

static struct {
    char store[PATH_MAX];
    struct sl_engine *engine;
    struct sv_metrics *metrics;
    struct sv_registry *registry;
    struct sv_batcher *batcher;
    struct sv_served *served[2]; /* that were found */
    struct sv_server server;
} world;

/* The models that `make` writes, one thread, no batcher yet. */
static inline void world_stock(void (*make)(const char *store))
{
    struct sl_err err;
    const struct sl_engine_options engine = {.threads = 1};
    test_directory_create(world.store);
    make(world.store);
    EXPECT_OK((world.engine = sl_engine_create(&engine, &err)), err);
    EXPECT_OK((world.metrics = sv_metrics_create(&err)), err);
    EXPECT_OK((world.registry = sv_registry_create(world.engine, world.metrics, &err)), err);
    EXPECT_OK(sv_registry_load(world.registry, world.store, &err), err);
    cr_assert(sv_registry_is_complete(world.registry));
}

/* It stays until the world closes. */
static inline struct sv_served *world_find(const char *id)
{
    struct sl_err err;
    struct sv_served **free_place = world.served[0] ? &world.served[1] : &world.served[0];
    cr_assert_null(*free_place);
    EXPECT_OK((*free_place = sv_registry_acquire(world.registry, id, &err)), err);
    return *free_place;
}

static inline void world_start(const struct sv_batcher_options *options)
{
    struct sl_err err;
    EXPECT_OK((world.batcher = sv_batcher_create(options, world.registry, world.metrics, &err)),
              err);
}

static inline void world_close(void)
{
    sv_batcher_destroy(world.batcher);
    for (int i = 0; i < 2; i++)
        if (world.served[i])
            sv_served_release(world.served[i]);
    sv_registry_destroy(world.registry);
    sv_metrics_destroy(world.metrics);
    sl_engine_destroy(world.engine);
    test_directory_remove(world.store);
}

/* ---- calls without connections -------------------------------------------------------------- */

static inline void world_nothing(void *connection)
{
    (void)connection;
}

static inline void world_cancel(struct sv_call *call)
{
    (void)call;
    sv_batcher_sweep(world.batcher);
}

static inline void world_keep(void *state)
{
    (void)state;
}

/* To be released with sv_call_release. */
static inline struct sv_call *world_call(void)
{
    static const struct sv_line line = {.suspend = world_nothing, .resume = world_nothing};
    static const struct sv_work work = {.cancel = world_cancel, .destroy = world_keep};
    struct sv_call *call = sv_call_create(&world.server, &line, NULL);
    cr_assert(call);
    call->work = &work;
    return call;
}

static inline void nap(void)
{
    (void)usleep(1000);
}

static inline void wait_until(const atomic_bool *finished)
{
    for (int i = 0; i < WAIT_MS && !atomic_load(finished); i++)
        nap();
    cr_assert(atomic_load(finished), "not finished in %d ms", WAIT_MS);
}

static inline void expect_idle(void)
{
    for (int i = 0; i < WAIT_MS && sv_batcher_items(world.batcher) > 0; i++)
        nap();
    cr_assert_eq(sv_batcher_items(world.batcher), 0);
    cr_assert(sv_batcher_is_alive(world.batcher));
}
