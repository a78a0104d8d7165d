/* test_file_check.c - GET /v1/files/{id}/check: its results are those of `sluice check`; its child
 * processes are few, end in time, and end with their clients. */
#include "support/file_upload.h"
#include "support/job_client.h"
#include "support/json_query.h"
#include "support/program.h"
#include "support/raw_socket.h"
#include "support/test.h"

#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#define TEXTS "label,text\ngood,fine\nbad,dull\ngood,fair\n"

enum { URL_MAX = 2048 };

static struct daemon d;
static char id[UPLOAD_ID_MAX], url[URL_MAX];

static void start(void)
{
    job_daemon_start(&d, ARGS("--jobs-queued", "1"));
    file_upload_text(&d, "reviews.csv", TEXTS, id);
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(file_check, .init = start, .fini = stop);

/* The path of a check; query: "" or what begins with '?'. */
static const char *url_of(const char *file, const char *query)
{
    (void)snprintf(url, sizeof url, "/v1/files/%s/check%s", file, query);
    return url;
}

static json_t *check(const char *file, const char *query, long status)
{
    struct http_response response = http_admin(&d, "GET", url_of(file, query), NULL);
    cr_assert_eq(response.status, status, "%s: %s", url, response.body.data);
    json_t *o = json_from_response(&response);
    http_response_release(&response);
    return o;
}

Test(file_check, what_a_file_holds)
{
    json_t *o = check(id, "?records=2", 200);
    cr_assert_str_eq(json_string_at(o, "format"), "csv");
    cr_assert_str_eq(json_string_at(o, "columns/1"), "text");
    cr_assert_str_eq(json_string_at(o, "label"), "label");
    cr_assert_eq(json_integer_at(o, "texts"), 3);
    cr_assert_eq(json_array_size(json_at(o, "problems")), 0);
    cr_assert_eq(json_array_size(json_at(o, "records")), 2);
    cr_assert_str_eq(json_string_at(o, "records/1/text"), "dull");
    json_decref(o);
}

/* With problems it is still a result. Their messages repeat neither file nor line. */
Test(file_check, problems)
{
    file_upload_text(&d, "mine.csv", "label,text\ngood,fine\nbad,dull,very\nbad\n", id);
    json_t *o = check(id, "", 200);
    cr_assert_eq(json_integer_at(o, "problems/0/line"), 3);
    cr_assert_eq(json_integer_at(o, "problems/1/line"), 4);
    EXPECT_SAID(json_string_at(o, "problems/0/message"), "3 fields: expected 2");
    json_decref(o);
    o = check(id, "?label=mood", 200);
    cr_assert(json_is_null(json_at(o, "problems/0/line")));
    EXPECT_SAID(json_string_at(o, "problems/0/message"), "no column 'mood'");
    cr_assert_eq(json_array_size(json_at(o, "records")), 0);
    json_decref(o);
}

/* No message has the path under which the file is stored. */
Test(file_check, any_name_will_do)
{
    static const struct {
        const char *name, *problem;
    } cases[] = {{"notes.txt", "the name 'notes.txt' does not say what the file is"},
                 {"--output.csv", "no column 'label'; the columns are 'no table', ''"},
                 {"a 'b' $(c).csv", "no column 'label'; the columns are 'no table', ''"},
                 {"caf\xC3\xA9.tsv", "no column 'label': there is only one"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        file_upload_text(&d, cases[i].name, "no table,\nbut some words,\nand more\n", id);
        json_t *o = check(id, "", 200);
        cr_assert_gt(json_array_size(json_at(o, "problems")), 0);
        const char *message = json_string_at(o, "problems/0/message");
        EXPECT_SAID(message, cases[i].problem);
        cr_assert_not(strstr(message, d.directory), "%s", message);
        json_decref(o);
    }
}

static void expect_param(const char *query, const char *param)
{
    json_t *o = check(id, query, 400);
    cr_assert_str_eq(json_string_at(o, "error/code"), "invalid_value");
    cr_assert_str_eq(json_string_at(o, "error/param"), param, "%s", query);
    json_decref(o);
}

Test(file_check, what_is_refused)
{
    expect_param("?records=-1", "records");
    expect_param("?records=100001", "records");
    expect_param("?records=", "records");
    expect_param("?records=5x", "records");
    expect_param("?label=", "label");
    expect_param("?label=%FF", "label");
    expect_param("?label=%00", "label");
    expect_param("?text=", "text");
    expect_param("?label_separator=%0A", "label_separator");
    expect_param("?label_separator=", "label_separator");
    json_t *o = check("file-0123456789abcdef", "", 404);
    cr_assert_str_eq(json_string_at(o, "error/code"), "file_not_found");
    json_decref(o);
    json_decref(check("..", "", 404));
    json_decref(check(id, "?records=0", 200));
}

/* Columns whose names could be options, or end what they are in. */
Test(file_check, hostile_names)
{
    static const char *const queries[] = {
        "?label=--output&text=--json",
        "?label=with+plus&text=--json",
        "?label=a%20%22b%22%0A%3Cc%3E&text=--json",
        "?text=--output&label=%24%28touch%20x%29%27%3B%60%22%0A",
    };

    file_upload_text(&d, "names.csv",
                     "--output,--json,with plus,\"a \"\"b\"\"\n<c>\",\"$(touch x)';`\"\"\n\"\n"
                     "x,fine,y,z,u\ny,dull,x,z,u\nx,fair,y,y,v\n",
                     id);
    for (size_t i = 0; i < COUNT(queries); i++) {
        json_t *o = check(id, queries[i], 200);
        cr_assert_eq(json_array_size(json_at(o, "columns")), 5);
        cr_assert_eq(json_integer_at(o, "texts"), 3, "%s: %s", queries[i],
                     json_string_at(o, "problems/0/message"));
        cr_assert_eq(json_array_size(json_at(o, "problems")), 0);
        json_decref(o);
    }
    json_t *o = check(id, "?label=--help&text=--version", 200);
    EXPECT_SAID(json_string_at(o, "problems/0/message"), "no column '--help'");
    json_decref(o);
}

Test(file_check_off, without_a_state_directory)
{
    DAEMON_START(&d, "--jobs-queued", "1");
    json_t *o = check("file-0123456789abcdef", "", 501);
    EXPECT_SAID(json_string_at(o, "error/message"), "--state");
    json_decref(o);
    daemon_stop(&d);
}

/* ---- child processes ------------------------------------------------------------------------- */

/* A daemon whose trainer is this shell script; $PIDS is a directory for it. */
static void start_with(const char *script)
{
    char path[PATH_MAX], pids[PATH_MAX], text[2 * PATH_MAX];
    daemon_make_store(&d);
    cr_assert_eq(mkdir(test_path(pids, d.directory, "pids"), 0700), 0);
    (void)snprintf(text, sizeof text, "#!/bin/sh\nPIDS='%s'\n%s\n", pids, script);
    test_write_file(test_path(path, d.directory, "trainer"), text);
    cr_assert_eq(chmod(path, 0700), 0);
    job_daemon_restart(&d, ARGS("--trainer", path, "--drain-timeout", "1"));
    file_upload_text(&d, "reviews.csv", TEXTS, id);
}

/* Goes on until it is killed; its file has its process id as name. */
#define ENDLESS ": >\"$PIDS/$$\"; exec sleep 1000"

static void wait_for_children(int count)
{
    char pids[PATH_MAX];
    (void)test_path(pids, d.directory, "pids");
    for (int i = 0; test_count_entries(pids) < count; i++) {
        cr_assert_lt(i, DAEMON_WAIT_MS / 5, "a child does not start");
        sleep_ms(5);
    }
}

/* Waits until no child lives any more, or all but some. */
static void wait_for_ends(int living)
{
    char pids[PATH_MAX];
    int alive = living + 1;
    for (int i = 0; alive > living; i++) {
        DIR *directory = opendir(test_path(pids, d.directory, "pids"));
        cr_assert(directory);
        alive = 0;
        for (const struct dirent *e = readdir(directory); e; e = readdir(directory)) {
            const pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
            alive += pid > 0 && kill(pid, 0) == 0;
        }
        (void)closedir(directory);
        cr_assert_lt(i, DAEMON_WAIT_MS / 5, "%d children live on", alive);
        sleep_ms(5);
    }
}

/* Asks for a check, and does not wait for the answer. */
static int ask(void)
{
    char path[PATH_MAX], head[URL_MAX + 64];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", daemon_admin_socket(&d, path));
    cr_assert_eq(connect(fd, (const void *)&address, sizeof address), 0);
    (void)snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", url_of(id, ""));
    raw_send(fd, head);
    return fd;
}

Test(file_check_children, two_at_a_time_and_a_client_that_leaves)
{
    start_with(ENDLESS);
    int one = ask(), other = ask();
    wait_for_children(2);
    struct http_response response = http_admin(&d, "GET", url_of(id, ""), NULL);
    cr_assert_eq(response.status, 429, "%s", response.body.data);
    EXPECT_SAID(response.body.data, "2 files are being checked");
    cr_assert(http_response_header(&response, "Retry-After"));
    http_response_release(&response);
    json_decref(json_request(&d, "GET", "/v1/models", NULL)); /* others are answered meanwhile */
    (void)close(one);
    wait_for_ends(1);
    one = ask();
    wait_for_children(3);
    (void)close(one);
    (void)close(other);
    wait_for_ends(0);
    daemon_stop(&d);
}

/* The client's deadline is one, too. */
Test(file_check_children, it_ends_in_time)
{
    start_with(ENDLESS);
    struct curl_slist *headers = curl_slist_append(NULL, "X-Request-Timeout-Ms: 300");
    struct http_response response = http_admin_with(&d, "GET", url_of(id, ""), NULL, headers);
    cr_assert_eq(response.status, 504, "%s", response.body.data);
    http_response_release(&response);
    curl_slist_free_all(headers);
    wait_for_ends(0);
    daemon_stop(&d);
}

/* It is not left behind by a daemon that ends. */
Test(file_check_children, it_ends_with_the_daemon)
{
    start_with(ENDLESS);
    int fd = ask();
    wait_for_children(1);
    cr_assert_eq(kill(d.pid, SIGTERM), 0);
    cr_assert_eq(program_wait(d.pid), 0);
    wait_for_ends(0);
    (void)close(fd);
    test_directory_remove(d.directory);
}

static void expect_failure(const char *script, long status, const char *part)
{
    start_with(script);
    struct http_response response = http_admin(&d, "GET", url_of(id, ""), NULL);
    cr_assert_eq(response.status, status, "%s", response.body.data);
    EXPECT_SAID(response.body.data, part);
    cr_assert_not(strstr(response.body.data, d.directory), "%s", response.body.data);
    http_response_release(&response);
    daemon_stop(&d);
}

Test(file_check_children, programs_that_are_broken)
{
    expect_failure("kill -SEGV $$", 500, "could not be checked");
    expect_failure("exit 0", 500, "could not be checked");
    expect_failure("echo '{\"format\":\"csv\"'; exit 1", 500, "could not be checked");
    expect_failure(
        "echo '{\"event\":\"failed\",\"code\":\"no_memory\",\"reason\":\"odd\"}'; exit 1", 500,
        "could not be checked: odd");
    expect_failure("echo '{\"event\":\"failed\",\"code\":\"not_found\",\"reason\":\"x\"}'; exit 2",
                   404, "was deleted");
    expect_failure("head -c 70000000 /dev/zero", 400, "ask for fewer 'records'");
}
