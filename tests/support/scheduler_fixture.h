/* scheduler_fixture.h - a scheduler over a store of tiny models, and requests without connections.
 *
 * The test owns it, as a static variable that its setup and teardown share. */
#pragma once

#include "serve/scheduler.h"

#include "sluice/sluice.h"

#include <limits.h>
#include <stdatomic.h>

enum { SCHEDULER_WAIT_MS = 30000 };

struct scheduler_fixture {
    char store[PATH_MAX];
    struct sl_engine *engine;
    struct sv_metrics *metrics;
    struct sv_registry *registry;
    struct sv_scheduler *scheduler;
    struct sv_model_ref *ref[2]; /* that were acquired */
    struct sv_server server;
};

/* The models that `make` writes into a store, for one thread. There is no scheduler yet. */
void scheduler_fixture_init(struct scheduler_fixture *f, void (*make)(const char *store));

/* Starts the scheduler and loads the models. */
void scheduler_fixture_start(struct scheduler_fixture *f,
                             const struct sv_scheduler_options *options);

/* A model by its id, until scheduler_fixture_release; at most two. */
struct sv_model_ref *scheduler_fixture_acquire(struct scheduler_fixture *f, const char *id);

/* Stops it; it may be started again, with what the store holds by then. */
void scheduler_fixture_stop(struct scheduler_fixture *f);
/* Stops it and frees everything. */
void scheduler_fixture_release(struct scheduler_fixture *f);

/* A request whose connection does nothing. Release it with sv_request_release. */
struct sv_request *scheduler_fixture_request(struct scheduler_fixture *f);

/* Waits until *finished, or fails after SCHEDULER_WAIT_MS. */
void scheduler_fixture_wait(const atomic_bool *finished);

/* Waits until the scheduler holds nothing, or fails after SCHEDULER_WAIT_MS. */
void scheduler_fixture_expect_idle(const struct scheduler_fixture *f);
