/* test_registry.c - versions of models: loaded, replaced and freed while others are in use. */
#include "support/registry_fixture.h"
#include "support/test.h"
#include "support/tiny_store.h"

#include <sys/stat.h>
#include <unistd.h>

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
    registry_fixture_open(&fixture, add_two_bad);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    cr_assert_eq(registry_state_of(&fixture, MOOD "@9"), SV_VERSION_FAILED);
    cr_assert_eq(sv_registry_find(fixture.registry, MOOD "@5", &info), SV_FOUND);
    cr_assert(strstr(info.reason, "the file is damaged or was changed"), "%s", info.reason);
    cr_assert_not(strstr(info.reason, fixture.store), "%s", info.reason);
    cr_assert(sv_registry_is_complete(fixture.registry), "every model is served");
}

static void add_base(void)
{
    tiny_store_make_base(fixture.store);
}

/* It gives embeddings. */
Test(registry, a_pretrained_model_is_served, .fini = close_fixture)
{
    registry_fixture_open(&fixture, add_base);
    registry_expect_served(&fixture, "base", "base@1");
    cr_assert(sv_registry_is_complete(fixture.registry));
}

Test(registry, a_version_in_use_is_freed_when_its_last_user_leaves, .fini = close_fixture)
{
    registry_fixture_open(&fixture, NULL);
    tiny_store_copy(fixture.store, "mood/4", "mood/5");
    struct sv_model_ref *user = sv_registry_acquire(fixture.registry, MOOD, SV_SHARE_MAX);
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 0).error.kind, SV_OK);
    registry_expect_served(&fixture, MOOD, MOOD "@5");
    registry_expect_served(&fixture, MOOD "@4", MOOD "@4"); /* to be rolled back to */
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_UNLOAD, MOOD, 4).error.kind, SV_OK);
    registry_expect_served(&fixture, MOOD "@4", NULL);
    cr_assert_eq(registry_state_of(&fixture, MOOD "@4"), SV_VERSION_DRAINING);
    struct sv_error error;
    int64_t reserved;
    struct sv_scheduler *scheduler = fixture.scheduler;
    cr_assert(sv_scheduler_admit(scheduler, user, 1, 10, &reserved, &error), "it still runs");
    sv_scheduler_withdraw(scheduler, user, 1, 10);
    sv_model_ref_release(user);
    registry_wait_for_state(&fixture, MOOD "@4", SV_VERSION_UNLOADED);
}

Test(registry, the_version_before_the_last_is_unloaded_when_stable_moves, .fini = close_fixture)
{
    registry_fixture_open(&fixture, NULL);
    tiny_store_copy(fixture.store, "mood/4", "mood/5");
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 0).version, 5);
    tiny_store_copy(fixture.store, "mood/4", "mood/6");
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 0).version, 6);
    registry_expect_served(&fixture, MOOD, MOOD "@6");
    registry_expect_served(&fixture, MOOD "@5", MOOD "@5");
    registry_wait_for_state(&fixture, MOOD "@4", SV_VERSION_UNLOADED);
}

Test(registry, a_bad_version_changes_nothing, .fini = close_fixture)
{
    registry_fixture_open(&fixture, NULL);
    tiny_store_copy(fixture.store, "mood/4", "mood/5");
    spoil("mood/5/model.safetensors");
    const struct sv_change_result result = registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 0);
    cr_assert_eq(result.error.kind, SV_LOAD_FAILED);
    cr_assert(strstr(result.error.message, "The model 'mood@5' could not be loaded: "), "%s",
              result.error.message);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    cr_assert_eq(registry_state_of(&fixture, MOOD "@5"), SV_VERSION_FAILED);
    spoil("mood/4/model.safetensors");
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 4).error.kind, SV_LOAD_FAILED,
                 "a reload");
    cr_assert_eq(registry_state_of(&fixture, MOOD "@4"), SV_VERSION_READY);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_UNLOAD, MOOD, 0).error.kind, SV_OK);
    cr_assert_str_eq(registry_info_of(&fixture, MOOD "@4").reason, "", "it was on purpose");
}

