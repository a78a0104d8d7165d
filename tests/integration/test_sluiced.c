/* test_sluiced.c - the program: its commands, and its errors about options, stores and defaults. */
#include "base/model_names.h"
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/json_query.h"
#include "support/program.h"
#include "support/test.h"
#include "support/tiny_store.h"

#include <signal.h>

#define TINY "\"model\":\"" TINY_MODEL "\","

static int run(const char *const *words)
{
    return program_wait(daemon_spawn(words));
}

static void expect_link(pid_t pid, int fd, const char *expected)
{
    char path[64], target[PATH_MAX] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    cr_assert_gt(readlink(path, target, sizeof target - 1), 0);
    cr_assert_str_eq(target, expected);
}

/* Else the log would go to a socket or a file of the state directory. */
Test(sluiced, no_file_takes_the_place_of_closed_output)
{
    char path[PATH_MAX], port[PATH_MAX];
    struct daemon mine;
    daemon_make_store(&mine);
    (void)test_path(port, mine.directory, "port");
    mine.pid =
        program_start("/bin/sh",
                      ARGS("-c", "exec \"$0\" \"$@\" <&- >&- 2>&-", program_path(path, "sluiced"),
                           "--listen", "127.0.0.1:0", "--store", mine.store, "--port-file", port),
                      (const int[]){-1, -1, -1});
    for (int ms = 0; access(port, F_OK) != 0; ms += 10) {
        cr_assert_lt(ms, DAEMON_WAIT_MS);
        sleep_ms(10);
    }
    expect_link(mine.pid, STDOUT_FILENO, "/dev/null");
    expect_link(mine.pid, STDERR_FILENO, "/dev/null");
    daemon_stop(&mine);
}

Test(sluiced, commands_and_bad_options)
{
    cr_assert_eq(run((const char *const[]){"--help", NULL}), 0);
    cr_assert_eq(run((const char *const[]){"--version", NULL}), 0);
    cr_assert_eq(run((const char *const[]){"--sample-config", NULL}), 0);
    cr_assert_eq(run((const char *const[]){"--check-config", "--store", "/", NULL}), 0);
    cr_assert_eq(run((const char *const[]){"--check-config", "--max-sequences", "0", NULL}), 2);
    cr_assert_eq(run((const char *const[]){"--max-sequencez", "1", NULL}), 2);
    cr_assert_eq(run((const char *const[]){"--listen", "nowhere", "--store", "/", NULL}), 2);
    cr_assert_eq(run((const char *const[]){"--listen", "127.0.0.1:70000", "--store", "/", NULL}),
                 2);
    cr_assert_eq(run((const char *const[]){"--listen", "0.0.0.0:0", "--store", "/", NULL}), 2,
                 "others could reach it");
    cr_assert_eq(
        run((const char *const[]){"--listen", "127.0.0.1:0", "--store", "/nonexistent", NULL}), 2);
}

/* What the daemon says in its log is the test's standard error. */
static char *log_begin(const char *directory, char path[PATH_MAX])
{
    cr_assert(freopen(test_path(path, directory, "log"), "w", stderr));
    cr_assert_eq(setenv("SLUICE_TEST_LOG", "1", 1), 0);
    return path;
}

static void expect_log(const char *path, const char *part, bool wanted)
{
    char line[1024];
    bool found = false;
    FILE *file = fopen(path, "r");
    cr_assert(file);
    while (fgets(line, sizeof line, file))
        found = found || strstr(line, part);
    (void)fclose(file);
    cr_assert_eq(found, wanted, "'%s' in the log", part);
}

/* A model's directory again, under another name. */
static void copy_tiny(const char *store, const char *name, const char *version)
{
    char from[PATH_MAX], to[PATH_MAX], directory[PATH_MAX];
    (void)test_path(from, store, TINY_MODEL "/1");
    (void)test_path(directory, store, name);
    cr_assert_eq(mkdir(directory, 0700), 0);
    const char *const *args = ARGS("-r", from, test_path(to, directory, version));
    cr_assert_eq(program_wait(program_start("/bin/cp", args, (const int[]){-1, -1, -1})), 0);
}

