/* test_files.c - /v1/files and /v1/audit: uploads, pages, bounds, and what a kill leaves. */
#include "support/daemon.h"
#include "support/file_upload.h"
#include "support/json_query.h"
#include "support/program.h"
#include "support/raw_socket.h"
#include "support/test.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/socket.h>
#include <sys/un.h>

#define TEXTS "{\"text\":\"good\",\"label\":\"a\"}\n{\"text\":\"bad\",\"label\":\"b\"}\n"

static struct daemon d;
static char state[PATH_MAX];

#define OPTIONS                                                                                    \
    ARGS("--state", state, "--max-upload-bytes", "200000", "--max-uploads-total-bytes", "300000")

static void start(void)
{
    daemon_make_store(&d);
    (void)test_path(state, d.directory, "state");
    daemon_serve(&d, OPTIONS);
}

static void stop(void)
{
    daemon_stop(&d);
}

static void kill_daemon(void)
{
    char port_file[PATH_MAX];
    cr_assert_eq(kill(d.pid, SIGKILL), 0);
    cr_assert_eq(program_wait(d.pid), -1);
    cr_assert_eq(unlink(test_path(port_file, d.directory, "port")), 0);
}

static void restart(void)
{
    kill_daemon();
    daemon_serve(&d, OPTIONS);
}

static int admin_connect(void)
{
    char path[PATH_MAX];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", daemon_admin_socket(&d, path));
    cr_assert_eq(connect(fd, (const void *)&address, sizeof address), 0);
    return fd;
}

TestSuite(files, .init = start, .fini = stop);

static json_t *get(const char *path, long status)
{
    struct http_response response = http_admin(&d, "GET", path, NULL);
    cr_assert_eq(response.status, status, "%s: %s", path, response.body.data);
    json_t *root = json_from_response(&response);
    http_response_release(&response);
    return root;
}

/* An upload that is refused. */
static void expect_refused(struct http_response response, long status, const char *param,
                           const char *part)
{
    cr_assert_eq(response.status, status, "%s", response.body.data);
    json_t *root = json_from_response(&response);
    if (param)
        cr_assert_str_eq(json_string_at(root, "error/param"), param);
    EXPECT_SAID(json_string_at(root, "error/message"), part);
    json_decref(root);
    http_response_release(&response);
}

#define EXPECT_REFUSED(name, purpose, text, status, param, part)                                   \
    expect_refused(file_upload(&d, name, purpose, text, strlen(text)), status, param, part)

Test(files, an_upload_is_listed_read_and_deleted)
{
    char id[UPLOAD_ID_MAX], path[128];
    file_upload_text(&d, "dir/reviews.jsonl", TEXTS, id);
    (void)snprintf(path, sizeof path, "/v1/files/%s", id);
    json_t *file = get(path, 200);
    cr_assert_str_eq(json_string_at(file, "object"), "file");
    cr_assert_str_eq(json_string_at(file, "filename"), "reviews.jsonl");
    cr_assert_str_eq(json_string_at(file, "purpose"), "fine-tune");
    cr_assert_str_eq(json_string_at(file, "status"), "processed");
    cr_assert_eq(json_integer_at(file, "bytes"), (int64_t)strlen(TEXTS));
    json_decref(file);
    (void)snprintf(path, sizeof path, "/v1/files/%s/content", id);
    struct http_response content = http_admin(&d, "GET", path, NULL);
    cr_assert_str_eq(content.body.data, TEXTS);
    http_response_release(&content);
    restart();
    (void)snprintf(path, sizeof path, "/v1/files/%s", id);
    json_decref(get(path, 200));
    struct http_response deleted = http_admin(&d, "DELETE", path, NULL);
    EXPECT_SAID(deleted.body.data, "\"deleted\":true");
    http_response_release(&deleted);
    json_t *error = get(path, 404);
    cr_assert_str_eq(json_string_at(error, "error/code"), "file_not_found");
    json_decref(error);
    json_decref(get("/v1/files/file-../content", 404));
    json_t *audit = get("/v1/audit", 200);
    cr_assert_str_eq(json_string_at(audit, "data/0/action"), "file.delete");
    cr_assert_str_eq(json_string_at(audit, "data/0/target"), id);
    cr_assert_str_eq(json_string_at(audit, "data/1/action"), "file.create");
    json_decref(audit);
}

/* Makes the index refuse files. */
static void spoil_index(void)
{
    char path[PATH_MAX];
    sqlite3 *index = NULL;
    cr_assert_eq(sqlite3_open(test_path(path, state, "sluice.db"), &index), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(index,
                              "CREATE TRIGGER refuse BEFORE INSERT ON files "
                              "BEGIN SELECT RAISE(ABORT, 'refused'); END",
                              NULL, NULL, NULL),
                 SQLITE_OK);
    (void)sqlite3_close(index);
}

