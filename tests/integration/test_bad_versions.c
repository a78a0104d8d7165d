/* test_bad_versions.c - versions that cannot be loaded, of every kind: the old one serves on, and
 * the response, the index, the log and the metrics say why. And what the daemon does with its store
 * by itself. */
#include "base/file.h"
#include "checkpoint/manifest.h"
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/json_query.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static struct daemon d;
static char log_path[PATH_MAX];

/* mood 4 and plain 4 are served. What the daemon says goes to a file. */
static void serve(const char *option, const char *value)
{
    daemon_make_store(&d);
    tiny_classifiers_make(d.store);
    cr_assert_eq(setenv("SLUICE_TEST_LOG", "1", 1), 0);
    cr_assert(freopen(test_path(log_path, d.directory, "log"), "w", stderr));
    daemon_serve(&d, (const char *const[]){option, value, NULL});
}

static void start(void)
{
    serve("--default-classifier", MOOD);
}

static void stop(void)
{
    daemon_stop(&d);
}

#define TEXT "{\"inputs\":\"ab\"}"

static void expect_served(const char *id)
{
    struct http_response answer = http_request(&d, "POST", "/models/" MOOD "/predict", TEXT);
    cr_assert_eq(answer.status, 200, "%s", answer.body.data);
    cr_assert_str_eq(http_response_header(&answer, "x-sluice-model"), id);
    http_response_release(&answer);
}

/* A version is ready a moment before requests without a version go to it. */
static void wait_served(const char *id)
{
    for (int tries = 0;; tries++) {
        struct http_response answer = http_request(&d, "POST", "/models/" MOOD "/predict", TEXT);
        const bool served = strcmp(http_response_header(&answer, "x-sluice-model"), id) == 0;
        http_response_release(&answer);
        if (served)
            return;
        cr_assert_lt(tries, 500, "%s is not served", id);
        sleep_ms(10);
    }
}

/* ---- traffic meanwhile ----------------------------------------------------------------------- */

static struct {
    pthread_t thread;
    atomic_bool stop;
    atomic_int finished, failed;
} traffic;

static void *send_all(void *unused)
{
    (void)unused;
    while (!atomic_load(&traffic.stop)) {
        struct http_response answer = http_request(&d, "POST", "/models/" MOOD "/predict", TEXT);
        (void)atomic_fetch_add(answer.status == 200 ? &traffic.finished : &traffic.failed, 1);
        http_response_release(&answer);
    }
    return NULL;
}

static void begin_traffic(void)
{
    cr_assert_eq(pthread_create(&traffic.thread, NULL, send_all, NULL), 0);
}

static void end_traffic(void)
{
    while (atomic_load(&traffic.finished) < 10 && atomic_load(&traffic.failed) == 0)
        sleep_ms(1);
    atomic_store(&traffic.stop, true);
    (void)pthread_join(traffic.thread, NULL);
    cr_assert_eq(atomic_load(&traffic.failed), 0);
}

/* ---- how a version can be bad ---------------------------------------------------------------- */

/* mood/5/NAME */
static const char *member(const char *name, char path[static PATH_MAX])
{
    char directory[PATH_MAX];
    return test_path(path, test_path(directory, d.store, "mood/5"), name);
}

static void cut(void)
{
    char path[PATH_MAX];
    cr_assert_eq(truncate(member("model.safetensors", path), 1000), 0);
}

static void change_byte(const char *path, long place, int change)
{
    FILE *file = fopen(path, "r+");
    cr_assert(file);
    (void)fseek(file, place, place < 0 ? SEEK_END : SEEK_SET);
    int byte = fgetc(file);
    (void)fseek(file, -1, SEEK_CUR);
    (void)fputc(byte ^ change, file);
    cr_assert_eq(fclose(file), 0);
}

static void flip_bit(void)
{
    char path[PATH_MAX];
    change_byte(member("model.safetensors", path), -100, 1);
}

/* Writes mood/5 again from the files of two versions, with a manifest that fits. */
static void republish(const char *config_of, const char *weights_of)
{
    static const char *const names[] = {"config.json", "vocab.json", "model.safetensors"};
    struct sl_manifest_file members[COUNT(names)] = {
        {.name = names[0]}, {.name = names[1]}, {.name = names[2]}};
    const struct sl_manifest manifest = {.members = members, .count = COUNT(names), .created = 1};
    struct sl_manifest_writer writer;
    char target[PATH_MAX], from[PATH_MAX], source[PATH_MAX], to[PATH_MAX];
    struct sl_err err;
    EXPECT_OK(sl_manifest_begin(&writer, test_path(target, d.store, "mood/5"), &err), err);
    for (size_t i = 0; i < COUNT(names); i++) {
        struct sl_map map;
        (void)test_path(from, d.store, i == 0 ? config_of : weights_of);
        EXPECT_OK(sl_map_copy(&map, test_path(source, from, names[i]), &err), err);
        const struct sl_slice whole = {.data = map.data, .size = map.size};
        EXPECT_OK(sl_file_replace(test_path(to, writer.tmp, names[i]), &whole, 1, &err), err);
        sl_map_close(&map);
    }
    EXPECT_OK(sl_manifest_commit(&writer, target, &manifest, &err), err);
}