Test(sluiced, what_cannot_be_started_is_not_called_a_configuration)
{
    static const struct {
        const char *words[6], *said;
    } cases[] = {
        {{"--check-config", "--store", "/", "--listen", "foo"}, "'foo' is not address:port"},
        {{"--check-config", "--store", "/", "--listen", "0.0.0.0:0"}, "insecure: true"},
        {{"--check-config", "--store", "/nope"}, "'/nope'"},
        {{"--check-config", "--store", "/nope"}, "set another with --store or SLUICE_STORE"},
        {{"--check-config", "--store", "/dev/null"}, "'/dev/null'"},
    };

    char directory[PATH_MAX], path[PATH_MAX];
    test_directory_create(directory);
    (void)log_begin(directory, path);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert_eq(run(cases[i].words), 2, "case %zu", i);
        expect_log(path, cases[i].said, true);
    }
    test_directory_remove(directory);
}

Test(sluiced, a_port_in_use_is_reported_with_advice)
{
    struct daemon mine;
    char path[PATH_MAX], address[32];
    DAEMON_START(&mine, "--max-sequences", "2");
    (void)log_begin(mine.directory, path);
    (void)snprintf(address, sizeof address, "127.0.0.1:%d", mine.port);
    cr_assert_eq(run((const char *const[]){"--listen", address, "--store", mine.store, NULL}), 1);
    expect_log(path, "in use; set another with --listen or SLUICE_LISTEN", true);
    daemon_stop(&mine);
}

Test(sluiced, default_options_are_logged_at_level_debug)
{
    struct daemon mine;
    char path[PATH_MAX], port[PATH_MAX];
    daemon_make_store(&mine);
    (void)log_begin(mine.directory, path);
    daemon_serve(&mine,
                 (const char *const[]){"--log-level", "info", "--max-sequences", "64", NULL});
    expect_log(path, "name=threads", true);
    expect_log(path, "name=max_sequences", false);
    expect_log(path, "name=sse_ping_seconds", false);
    cr_assert_eq(kill(mine.pid, SIGTERM), 0);
    cr_assert_eq(program_wait(mine.pid), 0);
    cr_assert_eq(unlink(test_path(port, mine.directory, "port")), 0);
    daemon_serve(&mine, (const char *const[]){"--log-level", "debug", NULL});
    expect_log(path, "name=sse_ping_seconds", true);
    daemon_stop(&mine);
}

Test(sluiced, directories_without_a_version_are_logged_and_files_are_not)
{
    struct daemon mine;
    char path[PATH_MAX], file[PATH_MAX];
    daemon_make_store(&mine);
    copy_tiny(mine.store, "flat", "latest");
    copy_tiny(mine.store, "naught", "0");
    copy_tiny(mine.store, "good", "1");
    test_write_file(test_path(file, mine.store, "notes"), "mine");
    (void)log_begin(mine.directory, path);
    daemon_serve(&mine, (const char *const[]){NULL});
    expect_log(path, "directory=flat version=latest reason=\"" SL_VERSION_RULE "\"", true);
    expect_log(path, "directory=naught version=0", true);
    expect_log(path, "directory=good", false);
    expect_log(path, "notes", false);
    daemon_stop(&mine);
}

static void spoil(const char *store)
{
    char file[PATH_MAX];
    copy_tiny(store, "broken", "3");
    test_write_file(test_path(file, store, "broken/3/model.safetensors"), "not a model");
}

