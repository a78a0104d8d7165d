/* test_labels.c - names for versions: what they mean, how requests are split, what survives. */
#include "support/registry_fixture.h"
#include "support/test.h"
#include "support/tiny_store.h"

static struct scheduler_fixture fixture;

static void close_fixture(void)
{
    scheduler_fixture_release(&fixture);
}

static void add_versions(void)
{
    tiny_store_copy(fixture.store, "mood/4", "mood/5");
    tiny_store_copy(fixture.store, "mood/4", "mood/6");
}

/* mood 4, 5 and 6 are in the store, and 4 is the only one loaded. */
static void open_with_4(void)
{
    registry_fixture_open(&fixture, NULL);
    add_versions();
}

static void read_file(char text[static 1024])
{
    char path[PATH_MAX];
    test_read_file(text, 1024, test_path(path, fixture.store, "mood/labels.json"));
}

static void expect_label(const char *label, long version, int weight, enum sv_error_kind kind)
{
    const struct sv_change_result result = registry_label(&fixture, MOOD, label, version, weight);
    cr_assert_eq(result.error.kind, kind, "%s %ld: %s", label, version, result.error.message);
}

static enum sv_error_kind remove_label(const char *label)
{
    struct sv_change change = {.kind = SV_CHANGE_UNLABEL, .model = MOOD};
    (void)snprintf(change.label, sizeof change.label, "%s", label);
    return registry_make_change(&fixture, &change).error.kind;
}

/* How many of a hundred requests for mood the version gets. */
static int share_of(const char *id)
{
    int count = 0;
    for (int i = 0; i < 100; i++) {
        struct sv_model_ref *ref = sv_registry_acquire(fixture.registry, MOOD, SV_SHARE_NEXT);
        cr_assert(ref);
        count += strcmp(ref->id, id) == 0;
        sv_model_ref_release(ref);
    }
    return count;
}

/* ---- free names ------------------------------------------------------------------------------ */

Test(labels, a_label_loads_its_version_and_names_it, .fini = close_fixture)
{
    open_with_4();
    expect_label("blue", 5, SV_WEIGHT_KEPT, SV_OK);
    registry_expect_served(&fixture, MOOD ":blue", MOOD "@5");
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    const struct sv_version_info info = registry_info_of(&fixture, MOOD ":blue");
    cr_assert_eq(info.label_count, 1);
    cr_assert_str_eq(info.labels[0], "blue");
    struct sv_version_info none;
    cr_assert_eq(sv_registry_find(fixture.registry, MOOD ":green", &none), SV_NO_LABEL);
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_UNLOAD, MOOD, 5).error.kind, SV_CONFLICT);
    const struct sv_change_result moved = registry_label(&fixture, MOOD, "blue", 6, SV_WEIGHT_KEPT);
    cr_assert_eq(moved.before, 5);
    cr_assert_eq(moved.version, 6);
    registry_wait_for_state(&fixture, MOOD "@5", SV_VERSION_UNLOADED);
    cr_assert_eq(remove_label("blue"), SV_OK);
    registry_wait_for_state(&fixture, MOOD "@6", SV_VERSION_UNLOADED);
    cr_assert_eq(remove_label("blue"), SV_MODEL_NOT_FOUND);
}

Test(labels, what_is_no_label_is_refused, .fini = close_fixture)
{
    open_with_4();
    expect_label("7up", 5, SV_WEIGHT_KEPT, SV_INVALID_VALUE);
    expect_label("", 5, SV_WEIGHT_KEPT, SV_INVALID_VALUE);
    expect_label("a/b", 5, SV_WEIGHT_KEPT, SV_INVALID_VALUE);
    expect_label("blue", 5, 10, SV_INVALID_VALUE);
    expect_label("canary", 5, 101, SV_INVALID_VALUE);
    expect_label("blue", 9, SV_WEIGHT_KEPT, SV_MODEL_NOT_FOUND);
    expect_label("blue", 0, SV_WEIGHT_KEPT, SV_MODEL_NOT_FOUND);
    cr_assert_eq(remove_label("stable"), SV_CONFLICT);
    for (int i = 0; i < SV_LABELS_MAX; i++) {
        char label[16];
        (void)snprintf(label, sizeof label, "l%d", i);
        expect_label(label, 5, SV_WEIGHT_KEPT, i < SV_LABELS_MAX - 1 ? SV_OK : SV_CONFLICT);
    }
}

/* ---- stable and canary ----------------------------------------------------------------------- */

Test(labels, the_canary_gets_exactly_its_share, .fini = close_fixture)
{
    open_with_4();
    expect_label("canary", 5, 10, SV_OK);
    cr_assert_eq(share_of(MOOD "@5"), 10);
    cr_assert_eq(share_of(MOOD "@4"), 90);
    expect_label("canary", 0, 33, SV_OK);
    cr_assert_eq(share_of(MOOD "@5"), 33);
    cr_assert_eq(registry_info_of(&fixture, MOOD ":canary").weight, 33);
    expect_label("canary", 6, SV_WEIGHT_KEPT, SV_OK);
    cr_assert_eq(share_of(MOOD "@6"), 33, "a new canary keeps the weight");
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    expect_label("stable", 6, SV_WEIGHT_KEPT, SV_OK);
    cr_assert_eq(share_of(MOOD "@6"), 100);
    struct sv_version_info info;
    cr_assert_eq(sv_registry_find(fixture.registry, MOOD ":canary", &info), SV_NO_LABEL,
                 "it was promoted");
}

