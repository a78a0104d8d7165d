/* test_restart.c - the daemon as a service: restarts under load, notifications, signals.
 *
 *     SLUICE_RESTARTS=50 build/release/tests/test_restart      the long run */
#include "base/buffer.h"
#include "support/http_client.h"
#include "support/program.h"
#include "support/raw_socket.h"
#include "support/service_manager.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>

static const char whole[] = "{\"model\":\"" TINY_MODEL "\",\"prompt\":\"ab\",\"max_tokens\":8}";
static const char streamed[] =
    "{\"model\":\"" TINY_MODEL "\",\"prompt\":\"ab\",\"max_tokens\":8,\"stream\":true}";

/* ---- clients --------------------------------------------------------------------------------- */

enum kind { KEEPS, CONNECTS, STREAMS, KINDS };

enum { CLIENTS = 9 };

struct load {
    const struct daemon *daemon;
    atomic_bool stop;
    atomic_int done, failed;
    char reason[512]; /* of the first failure */
    pthread_mutex_t lock;
};

struct load_client {
    struct load *load;
    enum kind kind;
    pthread_t thread;
};

static void record_failure(struct load *load, const char *what, const char *got)
{
    pthread_mutex_lock(&load->lock);
    if (atomic_fetch_add(&load->failed, 1) == 0)
        (void)snprintf(load->reason, sizeof load->reason, "%s (%s): %.400s", what,
                       strerrordesc_np(errno), got ? got : "nothing");
    pthread_mutex_unlock(&load->lock);
}

static const char *body_of(const struct sl_buffer *got)
{
    const char *end = got->data ? strstr(got->data, "\r\n\r\n") : NULL;
    return end ? end + 4 : NULL;
}

/* The end of a response: as many bytes as its head says, or the end of the stream. */
static bool is_complete(const struct sl_buffer *got)
{
    const char *body = body_of(got),
               *length = body ? strcasestr(got->data, "content-length:") : NULL;
    if (!body)
        return false;
    if (!length || length > body)
        return strstr(body, "\r\n0\r\n\r\n") || strncmp(body, "0\r\n\r\n", 5) == 0;
    return got->bytes - (size_t)(body - got->data) >= strtoul(length + 15, NULL, 10);
}

static bool read_response(int fd, struct sl_buffer *got)
{
    char bytes[4096];
    errno = 0;
    while (!is_complete(got)) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t count = poll(&ready, 1, DAEMON_WAIT_MS) == 1 ? read(fd, bytes, sizeof bytes) : -1;
        if (count <= 0)
            return false;
        sl_buffer_append(got, bytes, (size_t)count);
        sl_buffer_append_string(got, "");
    }
    return true;
}

static bool send_request(int fd, const char *json)
{
    char request[512];
    int length = snprintf(request, sizeof request,
                          "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: "
                          "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                          strlen(json), json);
    return send(fd, request, (size_t)length, MSG_NOSIGNAL) == length;
}

/* One request and its response. Returns whether the connection may be used again. Nothing is tried
 * twice: a client that may not repeat a generation could not, either. */
static bool exchange(struct load *load, int fd, const char *json)
{
    struct sl_buffer got = {0};
    bool sent = send_request(fd, json), answered = sent && read_response(fd, &got);
    bool good =
        answered && strncmp(got.data, "HTTP/1.1 200", 12) == 0 && !strstr(got.data, "error");
    bool keeps = good && !strcasestr(got.data, "connection: close");
    if (good)
        atomic_fetch_add(&load->done, 1);
    else
        record_failure(load, !sent ? "not sent" : answered ? "an error" : "cut short", got.data);
    sl_buffer_release(&got);
    return keeps;
}

static void *run_client(void *argument)
{
    const struct load_client *client = argument;
    struct load *load = client->load;
    int fd = -1;
    while (!atomic_load(&load->stop)) {
        if (fd < 0)
            fd = raw_connect(load->daemon); /* fails the test if it is refused */
        if (exchange(load, fd, client->kind == STREAMS ? streamed : whole) &&
            client->kind != CONNECTS)
            continue;
        (void)close(fd);
        fd = -1;
    }
    if (fd >= 0)
        (void)close(fd);
    return NULL;
}

static void start_clients(struct load *load, struct load_client clients[static CLIENTS])
{
    pthread_mutex_init(&load->lock, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct load_client){.load = load, .kind = (enum kind)(i % KINDS)};
        cr_assert_eq(pthread_create(&clients[i].thread, NULL, run_client, &clients[i]), 0);
    }
}