Test(sluiced, a_broken_model_is_left_out_and_the_others_serve)
{
    struct daemon mine;
    daemon_make_store(&mine);
    spoil(mine.store);
    daemon_serve(&mine, (const char *const[]){NULL});
    struct http_response answer = http_request(&mine, "GET", "/v2/health/ready", NULL);
    cr_assert_eq(answer.status, 503);
    cr_assert(http_response_header(&answer, "retry-after"));
    cr_assert(strstr(answer.body.data, "that failed to load: broken@3. See the log."), "%s",
              answer.body.data);
    http_response_release(&answer);
    answer = http_request(&mine, "GET", "/v2/health/live", NULL);
    cr_assert_eq(answer.status, 200);
    http_response_release(&answer);
    answer = http_request(&mine, "GET", "/v1/models", NULL);
    cr_assert(strstr(answer.body.data, "\"tiny\"") && !strstr(answer.body.data, "broken"));
    http_response_release(&answer);
    answer = http_complete(&mine, "{" TINY "\"prompt\":\"a\"}");
    cr_assert_eq(answer.status, 200);
    http_response_release(&answer);
    cr_assert_eq(metric_value(&mine, "sluice_model_ready{model=\"broken\",version=\"3\"}"), 0);
    static const char *const absent[] = {"/v2/models/broken/ready", "/v2/models/broken",
                                         "/v2/models/broken/versions/3/ready", "/v1/models/broken"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        answer = http_request(&mine, "GET", absent[i], NULL);
        cr_assert_eq(answer.status, 503, "%s: %ld", absent[i], answer.status);
        cr_assert(strstr(answer.body.data, "could not be loaded: "), "%s", answer.body.data);
        cr_assert_not(strstr(answer.body.data, mine.store),
                      "the response contains the path of the store");
        cr_assert(http_response_header(&answer, "retry-after"));
        http_response_release(&answer);
    }
    answer = http_request(&mine, "POST", "/hf/broken", "{\"inputs\":\"a\"}");
    cr_assert_eq(answer.status, 424, "a client would retry a 503 for ever");
    cr_assert(strstr(answer.body.data, "\"error_type\":\"backend\"}"), "%s", answer.body.data);
    http_response_release(&answer);
    answer = http_request(&mine, "GET", "/v2/models/broken/versions/2/ready", NULL);
    cr_assert_eq(answer.status, 404);
    http_response_release(&answer);
    answer = http_request(&mine, "POST", "/v2/repository/index", "{}");
    json_t *root = json_from_response(&answer);
    cr_assert_eq(json_array_size(root), 2);
    cr_assert_str_eq(json_string_at(root, "0/name"), "broken");
    cr_assert_str_eq(json_string_at(root, "0/version"), "3");
    cr_assert_str_eq(json_string_at(root, "0/state"), "UNAVAILABLE");
    cr_assert_gt(strlen(json_string_at(root, "0/reason")), 10);
    json_decref(root);
    http_response_release(&answer);
    answer = http_request(&mine, "POST", "/v2/repository/index", "{\"ready\":true}");
    cr_assert_not(strstr(answer.body.data, "broken"));
    http_response_release(&answer);
    daemon_stop(&mine);
}

/* Of 100 bytes, and 19 digits. */
#define TEN      "abcdefghij"
#define LONGEST  TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define HIGHEST  "9223372036854775807"
#define TOO_HIGH "9223372036854775808"

static void expect_said(const struct daemon *daemon, const char *method, const char *path,
                        long status, const char *part)
{
    struct http_response answer = http_admin(daemon, method, path, "{}");
    cr_assert_eq(answer.status, status, "%s: %s", path, answer.body.data);
    EXPECT_SAID(answer.body.data, part);
    http_response_release(&answer);
}

/* They are listed with the reason, and what is beside them is served. */
Test(sluiced, badly_named_directories_are_ignored_and_listed)
{
    static const struct {
        const char *name, *version, *entry;
    } ignored[] = {
        {"bad name", "1",
         "{\"name\":\"bad name\",\"version\":\"\",\"state\":\"UNAVAILABLE\","
         "\"reason\":\"" SL_MODEL_NAME_RULE "\"}"},
        {"\xC3\xBCn\xC3\xAF", "1", "{\"name\":\"\xC3\xBCn\xC3\xAF\",\"version\":\"\""},
        {"__MACOSX", "1", "{\"name\":\"__MACOSX\",\"version\":\"\""},
        {LONGEST "0", "1", "{\"name\":\"" LONGEST "0\",\"version\":\"\""},
        {"padded", "007",
         "{\"name\":\"padded\",\"version\":\"007\",\"state\":\"UNAVAILABLE\","
         "\"reason\":\"" SL_VERSION_RULE "\"}"},
        {"high", TOO_HIGH, "{\"name\":\"high\",\"version\":\"" TOO_HIGH "\""},
    };
    struct daemon mine;
    char from[PATH_MAX], to[PATH_MAX];
    daemon_make_store(&mine);
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        copy_tiny(mine.store, ignored[i].name, ignored[i].version);
    copy_tiny(mine.store, LONGEST, HIGHEST);
    copy_tiny(mine.store, "stamped", "1795775185");
    daemon_serve(&mine, (const char *const[]){NULL});
    expect_said(&mine, "GET", "/v2/health/ready", 200, "true");
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        expect_said(&mine, "POST", "/v2/repository/index", 200, ignored[i].entry);
    expect_said(&mine, "GET", "/v2/models/" LONGEST "/versions/" HIGHEST "/ready", 200, "true");
    expect_said(&mine, "GET", "/v2/models/stamped@1795775185/ready", 200, "true");
    expect_said(&mine, "POST", "/v2/repository/models/bad%20name/load", 404, SL_MODEL_NAME_RULE);
    expect_said(&mine, "POST", "/v2/repository/models/padded/versions/007/load", 404,
                "has no version '007': " SL_VERSION_RULE);
    expect_said(&mine, "POST", "/v2/repository/models/padded/load", 404,
                "'padded/007' is ignored: " SL_VERSION_RULE);
    expect_said(&mine, "GET", "/v1/models/bad%20name/versions", 200,
                "\"data\":[],\"ignored\":[{\"directory\":\"bad name\",\"reason\":");
    (void)test_path(from, mine.store, "padded/007");
    cr_assert_eq(rename(from, test_path(to, mine.store, "padded/7")), 0);
    cr_assert_eq(mkdir(test_path(to, mine.store, "padded/v8"), 0700), 0);
    expect_said(&mine, "POST", "/v2/repository/models/padded/load", 200,
                "{\"name\":\"padded\",\"version\":\"7\",\"state\":\"READY\",\"ignored\":["
                "{\"directory\":\"padded/v8\",\"reason\":\"" SL_VERSION_RULE "\"}]}");
    expect_said(&mine, "GET", "/v1/models/padded/versions", 200,
                "],\"ignored\":[{\"directory\":\"padded/v8\",");
    daemon_stop(&mine);
}