/* Its files were replaced while it was served. */
Test(registry, a_served_version_stays_ready_when_it_becomes_one_of_another_task,
     .fini = close_fixture)
{
    char path[PATH_MAX], old[PATH_MAX];
    registry_fixture_open(&fixture, add_base);
    (void)test_path(path, fixture.store, "mood/4");
    cr_assert_eq(rename(path, test_path(old, fixture.store, ".old")), 0);
    tiny_store_copy(fixture.store, "base/1", "mood/4");
    const struct sv_change_result result = registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 4);
    cr_assert_eq(result.error.kind, SV_LOAD_FAILED);
    cr_assert(strstr(result.error.message, "it embeds texts, and mood@4, which is served"), "%s",
              result.error.message);
    cr_assert_eq(registry_state_of(&fixture, MOOD "@4"), SV_VERSION_READY);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
}

Test(registry, a_version_is_loaded_without_being_given_to_requests, .fini = close_fixture)
{
    registry_fixture_open(&fixture, NULL);
    tiny_store_copy(fixture.store, "mood/4", "mood/7");
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 7).version, 7);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    registry_expect_served(&fixture, MOOD "@7", MOOD "@7");
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 8).error.kind, SV_MODEL_NOT_FOUND);
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, "none", 0).error.kind,
                 SV_MODEL_NOT_FOUND);
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, "../mood", 0).error.kind,
                 SV_MODEL_NOT_FOUND);
}

Test(registry, an_unloaded_model_comes_back, .fini = close_fixture)
{
    registry_fixture_open(&fixture, NULL);
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_UNLOAD, MOOD, 0).error.kind, SV_OK);
    registry_expect_served(&fixture, MOOD, NULL);
    registry_expect_served(&fixture, PLAIN, PLAIN "@4");
    registry_wait_for_state(&fixture, MOOD "@4", SV_VERSION_UNLOADED);
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 4).error.kind, SV_OK);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_UNLOAD, MOOD, 3).error.kind,
                 SV_MODEL_NOT_FOUND);
}

/* ---- what jobs leave ------------------------------------------------------------------------- */

static void load_candidate(long version)
{
    struct sv_change change = {.kind = SV_CHANGE_LOAD, .version = version, .is_candidate = true};
    (void)snprintf(change.model, sizeof change.model, "%s", MOOD);
    cr_assert_eq(registry_make_change(&fixture, &change).error.kind, SV_OK);
}

static void add_five(void)
{
    for (int i = 5; i <= 9; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "mood/%d", i);
        tiny_store_copy(fixture.store, "mood/4", name);
    }
}

/* 4 is stable, 5 was never labelled, 6 has a label, 7 was loaded by hand, 8 is stable before 9. */
Test(registry, a_candidate_is_unloaded_by_the_next_unless_it_is_kept, .fini = close_fixture)
{
    registry_fixture_open(&fixture, NULL);
    add_five();
    load_candidate(5);
    registry_expect_served(&fixture, MOOD "@5", MOOD "@5");
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    load_candidate(6);
    registry_expect_served(&fixture, MOOD "@5", NULL);
    (void)registry_label(&fixture, MOOD, "blue", 6, SV_WEIGHT_KEPT);
    load_candidate(7);
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 7).error.kind, SV_OK);
    load_candidate(8);
    (void)registry_label(&fixture, MOOD, "stable", 8, SV_WEIGHT_KEPT);
    (void)registry_label(&fixture, MOOD, "stable", 4, SV_WEIGHT_KEPT);
    load_candidate(9);
    registry_expect_served(&fixture, MOOD "@6", MOOD "@6");
    registry_expect_served(&fixture, MOOD "@7", MOOD "@7");
    registry_expect_served(&fixture, MOOD "@8", MOOD "@8");
    registry_expect_served(&fixture, MOOD "@9", MOOD "@9");
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_ROLL_BACK, MOOD, 0).version, 8);
}

/* ---- what appears in the store --------------------------------------------------------------- */

/* Without its manifest, as while it is copied. */
static void copy_half(const char *version)
{
    char path[PATH_MAX], name[64];
    (void)snprintf(name, sizeof name, "mood/%s", version);
    tiny_store_copy(fixture.store, "mood/4", name);
    (void)snprintf(name, sizeof name, "mood/%s/manifest.json", version);
    cr_assert_eq(unlink(test_path(path, fixture.store, name)), 0);
}

/* The rest of it. */
static void complete(const char *version)
{
    char from[PATH_MAX], to[PATH_MAX], name[64];
    (void)snprintf(name, sizeof name, "mood/%s/manifest.json", version);
    (void)test_path(from, fixture.store, "mood/4/manifest.json");
    cr_assert_eq(link(from, test_path(to, fixture.store, name)), 0);
}