static void wait_for_requests(struct load *load, int more)
{
    int wanted = atomic_load(&load->done) + more;
    for (int i = 0; i < DAEMON_WAIT_MS / 5 && atomic_load(&load->done) < wanted; i++)
        sleep_ms(5);
    cr_assert_geq(atomic_load(&load->done), wanted, "no requests are answered; failed: %d, %s",
                  atomic_load(&load->failed), load->reason);
}

static int restarts(void)
{
    const char *wanted = getenv("SLUICE_RESTARTS");
    if (wanted)
        (void)alarm(0); /* the sanitizers' runner ends a test after some minutes */
    return wanted ? (int)strtol(wanted, NULL, 10) : 3;
}

Test(restart, no_request_fails_while_the_service_manager_holds_the_socket)
{
    static struct service_manager manager;
    static struct load load;
    struct load_client clients[CLIENTS];
    service_manager_open(&manager);
    service_manager_start(&manager, ARGS("--max-sequences", "4"));
    load.daemon = &manager.daemon;
    start_clients(&load, clients);
    for (int i = 0; i < restarts(); i++) {
        wait_for_requests(&load, 3 * CLIENTS);
        service_manager_stop(&manager);
        service_manager_start(&manager, ARGS("--max-sequences", "4"));
    }
    wait_for_requests(&load, 3 * CLIENTS);
    atomic_store(&load.stop, true);
    for (int i = 0; i < CLIENTS; i++)
        (void)pthread_join(clients[i].thread, NULL);
    cr_assert_eq(atomic_load(&load.failed), 0, "%d of %d failed; the first: %s",
                 atomic_load(&load.failed), atomic_load(&load.done), load.reason);
    service_manager_stop(&manager);
    service_manager_close(&manager);
}

/* ---- the end --------------------------------------------------------------------------------- */

Test(restart, a_request_on_an_open_connection_is_answered_after_sigterm)
{
    static struct service_manager manager;
    struct sl_buffer got = {0};
    service_manager_open(&manager);
    service_manager_start(&manager, ARGS("--max-sequences", "4"));
    int fd = raw_connect(&manager.daemon);
    cr_assert(send_request(fd, whole) && read_response(fd, &got));
    cr_assert_not(strcasestr(got.data, "connection: close"));
    sl_buffer_release(&got);
    cr_assert_eq(kill(manager.daemon.pid, SIGTERM), 0);
    service_manager_hear(&manager, "STOPPING=1");
    service_manager_hear(&manager, "EXTEND_TIMEOUT_USEC=");
    cr_assert(send_request(fd, whole) && read_response(fd, &got));
    cr_assert(strncmp(got.data, "HTTP/1.1 200", 12) == 0, "%s", got.data);
    cr_assert(strcasestr(got.data, "connection: close"), "%s", got.data);
    cr_assert_eq(program_wait(manager.daemon.pid), 0);
    (void)close(fd);
    sl_buffer_release(&got);
    service_manager_close(&manager);
}

Test(restart, clients_that_connect_while_no_daemon_runs_are_answered_by_the_next)
{
    static struct service_manager manager;
    struct sl_buffer got = {0};
    service_manager_open(&manager);
    int idle = raw_connect(&manager.daemon), fd = raw_connect(&manager.daemon);
    cr_assert(send_request(fd, whole));
    service_manager_start(&manager, ARGS("--max-sequences", "4"));
    cr_assert(read_response(fd, &got) && strncmp(got.data, "HTTP/1.1 200", 12) == 0);
    struct http_response response = http_admin(&manager.daemon, "GET", "/v2/health/ready", NULL);
    cr_assert_eq(response.status, 200, "by the socket for administration");
    http_response_release(&response);
    service_manager_stop(&manager); /* an idle connection does not hold it up for long */
    (void)close(fd);
    (void)close(idle);
    sl_buffer_release(&got);
    service_manager_close(&manager);
}