Test(sluiced, ready_means_that_every_directory_with_a_version_is_served)
{
    struct daemon mine;
    daemon_make_store(&mine);
    spoil(mine.store);
    daemon_serve(&mine, (const char *const[]){NULL});
    expect_said(&mine, "GET", "/v2/health/ready", 503, "that failed to load: broken@3.");
    daemon_stop(&mine);
}

Test(sluiced, a_default_classifier_that_the_store_lacks_is_an_error)
{
    struct daemon mine;
    char path[PATH_MAX], empty[PATH_MAX];
    daemon_make_store(&mine);
    (void)log_begin(mine.directory, path);
    cr_assert_eq(run((const char *const[]){"--check-config", "--store", mine.store,
                                           "--default-classifier", "nobody@2", NULL}),
                 2);
    expect_log(path, "has no model 'nobody@2'; its classifiers: ", true);
    cr_assert_eq(run((const char *const[]){"--store", mine.store, "--listen", "127.0.0.1:0",
                                           "--default-classifier", "nobody", NULL}),
                 2);
    expect_log(path, "has no model 'nobody'; its classifiers: ", true);
    cr_assert_eq(run((const char *const[]){"--store", mine.store, "--listen", "127.0.0.1:0",
                                           "--default-classifier", TINY_MODEL "@1", NULL}),
                 2);
    expect_log(path, "'" TINY_MODEL "@1' is not a classifier; the classifiers of ", true);
    cr_assert_eq(run((const char *const[]){"--store", "/nowhere", "--listen", "127.0.0.1:0", NULL}),
                 2);
    expect_log(path, "cannot read the model store '/nowhere'", true);
    cr_assert_eq(mkdir(test_path(empty, mine.directory, "empty"), 0700), 0);
    cr_assert_eq(run((const char *const[]){"--check-config", "--store", empty,
                                           "--default-classifier", "nobody", NULL}),
                 0);
    test_directory_remove(mine.directory);
}

Test(sluiced, a_default_classifier_that_cannot_answer_is_reported)
{
    struct daemon mine;
    char path[PATH_MAX];
    daemon_make_store(&mine);
    (void)log_begin(mine.directory, path);
    daemon_serve(&mine, (const char *const[]){"--default-classifier", TINY_MODEL "@2", NULL});
    struct http_response answer =
        http_admin(&mine, "POST", "/v2/repository/models/tiny/load", "{}");
    cr_assert_eq(answer.status, 200);
    http_response_release(&answer);
    answer = http_request(&mine, "POST", "/predict", "{\"inputs\":\"ab\"}");
    cr_assert_eq(answer.status, 404);
    cr_assert(strstr(answer.body.data,
                     "default_classifier applies: The model '" TINY_MODEL "@2' does not"),
              "%s", answer.body.data);
    http_response_release(&answer);
    metric_wait(&mine, "sluice_requests_in_flight", 0);
    expect_log(path, "default_classifier cannot answer", true);
    expect_log(path, "/v2/repository", false);
    daemon_stop(&mine);
}