static void rescan_until(const char *id)
{
    sv_registry_rescan(fixture.registry);
    for (int i = 0; i < 1000; i++) {
        struct sv_model_ref *ref = sv_registry_acquire(fixture.registry, MOOD, SV_SHARE_MAX);
        bool served = ref && strcmp(ref->id, id) == 0;
        sv_model_ref_release(ref);
        if (served)
            return;
        (void)usleep(5000);
    }
    cr_assert(false, "%s is not served", id);
}

Test(registry, below_a_version_that_is_being_copied_the_highest_whole_one_is_served,
     .fini = close_fixture)
{
    registry_fixture_open(&fixture, NULL);
    tiny_store_copy(fixture.store, "mood/4", "mood/5");
    copy_half("6");
    rescan_until(MOOD "@5");
    complete("6");
    rescan_until(MOOD "@6");
}

Test(registry, below_a_bad_version_the_next_good_one_is_served, .fini = close_fixture)
{
    registry_fixture_open(&fixture, NULL);
    tiny_store_copy(fixture.store, "mood/4", "mood/7");
    tiny_store_copy(fixture.store, "mood/4", "mood/8");
    spoil("mood/8/model.safetensors");
    rescan_until(MOOD "@7");
    cr_assert_eq(registry_state_of(&fixture, MOOD "@8"), SV_VERSION_FAILED);
}

static void add_half(void)
{
    copy_half("9");
}

Test(registry, a_version_that_was_being_copied_at_the_start_is_found_later, .fini = close_fixture)
{
    registry_fixture_open(&fixture, add_half);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    complete("9");
    rescan_until(MOOD "@9");
}

Test(registry, models_that_are_gone_give_their_places_to_others, .fini = close_fixture)
{
    char path[PATH_MAX], version[PATH_MAX], name[16];
    registry_fixture_open(&fixture, NULL);
    for (int i = 0; i < SV_MODELS_MAX + 2; i++) {
        (void)snprintf(name, sizeof name, "m%03d", i);
        cr_assert_eq(mkdir(test_path(path, fixture.store, name), 0700), 0);
        cr_assert_eq(mkdir(test_path(version, path, "1"), 0700), 0);
        cr_assert_neq(registry_change(&fixture, SV_CHANGE_LOAD, name, 1).error.kind, SV_OK);
        cr_assert_eq(rmdir(version), 0);
        cr_assert_eq(rmdir(path), 0);
    }
    tiny_store_copy(fixture.store, "mood/4", "new/1");
    const struct sv_change_result result = registry_change(&fixture, SV_CHANGE_LOAD, "new", 0);
    cr_assert_eq(result.error.kind, SV_OK, "%s", result.error.message);
    registry_expect_served(&fixture, "new", "new@1");
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_UNLOAD, "new", 0).error.kind, SV_OK);
    registry_wait_for_state(&fixture, "new@1", SV_VERSION_UNLOADED);
    test_directory_remove(test_path(path, fixture.store, "new"));
    struct sv_version_info info;
    sv_registry_rescan(fixture.registry);
    for (int i = 0; sv_registry_find(fixture.registry, "new", &info) != SV_NO_MODEL; i++) {
        cr_assert_lt(i, 1000, "it is still there");
        (void)usleep(5000);
    }
    tiny_store_copy(fixture.store, "mood/4", "new/1");
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, "new", 0).error.kind, SV_OK);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
}

/* ---- another task ---------------------------------------------------------------------------- */

static void add_generator(void)
{
    tiny_store_make(fixture.store);
}

/* Otherwise it would be: nothing is served by then that it could be compared with. */
Test(registry, a_version_that_was_refused_is_not_served_after_a_restart, .fini = close_fixture)
{
    registry_fixture_open(&fixture, add_generator);
    tiny_store_copy(fixture.store, "tiny/1", "mood/5");
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 0).error.kind, SV_LOAD_FAILED);
    registry_fixture_restart(&fixture);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    tiny_store_copy(fixture.store, "mood/4", "mood/6");
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 0).version, 6);
    registry_fixture_restart(&fixture);
    registry_expect_served(&fixture, MOOD, MOOD "@6");
}

Test(registry, nor_is_one_that_was_found_and_refused, .fini = close_fixture)
{
    registry_fixture_open(&fixture, add_generator);
    tiny_store_copy(fixture.store, "tiny/1", "mood/6");
    tiny_store_copy(fixture.store, "mood/4", "mood/5");
    rescan_until(MOOD "@5");
    registry_fixture_restart(&fixture);
    registry_expect_served(&fixture, MOOD, MOOD "@5");
}
