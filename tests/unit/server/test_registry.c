/* test_registry.c - versions of models: loaded, replaced and freed while others are in use. */
#include "support/scheduler_fixture.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"
#include "support/tiny_store.h"

#include <stdatomic.h>

static struct scheduler_fixture fixture;

static void close_fixture(void)
{
    scheduler_fixture_release(&fixture);
}

static void spoil(const char *file)
{
    char path[PATH_MAX];
    test_write_file(test_path(path, fixture.store, file), "not a model");
}

static void start(void)
{
    scheduler_fixture_start(&fixture,
                            &(struct sv_scheduler_options){
                                .complete = {.max_sequences = 1,
                                             .max_batch_tokens = 8,
                                             .bounds = {.items_max = 8, .tokens_max = 1000}},
                                .classify = {.max_batch_size = 8,
                                             .max_batch_tokens = MOOD_CONTEXT,
                                             .bounds = {.items_max = 8, .tokens_max = 1000}}});
}

/* mood 4, and what `more` adds before it is loaded. */
static void open_with(void (*more)(void))
{
    scheduler_fixture_init(&fixture, tiny_classifiers_make);
    if (more)
        more();
    start();
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

static struct sv_change_result change(enum sv_change_kind kind, const char *model, long version)
{
    struct outcome outcome = {.finished = false};
    struct sv_change wanted = {.kind = kind, .version = version};
    struct sv_error error;
    (void)snprintf(wanted.model, sizeof wanted.model, "%s", model);
    cr_assert(sv_registry_request(fixture.registry, &wanted, take_result, &outcome, &error));
    scheduler_fixture_wait(&outcome.finished);
    return outcome.result;
}

static void expect_served(const char *name, const char *id)
{
    struct sv_model_ref *ref = sv_registry_acquire(fixture.registry, name, SV_SHARE_MAX);
    cr_assert_eq(ref != NULL, id != NULL, "%s", name);
    if (ref)
        cr_assert_str_eq(sv_model_ref_id(ref), id);
    sv_model_ref_release(ref);
}

static enum sv_version_state state_of(const char *name)
{
    struct sv_version_info info;
    cr_assert_eq(sv_registry_find(fixture.registry, name, &info), SV_FOUND, "%s", name);
    return info.state;
}

static void wait_for_state(const char *name, enum sv_version_state state)
{
    for (int i = 0; i < SCHEDULER_WAIT_MS && state_of(name) != state; i++)
        (void)usleep(1000);
    cr_assert_eq(state_of(name), state, "%s: %s", name, sv_version_state_name(state_of(name)));
}

/* ---- what is served -------------------------------------------------------------------------- */

static void add_two_bad(void)
{
    tiny_store_copy(fixture.store, "mood/4", "mood/5");
    spoil("mood/5/model.safetensors");
    tiny_store_copy(fixture.store, "mood/4", "mood/9");
    spoil("mood/9/config.json");
}

Test(registry, at_start_the_highest_good_version_is_served, .fini = close_fixture)
{
    struct sv_version_info info;
    open_with(add_two_bad);
    expect_served(MOOD, MOOD "@4");
    cr_assert_eq(state_of(MOOD "@9"), SV_VERSION_FAILED);
    cr_assert_eq(sv_registry_find(fixture.registry, MOOD "@5", &info), SV_FOUND);
    cr_assert(strstr(info.reason, "the file was changed"), "%s", info.reason);
    cr_assert_not(strstr(info.reason, fixture.store), "%s", info.reason);
    cr_assert(sv_registry_is_complete(fixture.registry), "every model is served");
}

Test(registry, a_version_in_use_is_freed_when_its_last_user_leaves, .fini = close_fixture)
{
    open_with(NULL);
    tiny_store_copy(fixture.store, "mood/4", "mood/5");
    struct sv_model_ref *user = sv_registry_acquire(fixture.registry, MOOD, SV_SHARE_MAX);
    cr_assert_eq(change(SV_CHANGE_LOAD, MOOD, 0).error.kind, SV_OK);
    expect_served(MOOD, MOOD "@5");
    expect_served(MOOD "@4", MOOD "@4"); /* to be rolled back to */
    cr_assert_eq(change(SV_CHANGE_UNLOAD, MOOD, 4).error.kind, SV_OK);
    expect_served(MOOD "@4", NULL);
    cr_assert_eq(state_of(MOOD "@4"), SV_VERSION_DRAINING);
    struct sv_error error;
    int64_t reserved;
    struct sv_scheduler *scheduler = fixture.scheduler;
    cr_assert(sv_scheduler_admit(scheduler, user, 1, 10, &reserved, &error), "it still runs");
    sv_scheduler_withdraw(scheduler, user, 1, 10);
    sv_model_ref_release(user);
    wait_for_state(MOOD "@4", SV_VERSION_UNLOADED);
}

Test(registry, the_version_before_the_last_is_unloaded_when_stable_moves, .fini = close_fixture)
{
    open_with(NULL);
    tiny_store_copy(fixture.store, "mood/4", "mood/5");
    cr_assert_eq(change(SV_CHANGE_LOAD, MOOD, 0).version, 5);
    tiny_store_copy(fixture.store, "mood/4", "mood/6");
    cr_assert_eq(change(SV_CHANGE_LOAD, MOOD, 0).version, 6);
    expect_served(MOOD, MOOD "@6");
    expect_served(MOOD "@5", MOOD "@5");
    wait_for_state(MOOD "@4", SV_VERSION_UNLOADED);
}

Test(registry, a_bad_version_changes_nothing, .fini = close_fixture)
{
    open_with(NULL);
    tiny_store_copy(fixture.store, "mood/4", "mood/5");
    spoil("mood/5/model.safetensors");
    const struct sv_change_result result = change(SV_CHANGE_LOAD, MOOD, 0);
    cr_assert_eq(result.error.kind, SV_LOAD_FAILED);
    cr_assert(strstr(result.error.message, "The model 'mood@5' could not be loaded: "), "%s",
              result.error.message);
    expect_served(MOOD, MOOD "@4");
    cr_assert_eq(state_of(MOOD "@5"), SV_VERSION_FAILED);
    spoil("mood/4/model.safetensors");
    cr_assert_eq(change(SV_CHANGE_LOAD, MOOD, 4).error.kind, SV_LOAD_FAILED, "a reload");
    cr_assert_eq(state_of(MOOD "@4"), SV_VERSION_READY);
    expect_served(MOOD, MOOD "@4");
}

Test(registry, a_version_is_loaded_without_being_given_to_requests, .fini = close_fixture)
{
    open_with(NULL);
    tiny_store_copy(fixture.store, "mood/4", "mood/7");
    cr_assert_eq(change(SV_CHANGE_LOAD, MOOD, 7).version, 7);
    expect_served(MOOD, MOOD "@4");
    expect_served(MOOD "@7", MOOD "@7");
    cr_assert_eq(change(SV_CHANGE_LOAD, MOOD, 8).error.kind, SV_MODEL_NOT_FOUND);
    cr_assert_eq(change(SV_CHANGE_LOAD, "none", 0).error.kind, SV_MODEL_NOT_FOUND);
    cr_assert_eq(change(SV_CHANGE_LOAD, "../mood", 0).error.kind, SV_MODEL_NOT_FOUND);
}

Test(registry, an_unloaded_model_comes_back, .fini = close_fixture)
{
    open_with(NULL);
    cr_assert_eq(change(SV_CHANGE_UNLOAD, MOOD, 0).error.kind, SV_OK);
    expect_served(MOOD, NULL);
    expect_served(PLAIN, PLAIN "@4");
    wait_for_state(MOOD "@4", SV_VERSION_UNLOADED);
    cr_assert_eq(change(SV_CHANGE_LOAD, MOOD, 4).error.kind, SV_OK);
    expect_served(MOOD, MOOD "@4");
    cr_assert_eq(change(SV_CHANGE_UNLOAD, MOOD, 3).error.kind, SV_MODEL_NOT_FOUND);
}
