/* test_admin_listener.c - the second listener: what it serves, and what may be in the place of its
 * socket. */
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/program.h"
#include "support/test.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct daemon d;

static void start(void)
{
    DAEMON_START(&d, "--admin-listen", "auto 127.0.0.1:0");
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(admin_listener, .init = start, .fini = stop);

static void expect(struct http_response answer, long status, const char *part)
{
    cr_assert_eq(answer.status, status, "%ld, not %ld: %s", answer.status, status,
                 answer.body.data);
    cr_assert(strstr(answer.body.data, part), "'%s' lacks '%s'", answer.body.data, part);
    http_response_release(&answer);
}

Test(admin_listener, both_answer_health_and_metrics)
{
    struct daemon by_tcp = d;
    by_tcp.port = d.admin_port;
    cr_assert_gt(d.admin_port, 0);
    static const char *const paths[] = {"/health", "/v2/health/ready", "/metrics", "/v1/models",
                                        "/"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        expect(http_request(&d, "GET", paths[i], NULL), 200, "");
        expect(http_request(&by_tcp, "GET", paths[i], NULL), 200, "");
        expect(http_admin(&d, "GET", paths[i], NULL), 200, "");
    }
}

Test(admin_listener, has_the_models_too)
{
    expect(http_admin(&d, "POST", "/v1/completions",
                      "{\"model\":\"tiny\",\"prompt\":\"a\",\"max_tokens\":1}"),
           200, "\"completion_tokens\":1");
    expect(http_admin(&d, "GET", "/nothing", NULL), 404, "No such endpoint");
}

Test(admin_listener, changes_are_made_here_only)
{
    static const char *const paths[] = {"/v2/repository/models/none/load",
                                        "/v2/repository/models/none/unload"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        expect(http_request(&d, "POST", paths[i], "{}"), 403,
               "admin listener only (option admin_listen)");
        struct http_response answer = http_admin(&d, "POST", paths[i], "{}");
        cr_assert_neq(answer.status, 403, "%s", answer.body.data);
        http_response_release(&answer);
    }
}

/* Whether the socket's file is there, with the mode it should have. */
static bool socket_exists(const struct daemon *daemon)
{
    char path[PATH_MAX];
    struct stat found;
    if (lstat(daemon_admin_socket(daemon, path), &found) != 0)
        return false;
    cr_assert(S_ISSOCK(found.st_mode));
    cr_assert_eq(found.st_mode & 07777, 0660);
    return true;
}

Test(admin_socket, is_removed_at_the_end_and_replaced_after_a_kill)
{
    struct daemon mine;
    (void)umask(077);
    DAEMON_START(&mine, "--drain-timeout", "1");
    cr_assert(socket_exists(&mine));
    cr_assert_eq(kill(mine.pid, SIGKILL), 0);
    cr_assert_eq(program_wait(mine.pid), -1);
    cr_assert(socket_exists(&mine));
    daemon_serve(&mine, (const char *const[]){NULL});
    expect(http_admin(&mine, "GET", "/health", NULL), 200, "");
    cr_assert_eq(kill(mine.pid, SIGTERM), 0);
    cr_assert_eq(program_wait(mine.pid), 0);
    cr_assert_not(socket_exists(&mine));
    test_directory_remove(mine.directory);
}

/* Starts a daemon with this admin_listen, which must fail. */
static void expect_rejected(const struct daemon *daemon, const char *admin_listen)
{
    pid_t pid = daemon_spawn(
        ARGS("--listen", "127.0.0.1:0", "--store", daemon->store, "--admin-listen", admin_listen));
    int status = program_wait(pid); /* of the system, or of the option */
    cr_assert(status == 1 || status == 2, "%s: %d", admin_listen, status);
}

Test(admin_socket, what_is_not_a_stale_socket_stays)
{
    struct daemon mine;
    char path[PATH_MAX], name[PATH_MAX + 8], link[PATH_MAX], text[16];
    daemon_make_store(&mine);
    test_write_file(test_path(path, mine.directory, "file"), "mine");
    (void)snprintf(name, sizeof name, "unix:%s", path);
    expect_rejected(&mine, name);
    test_read_file(text, sizeof text, path);
    cr_assert_str_eq(text, "mine");
    cr_assert_eq(symlink("missing", test_path(link, mine.directory, "link")), 0);
    (void)snprintf(name, sizeof name, "unix:%s", link);
    expect_rejected(&mine, name);
    cr_assert_eq(access(test_path(path, mine.directory, "missing"), F_OK), -1);
    expect_rejected(&mine, "unix:");
    expect_rejected(&mine, "unix:/nonexistent/socket");
    expect_rejected(&mine, "0.0.0.0:0");
    expect_rejected(&mine, "nowhere");
    expect_rejected(&mine, "127.0.0.1:0 127.0.0.1:0 127.0.0.1:0 127.0.0.1:0 127.0.0.1:0");
    memset(name + 5, 'x', 200);
    name[205] = '\0';
    expect_rejected(&mine, name);
    daemon_serve(&mine, (const char *const[]){NULL});
    (void)snprintf(name, sizeof name, "unix:%s", daemon_admin_socket(&mine, path));
    expect_rejected(&mine, name);
    cr_assert(socket_exists(&mine), "it belongs to the daemon that runs");
    daemon_stop(&mine);
}

/* At its default the socket is a convenience: where it cannot be, the daemon serves without it. */
Test(admin_socket, auto_gives_way)
{
    struct daemon mine;
    char path[PATH_MAX];
    daemon_make_store(&mine);
    test_write_file(daemon_admin_socket(&mine, path), "mine");
    daemon_serve(&mine, (const char *const[]){NULL});
    expect(http_request(&mine, "GET", "/health", NULL), 200, "");
    daemon_stop(&mine);
    daemon_make_store(&mine);
    daemon_serve(&mine, (const char *const[]){"--admin-listen", "", NULL});
    cr_assert_not(socket_exists(&mine));
    daemon_stop(&mine);
}
