/* batcher_world.h - a scheduler over a store of tiny models, and requests without connections. */
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
    struct sv_scheduler *scheduler;
    struct sv_model_ref *ref[2]; /* that were found */
    struct sv_server server;
} world;

/* The models that `make` writes, one thread, no scheduler yet. */
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
static inline struct sv_model_ref *world_find(const char *id)
{
    struct sl_err err;
    struct sv_model_ref **free_place = world.ref[0] ? &world.ref[1] : &world.ref[0];
    cr_assert_null(*free_place);
    EXPECT_OK((*free_place = sv_registry_acquire(world.registry, id, &err)), err);
    return *free_place;
}

static inline void world_start(const struct sv_scheduler_options *options)
{
    struct sl_err err;
    EXPECT_OK((world.scheduler = sv_scheduler_create(options, world.registry, world.metrics, &err)),
              err);
}

static inline void world_close(void)
{
    sv_scheduler_destroy(world.scheduler);
    for (int i = 0; i < 2; i++)
        if (world.ref[i])
            sv_model_ref_release(world.ref[i]);
    sv_registry_destroy(world.registry);
    sv_metrics_destroy(world.metrics);
    sl_engine_destroy(world.engine);
    test_directory_remove(world.store);
}

/* ---- requests without connections --------------------------------------------------------------
 */

static inline void world_nothing(void *connection)
{
    (void)connection;
}

static inline void world_cancel(struct sv_request *request)
{
    (void)request;
    sv_scheduler_sweep(world.scheduler);
}

static inline void world_keep(void *state)
{
    (void)state;
}

/* To be released with sv_request_release. */
static inline struct sv_request *world_call(void)
{
    static const struct sv_transport transport = {.suspend = world_nothing,
                                                  .resume = world_nothing};
    static const struct sv_async async = {.cancel = world_cancel, .destroy = world_keep};
    struct sv_request *request = sv_request_create(&world.server, &transport, NULL);
    cr_assert(request);
    request->async = &async;
    return request;
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
    for (int i = 0; i < WAIT_MS && sv_scheduler_pending(world.scheduler) > 0; i++)
        nap();
    cr_assert_eq(sv_scheduler_pending(world.scheduler), 0);
    cr_assert(sv_scheduler_is_alive(world.scheduler));
}