static void take_other_architecture(void)
{
    republish("tiny/1", "mood/4");
}

static void take_other_task(void)
{
    republish("tiny/1", "tiny/1");
}

/* All exponent bits of the last number, the highest byte of which is the file's last. */
static void put_nan(void)
{
    char path[PATH_MAX];
    tiny_store_copy(d.store, "mood/4", ".nan/1");
    (void)test_path(path, d.store, ".nan/1/model.safetensors");
    FILE *file = fopen(path, "r+");
    cr_assert(file);
    (void)fseek(file, -4, SEEK_END);
    (void)fwrite("\x00\x00\xC0\x7F", 1, 4, file);
    cr_assert_eq(fclose(file), 0);
    republish("mood/4", ".nan/1");
}

static void make_too_large(void)
{
    char path[PATH_MAX];
    cr_assert_eq(truncate(member("model.safetensors", path), (off_t)1 << 42), 0);
}

static void lose_weights(void)
{
    char path[PATH_MAX];
    cr_assert_eq(unlink(member("model.safetensors", path)), 0);
}

static void swap_for_link(void)
{
    char path[PATH_MAX], elsewhere[PATH_MAX];
    (void)test_path(path, d.store, "mood/5");
    (void)test_path(elsewhere, d.directory, "elsewhere");
    cr_assert_eq(rename(path, elsewhere), 0);
    cr_assert_eq(symlink(elsewhere, path), 0);
}

static void swap_file_for_link(void)
{
    char path[PATH_MAX], elsewhere[PATH_MAX];
    (void)member("model.safetensors", path);
    (void)test_path(elsewhere, d.directory, "weights");
    cr_assert_eq(rename(path, elsewhere), 0);
    cr_assert_eq(symlink(elsewhere, path), 0);
}

static const struct {
    const char *name;
    void (*spoil)(void);
    const char *reason;
} kinds[] = {
    {"cut", cut, "(1000 bytes, expected"},
    {"a flipped bit", flip_bit, "the file is damaged or was changed"},
    {"of another architecture", take_other_architecture, "'token_embedding.weight': shape"},
    {"of another task", take_other_task,
     "it completes texts, and mood@4, which is served, classifies them; give it another name"},
    {"NaN", put_nan, "element 2 is nan"},
    {"too large", make_too_large, "MiB are left"},
    {"without weights", lose_weights,
     "mood/5: the model is incomplete: it has no model.safetensors"},
    {"a link", swap_for_link,
     "mood/5: not a directory; links are not followed, and a GGUF file needs a directory around"},
    {"a file that is a link", swap_file_for_link, "symbolic link"},
};

static void expect_reason(const struct http_response *answer, size_t kind)
{
    cr_assert(strstr(answer->body.data, kinds[kind].reason), "%s: '%s' lacks '%s'",
              kinds[kind].name, answer->body.data, kinds[kind].reason);
    cr_assert_not(strstr(answer->body.data, d.store), "it tells where the store is");
    cr_assert_not(strstr(answer->body.data, "/proc"), "%s", answer->body.data);
}

static void expect_log(size_t kind)
{
    char text[1 << 16];
    test_read_file(text, sizeof text, log_path);
    cr_assert(strstr(text, kinds[kind].reason), "%s: the log lacks '%s'", kinds[kind].name,
              kinds[kind].reason);
}

static void remove_5(void)
{
    struct sl_err err;
    char path[PATH_MAX];
    (void)test_path(path, d.store, "mood/5");
    if (unlink(path) != 0)
        EXPECT_OK(sl_directory_remove(path, &err), err);
}

