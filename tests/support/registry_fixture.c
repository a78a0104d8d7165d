/* registry_fixture.c - a registry over a store of two classifiers, run by a scheduler. */
#include "support/registry_fixture.h"

#include "support/test.h"

static void start(struct scheduler_fixture *fixture)
{
    scheduler_fixture_start(fixture,
                            &(struct sv_scheduler_options){
                                .complete = {.max_sequences = 1,
                                             .max_batch_tokens = 8,
                                             .bounds = {.items_max = 8, .tokens_max = 1000}},
                                .classify = {.max_batch_size = 8,
                                             .max_batch_tokens = MOOD_CONTEXT,
                                             .bounds = {.items_max = 8, .tokens_max = 1000}}});
}

void registry_fixture_open(struct scheduler_fixture *fixture, void (*more)(void))
{
    scheduler_fixture_init(fixture, tiny_classifiers_make);
    if (more)
        more();
    start(fixture);
}

void registry_fixture_restart(struct scheduler_fixture *fixture)
{
    scheduler_fixture_stop(fixture);
    start(fixture);
}

/* ---- changes, waited for --------------------------------------------------------------------- */

struct outcome {
    struct sv_change_result result;
    atomic_bool finished;
};

static void take_result(void *context, const struct sv_change_result *result)
{
    struct outcome *outcome = context;
    outcome->result = *result;
    atomic_store(&outcome->finished, true);
}

struct sv_change_result registry_make_change(struct scheduler_fixture *fixture,
                                             const struct sv_change *change)
{
    struct outcome outcome = {.finished = false};
    struct sv_error error;
    cr_assert(sv_registry_request(fixture->registry, change, take_result, &outcome, &error));
    scheduler_fixture_wait(&outcome.finished);
    return outcome.result;
}

struct sv_change_result registry_change(struct scheduler_fixture *fixture, enum sv_change_kind kind,
                                        const char *model, long version)
{
    struct sv_change change = {.kind = kind, .version = version};
    (void)snprintf(change.model, sizeof change.model, "%s", model);
    return registry_make_change(fixture, &change);
}

struct sv_change_result registry_label(struct scheduler_fixture *fixture, const char *model,
                                       const char *label, long version, int weight)
{
    struct sv_change change = {.kind = SV_CHANGE_LABEL, .version = version, .weight = weight};
    (void)snprintf(change.model, sizeof change.model, "%s", model);
    (void)snprintf(change.label, sizeof change.label, "%s", label);
    return registry_make_change(fixture, &change);
}

/* ---- what is served -------------------------------------------------------------------------- */

void registry_expect_served(const struct scheduler_fixture *fixture, const char *name,
                            const char *id)
{
    struct sv_model_ref *ref = sv_registry_acquire(fixture->registry, name, SV_SHARE_MAX);
    cr_assert_eq(ref != NULL, id != NULL, "%s", name);
    if (ref)
        cr_assert_str_eq(ref->id, id);
    sv_model_ref_release(ref);
}

struct sv_version_info registry_info_of(const struct scheduler_fixture *fixture, const char *name)
{
    struct sv_version_info info;
    cr_assert_eq(sv_registry_find(fixture->registry, name, &info), SV_FOUND, "%s", name);
    return info;
}

enum sv_version_state registry_state_of(const struct scheduler_fixture *fixture, const char *name)
{
    return registry_info_of(fixture, name).state;
}

void registry_wait_for_state(const struct scheduler_fixture *fixture, const char *name,
                             enum sv_version_state state)
{
    for (int i = 0; i < SCHEDULER_WAIT_MS && registry_state_of(fixture, name) != state; i++)
        (void)usleep(1000);
    cr_assert_eq(registry_state_of(fixture, name), state, "%s: %s", name,
                 sv_version_state_name(registry_state_of(fixture, name)));
}
