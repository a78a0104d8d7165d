/* scheduler_fixture.c - a scheduler over tiny models, without HTTP. */
#include "support/scheduler_fixture.h"

#include "support/test.h"

void scheduler_fixture_init(struct scheduler_fixture *f, void (*make)(const char *store))
{
    struct sl_err err;
    const struct sl_engine_options engine = {.threads = 1};
    *f = (struct scheduler_fixture){0};
    test_directory_create(f->store);
    make(f->store);
    EXPECT_OK((f->engine = sl_engine_create(&engine, &err)), err);
    EXPECT_OK((f->metrics = sv_metrics_create(&err)), err);
}

void scheduler_fixture_start(struct scheduler_fixture *f,
                             const struct sv_scheduler_options *options)
{
    struct sl_err err;
    EXPECT_OK((f->scheduler = sv_scheduler_create(options, f->metrics, &err)), err);
    f->server.scheduler = f->scheduler;
    const struct sv_registry_options registry = {.store = f->store,
                                                 .engine = f->engine,
                                                 .metrics = f->metrics,
                                                 .host = sv_scheduler_host(f->scheduler)};
    EXPECT_OK((f->registry = sv_registry_create(&registry, &err)), err);
    EXPECT_OK(sv_registry_load(f->registry, &err), err);
    cr_assert(sv_registry_is_complete(f->registry));
}

struct sv_model_ref *scheduler_fixture_acquire(struct scheduler_fixture *f, const char *id)
{
    struct sv_model_ref **free_place = f->ref[0] ? &f->ref[1] : &f->ref[0];
    cr_assert_null(*free_place);
    cr_assert(*free_place = sv_registry_acquire(f->registry, id, SV_SHARE_MAX));
    return *free_place;
}

void scheduler_fixture_stop(struct scheduler_fixture *f)
{
    sv_scheduler_stop(f->scheduler);
    for (int i = 0; i < 2; i++) {
        sv_model_ref_release(f->ref[i]);
        f->ref[i] = NULL;
    }
    sv_registry_destroy(f->registry);
    sv_scheduler_destroy(f->scheduler);
    f->registry = NULL;
    f->scheduler = NULL;
}

void scheduler_fixture_release(struct scheduler_fixture *f)
{
    scheduler_fixture_stop(f);
    sv_metrics_destroy(f->metrics);
    sl_engine_destroy(f->engine);
    test_directory_remove(f->store);
}

/* ---- requests without connections ------------------------------------------------------------ */

static void ignore(void *connection)
{
    (void)connection;
}

static void cancel(struct sv_request *request)
{
    sv_scheduler_sweep(request->server->scheduler);
}

static void ignore_state(void *state)
{
    (void)state;
}

struct sv_request *scheduler_fixture_request(struct scheduler_fixture *f)
{
    static const struct sv_transport transport = {.suspend = ignore, .resume = ignore};
    static const struct sv_async async = {.cancel = cancel, .destroy = ignore_state};
    struct sv_request *request = sv_request_create(&f->server, &transport, NULL);
    cr_assert(request);
    request->async = &async;
    return request;
}

void scheduler_fixture_wait(const atomic_bool *finished)
{
    for (int i = 0; i < SCHEDULER_WAIT_MS && !atomic_load(finished); i++)
        (void)usleep(1000);
    cr_assert(atomic_load(finished), "not finished in %d ms", SCHEDULER_WAIT_MS);
}

void scheduler_fixture_expect_idle(const struct scheduler_fixture *f)
{
    for (int i = 0; i < SCHEDULER_WAIT_MS && sv_scheduler_pending(f->scheduler) > 0; i++)
        (void)usleep(1000);
    cr_assert_eq(sv_scheduler_pending(f->scheduler), 0);
    cr_assert(sv_scheduler_is_alive(f->scheduler));
}