Test(restart, a_daemon_that_leaves_is_not_ready_and_still_answers)
{
    static struct daemon mine;
    DAEMON_START(&mine, "--drain-delay", "600");
    cr_assert_eq(kill(mine.pid, SIGTERM), 0);
    struct http_response response = {0};
    for (int i = 0; i < DAEMON_WAIT_MS / 20 && response.status != 503; i++) {
        http_response_release(&response);
        sleep_ms(20);
        response = http_request(&mine, "GET", "/v2/health/ready", NULL);
    }
    cr_assert_eq(response.status, 503);
    http_response_release(&response);
    response = http_request(&mine, "GET", "/health", NULL);
    cr_assert_eq(response.status, 503);
    http_response_release(&response);
    response = http_complete(&mine, whole);
    cr_assert_eq(response.status, 200);
    cr_assert_str_eq(http_response_header(&response, "connection"), "close");
    http_response_release(&response);
    daemon_stop(&mine); /* the second signal ends the delay */
}

/* ---- notifications --------------------------------------------------------------------------- */

Test(restart, reloading_is_reported_from_its_begin_to_its_end)
{
    static struct service_manager manager;
    service_manager_open(&manager);
    service_manager_start(&manager, ARGS("--max-sequences", "4"));
    manager.heard[0] = '\0';
    cr_assert_eq(kill(manager.daemon.pid, SIGHUP), 0);
    service_manager_hear(&manager, "RELOADING=1\nMONOTONIC_USEC=");
    service_manager_hear(&manager, "\nREADY=1");
    service_manager_stop(&manager);
    service_manager_close(&manager);
}

Test(restart, loading_is_reported_and_the_watchdog_is_fed_while_idle_and_at_work)
{
    static struct service_manager manager;
    service_manager_open(&manager);
    service_manager_spawn(&manager, &(struct service_start){.options = ARGS("--threads", "1"),
                                                            .names = "inference:admin",
                                                            .watchdog_usec = "2000000"});
    service_manager_hear(&manager,
                         "STATUS=Loading the model " TINY_MODEL ".\nEXTEND_TIMEOUT_USEC=");
    service_manager_hear(&manager, "READY=1");
    manager.heard[0] = '\0';
    service_manager_hear(&manager, "WATCHDOG=1\nWATCHDOG=1\n");
    int fd = raw_complete(&manager.daemon,
                          "{\"model\":\"" TINY_MODEL "\",\"prompt\":\"ab\",\"max_tokens\":1000000,"
                          "\"stream\":true,\"ignore_eos\":true}");
    manager.heard[0] = '\0';
    service_manager_hear(&manager, "WATCHDOG=1\nWATCHDOG=1\n");
    (void)close(fd);
    service_manager_stop(&manager);
    service_manager_close(&manager);
}

/* ---- sockets that are refused ---------------------------------------------------------------- */

/* Other machines can reach it, and there are no keys. */
static int listen_on_all_addresses(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(fd, 1), 0);
    return fd;
}

static void expect_refusal(struct service_manager *manager, const char *names)
{
    service_manager_spawn(
        manager, &(struct service_start){.options = ARGS("--threads", "1"), .names = names});
    cr_assert_eq(program_wait(manager->daemon.pid), 2, "LISTEN_FDNAMES=%s", names);
}

Test(restart, sockets_that_mean_nothing_stop_the_start)
{
    static struct service_manager manager;
    service_manager_open(&manager);
    expect_refusal(&manager, "inference:metrics");
    expect_refusal(&manager, "inference:inference");
    (void)close(manager.inference);
    manager.inference = listen_on_all_addresses();
    expect_refusal(&manager, "inference:admin");
    service_manager_close(&manager);
}