Test(labels, rolling_back_moves_stable_to_where_it_was, .fini = close_fixture)
{
    open_with_4();
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_ROLL_BACK, MOOD, 0).error.kind, SV_CONFLICT);
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 0).version, 6);
    const struct sv_change_result back = registry_change(&fixture, SV_CHANGE_ROLL_BACK, MOOD, 0);
    cr_assert_eq(back.version, 4);
    cr_assert_eq(back.before, 6);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    registry_fixture_restart(&fixture);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    registry_expect_served(&fixture, MOOD "@6", NULL);
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_ROLL_BACK, MOOD, 0).version, 6);
    registry_expect_served(&fixture, MOOD, MOOD "@6");
}

/* ---- what survives --------------------------------------------------------------------------- */

Test(labels, labels_survive_a_restart, .fini = close_fixture)
{
    char text[1024];
    open_with_4();
    expect_label("canary", 5, 25, SV_OK);
    expect_label("blue", 6, SV_WEIGHT_KEPT, SV_OK);
    read_file(text);
    cr_assert_str_eq(text, "{\"labels\":[{\"label\":\"stable\",\"version\":4},"
                           "{\"label\":\"canary\",\"version\":5,\"weight\":25},"
                           "{\"label\":\"blue\",\"version\":6}],\"previous\":0}\n");
    registry_fixture_restart(&fixture);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    registry_expect_served(&fixture, MOOD ":blue", MOOD "@6");
    cr_assert_eq(share_of(MOOD "@5"), 25);
}

Test(labels, a_version_loaded_beside_stable_is_not_promoted_by_a_restart, .fini = close_fixture)
{
    open_with_4();
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 6).error.kind, SV_OK);
    registry_fixture_restart(&fixture);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 0).version, 6);
    tiny_store_copy(fixture.store, "mood/4", "mood/7");
    registry_fixture_restart(&fixture);
    registry_expect_served(&fixture, MOOD, MOOD "@7");
}

Test(labels, stable_can_be_pinned_where_it_is, .fini = close_fixture)
{
    registry_fixture_open(&fixture, NULL);
    expect_label("stable", 0, SV_WEIGHT_KEPT, SV_OK);
    add_versions();
    registry_fixture_restart(&fixture);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    registry_expect_served(&fixture, MOOD ":stable", MOOD "@4");
}

Test(labels, a_pinned_version_that_went_bad_is_replaced_by_a_lower_one, .fini = close_fixture)
{
    char path[PATH_MAX];
    open_with_4();
    expect_label("stable", 5, SV_WEIGHT_KEPT, SV_OK);
    test_write_file(test_path(path, fixture.store, "mood/5/config.json"), "{}");
    registry_fixture_restart(&fixture);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    cr_assert_eq(registry_state_of(&fixture, MOOD "@5"), SV_VERSION_FAILED);
}

/* Another version serves in its place, and is not pinned instead. */
Test(labels, a_pinned_version_that_went_bad_keeps_its_pin, .fini = close_fixture)
{
    char path[PATH_MAX], config[8192];
    open_with_4();
    expect_label("stable", 5, SV_WEIGHT_KEPT, SV_OK);
    test_read_file(config, sizeof config, test_path(path, fixture.store, "mood/5/config.json"));
    test_write_file(path, "{}");
    registry_fixture_restart(&fixture);
    const struct sv_change_result pinned =
        registry_label(&fixture, MOOD, "stable", 0, SV_WEIGHT_KEPT);
    cr_assert_eq(pinned.error.kind, SV_OK);
    cr_assert(pinned.was_pinned);
    test_write_file(path, config);
    registry_fixture_restart(&fixture);
    registry_expect_served(&fixture, MOOD, MOOD "@5");
}

Test(labels, stable_is_unpinned_where_it_is, .fini = close_fixture)
{
    registry_fixture_open(&fixture, NULL);
    expect_label("stable", 0, SV_WEIGHT_KEPT, SV_OK);
    add_versions();
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_UNPIN, MOOD, 0).version, 4);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    registry_fixture_restart(&fixture);
    registry_expect_served(&fixture, MOOD, MOOD "@6");
}

Test(labels, a_damaged_file_of_labels_does_not_stop_the_model, .fini = close_fixture)
{
    char path[PATH_MAX];
    open_with_4();
    test_write_file(test_path(path, fixture.store, "mood/labels.json"), "{\"labels\":[{\"la");
    registry_fixture_restart(&fixture);
    registry_expect_served(&fixture, MOOD, MOOD "@6");
}

Test(labels, a_label_that_cannot_be_saved_is_not_set, .fini = close_fixture)
{
    char path[PATH_MAX];
    open_with_4();
    /* A directory in its place cannot be replaced, not even by root. */
    cr_assert_eq(mkdir(test_path(path, fixture.store, "mood/labels.json"), 0700), 0);
    const struct sv_change_result result =
        registry_label(&fixture, MOOD, "stable", 5, SV_WEIGHT_KEPT);
    cr_assert_eq(result.error.kind, SV_INTERNAL);
    cr_assert(strstr(result.error.message, "mood/labels.json"), "%s", result.error.message);
    cr_assert_not(strstr(result.error.message, fixture.store), "%s", result.error.message);
    registry_expect_served(&fixture, MOOD, MOOD "@4");
    cr_assert_eq(registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 0).version, 6,
                 "a version can still be loaded");
    registry_expect_served(&fixture, MOOD, MOOD "@6");
}