/* No list would have it, so it could not be deleted. */
Test(files, a_file_that_cannot_be_indexed_leaves_nothing)
{
    char path[PATH_MAX];
    kill_daemon();
    spoil_index();
    daemon_serve(&d, OPTIONS);
    EXPECT_REFUSED("a.tsv", "fine-tune", "a\tb\n", 500, NULL, "could not be stored");
    cr_assert_eq(test_count_entries(test_path(path, state, "files")), 0);
    cr_assert_eq(test_count_entries(test_path(path, state, "tmp")), 0);
}

/* Such as one of an index that lost its last changes. */
Test(files, a_file_whose_directory_is_gone_can_be_deleted)
{
    char id[UPLOAD_ID_MAX], path[128], directory[PATH_MAX], gone[PATH_MAX];
    file_upload_text(&d, "a.tsv", "a\tb\n", id);
    (void)snprintf(path, sizeof path, "files/%s", id);
    cr_assert_eq(rename(test_path(directory, state, path), test_path(gone, state, "gone")), 0);
    (void)snprintf(path, sizeof path, "/v1/files/%s", id);
    json_decref(get(path, 200));
    struct http_response response = http_admin(&d, "DELETE", path, NULL);
    cr_assert_eq(response.status, 404, "%s", response.body.data);
    http_response_release(&response);
    json_decref(get(path, 404));
}

Test(files, lists_have_pages)
{
    char ids[5][UPLOAD_ID_MAX], path[128];
    for (int i = 0; i < 5; i++)
        file_upload_text(&d, "a.tsv", "a\tb\n", ids[i]);
    json_t *page = get("/v1/files?limit=2", 200);
    cr_assert_str_eq(json_string_at(page, "data/0/id"), ids[4]);
    cr_assert(json_is_true(json_at(page, "has_more")));
    cr_assert_str_eq(json_string_at(page, "last_id"), ids[3]);
    json_decref(page);
    (void)snprintf(path, sizeof path, "/v1/files?limit=9&after=%s", ids[3]);
    page = get(path, 200);
    cr_assert_str_eq(json_string_at(page, "data/2/id"), ids[0]);
    cr_assert(json_is_false(json_at(page, "has_more")));
    json_decref(page);
    page = get("/v1/files?order=asc&purpose=fine-tune&limit=1", 200);
    cr_assert_str_eq(json_string_at(page, "data/0/id"), ids[0]);
    json_decref(page);
    page = get("/v1/files?purpose=other", 200);
    cr_assert_eq(json_array_size(json_at(page, "data")), 0);
    json_decref(page);
    page = get("/v1/files?limit=0", 400);
    cr_assert_str_eq(json_string_at(page, "error/param"), "limit");
    json_decref(page);
    page = get("/v1/files?after=file-0", 400);
    cr_assert_str_eq(json_string_at(page, "error/param"), "after");
    json_decref(page);
}

Test(files, what_is_refused_is_named)
{
    EXPECT_REFUSED(NULL, "fine-tune", "", 400, "file", "required");
    EXPECT_REFUSED("a.jsonl", NULL, TEXTS, 400, "purpose", "required");
    EXPECT_REFUSED("a.jsonl", "batch", TEXTS, 400, "purpose", "fine-tune");
    EXPECT_REFUSED("a.exe", "fine-tune", "MZ, and so on", 400, "file", ".jsonl");
    EXPECT_REFUSED("a", "fine-tune", "\x1f\x8b\t", 400, "file", ".gz");
    EXPECT_REFUSED("a", "fine-tune", "{\"a\":1}\n[1]\n", 400, "file", "Line 2");
    EXPECT_REFUSED("a.jsonl", "fine-tune", "", 400, "file", "empty");
    EXPECT_REFUSED("a.jsonl", "fine-tune", "{}\n\n{\"a\":}\n", 400, "file", "Line 3");
    EXPECT_REFUSED("a.jsonl", "fine-tune", "[]\n", 400, "file", "not a JSON object");
    EXPECT_REFUSED("a.tsv", "fine-tune", "a\tb\na\t\xff\n", 400, "file",
                   "The file is not UTF-8: byte 7 (line 2) is 0xFF; convert the file");
    struct http_response json = http_admin(&d, "POST", "/v1/files", "{}");
    expect_refused(json, 415, NULL, "multipart/form-data");
    json_t *page = get("/v1/files", 200);
    cr_assert_eq(json_array_size(json_at(page, "data")), 0);
    json_decref(page);
    char tmp[PATH_MAX];
    cr_assert_eq(test_count_entries(test_path(tmp, state, "tmp")), 0, "something was left over");
}