Test(bad_versions, leave_the_old_one_and_say_why, .init = start, .fini = stop)
{
    begin_traffic();
    for (size_t i = 0; i < COUNT(kinds); i++) {
        tiny_store_copy(d.store, "mood/4", "mood/5");
        kinds[i].spoil();
        struct http_response answer =
            http_admin(&d, "POST", "/v2/repository/models/" MOOD "/load", "{}");
        cr_assert_eq(answer.status, 400, "%s: %s", kinds[i].name, answer.body.data);
        expect_reason(&answer, i);
        http_response_release(&answer);
        answer = http_request(&d, "GET", "/v1/models/" MOOD "/versions", NULL);
        expect_reason(&answer, i);
        http_response_release(&answer);
        expect_log(i);
        cr_assert_eq(metric_value(&d, "sluice_model_loads_total{model=\"mood\",result=\"failed\"}"),
                     (double)(i + 1));
        expect_served(MOOD "@4");
        remove_5();
    }
    end_traffic();
    tiny_store_copy(d.store, "mood/4", "mood/5");
    struct http_response answer =
        http_admin(&d, "POST", "/v2/repository/models/" MOOD "/load", "{}");
    cr_assert_eq(answer.status, 200, "a good one is still loaded: %s", answer.body.data);
    http_response_release(&answer);
}

/* ---- vanishing while it is read -------------------------------------------------------------- */

static atomic_bool vanishing;

/* Publishes mood 5 and removes it or cuts it, as fast as it can. */
static void *come_and_go(void *unused)
{
    (void)unused;
    for (int i = 0; atomic_load(&vanishing); i++) {
        tiny_store_copy(d.store, "mood/4", "mood/5");
        if (i % 2)
            cut();
        remove_5();
    }
    return NULL;
}

Test(bad_versions, may_vanish_while_they_are_read, .init = start, .fini = stop)
{
    enum { LOADS = TEST_SANITIZED ? 10 : 60 };

    pthread_t thread;
    atomic_store(&vanishing, true);
    begin_traffic();
    cr_assert_eq(pthread_create(&thread, NULL, come_and_go, NULL), 0);
    for (int i = 0; i < LOADS; i++) {
        struct http_response answer =
            http_admin(&d, "POST", "/v2/repository/models/" MOOD "/versions/5/load", "{}");
        cr_assert(answer.status == 200 || answer.status == 400 || answer.status == 404, "%ld: %s",
                  answer.status, answer.body.data);
        http_response_release(&answer);
    }
    atomic_store(&vanishing, false);
    (void)pthread_join(thread, NULL);
    end_traffic();
    expect_served(MOOD "@4");
}

/* ---- what the daemon does with its store by itself ------------------------------------------- */

#define READY_5 "sluice_model_ready{model=\"mood\",version=\"5\"}"

Test(store, sighup_finds_new_versions, .init = start, .fini = stop)
{
    tiny_store_copy(d.store, "mood/4", "mood/5");
    cr_assert_eq(kill(d.pid, SIGHUP), 0);
    metric_wait(&d, READY_5, 1);
    expect_served(MOOD "@5");
}

static void poll(void)
{
    serve("--store-poll-seconds", "1");
}

Test(store, is_polled_for_complete_versions, .init = poll, .fini = stop)
{
    char path[PATH_MAX], hidden[PATH_MAX];
    tiny_store_copy(d.store, "mood/4", ".next/7");
    (void)test_path(path, d.store, ".next/7/manifest.json");
    (void)test_path(hidden, d.store, ".manifest");
    cr_assert_eq(rename(path, hidden), 0);
    tiny_store_copy(d.store, ".next/7", "mood/7"); /* not complete */
    tiny_store_copy(d.store, "plain/4", "plain/5");
    metric_wait(&d, "sluice_model_ready{model=\"plain\",version=\"5\"}", 1);
    expect_served(MOOD "@4");
    cr_assert_eq(rename(hidden, test_path(path, d.store, "mood/7/manifest.json")), 0);
    metric_wait(&d, "sluice_model_ready{model=\"mood\",version=\"7\"}", 1);
    wait_served(MOOD "@7");
}

static void watch_idle(void)
{
    serve("--version-idle-timeout", "1");
}

Test(store, idle_versions_are_unloaded_except_the_stable_one, .init = watch_idle, .fini = stop)
{
    tiny_store_copy(d.store, "mood/4", "mood/5");
    struct http_response answer =
        http_admin(&d, "POST", "/v2/repository/models/" MOOD "/versions/5/load", "{}");
    cr_assert_eq(answer.status, 200, "%s", answer.body.data);
    http_response_release(&answer);
    metric_wait(&d, "sluice_model_state{model=\"mood\",version=\"5\",state=\"unloaded\"}", 1);
    answer = http_request(&d, "POST", "/models/" MOOD "@5/predict", TEXT);
    cr_assert_eq(answer.status, 404, "%s", answer.body.data);
    cr_assert(strstr(answer.body.data, "is not loaded"), "%s", answer.body.data);
    http_response_release(&answer);
    expect_served(MOOD "@4");
}