/* The name in the response to an upload of this name. */
static void expect_name(const char *name, const char *content, const char *expected)
{
    struct http_response response = file_upload(&d, name, "fine-tune", content, strlen(content));
    cr_assert_eq(response.status, 200, "%s", response.body.data);
    json_t *file = json_from_response(&response);
    cr_assert_str_eq(json_string_at(file, "filename"), expected);
    json_decref(file);
    http_response_release(&response);
}

Test(files, a_name_without_a_format_gets_that_of_the_content)
{
    expect_name("reviews", "\n {\"text\":\"a\"}\n", "reviews.jsonl");
    expect_name("reviews.2024-11", "a\tb\n", "reviews.2024-11.tsv");
    expect_name("reviews.txt", "a\tb\n", "reviews.txt");
}

/* Training decides whether it can use them. */
Test(files, any_json_is_json)
{
    expect_name("a.jsonl", "{\"id\":18446744073709551616,\"x\":1e999,\"text\":\"a\\u0000\"}\n",
                "a.jsonl");
    EXPECT_REFUSED("a.jsonl", "fine-tune", "{\"a\":1e999x}", 400, "file", "Line 1");
}

Test(files, sizes_are_bounded)
{
    static char large[250000];
    memset(large, 'x', sizeof large);
    expect_refused(file_upload(&d, "a.txt", "fine-tune", large, sizeof large), 413, NULL, "larger");
    expect_refused(file_upload(&d, "a.txt", "fine-tune", large, 200001), 413, NULL, "larger");
    struct http_response good = file_upload(&d, "a.txt", "fine-tune", large, 199000);
    cr_assert_eq(good.status, 200, "%s", good.body.data);
    http_response_release(&good);
    for (int i = 0; i < 2; i++) {
        expect_refused(file_upload(&d, "a.txt", "fine-tune", large, 150000), 507, "file", "delete");
        restart();
    }
}

Test(files, a_client_that_leaves_in_the_middle_leaves_nothing)
{
    static const char head[] =
        "POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n"
        "Content-Disposition: form-data; name=file; filename=a.txt\r\n\r\nabc";
    char tmp[PATH_MAX];
    (void)test_path(tmp, state, "tmp");
    int fd = admin_connect();
    raw_send(fd, head);
    for (int i = 0; test_count_entries(tmp) == 0; i++) {
        cr_assert_lt(i, DAEMON_WAIT_MS / 5);
        sleep_ms(5);
    }
    (void)close(fd);
    for (int i = 0; test_count_entries(tmp) > 0; i++) {
        cr_assert_lt(i, DAEMON_WAIT_MS / 5);
        sleep_ms(5);
    }
    /* A daemon that is killed meanwhile leaves something, and the next one removes it. */
    fd = admin_connect();
    raw_send(fd, head);
    while (test_count_entries(tmp) == 0)
        sleep_ms(5);
    restart();
    (void)close(fd);
    cr_assert_eq(test_count_entries(tmp), 0);
}

Test(files, the_index_is_rebuilt_from_the_directories)
{
    char id[UPLOAD_ID_MAX], path[PATH_MAX];
    file_upload_text(&d, "a.tsv", "a\tb\n", id);
    file_upload_text(&d, "b.tsv", "a\tb\n", id);
    kill_daemon();
    test_write_file(test_path(path, state, "sluice.db"), "This is no database at all.");
    daemon_serve(&d, OPTIONS);
    json_t *page = get("/v1/files", 200);
    cr_assert_eq(json_array_size(json_at(page, "data")), 2);
    json_decref(page);
    page = get("/v1/audit", 200);
    cr_assert_eq(json_array_size(json_at(page, "data")), 2);
    cr_assert_str_eq(json_string_at(page, "data/0/target"), "b.tsv");
    json_decref(page);
}

Test(files, without_a_state_directory_there_are_none)
{
    struct daemon bare;
    DAEMON_START(&bare, "--threads", "1");
    struct http_response response = http_admin(&bare, "GET", "/v1/files", NULL);
    cr_assert_eq(response.status, 501);
    EXPECT_SAID(response.body.data, "start it with --state DIRECTORY");
    http_response_release(&response);
    response = file_upload(&bare, "a.tsv", "fine-tune", "a\tb\n", 4);
    cr_assert_eq(response.status, 501, "%s", response.body.data);
    http_response_release(&response);
    daemon_stop(&bare);
}
