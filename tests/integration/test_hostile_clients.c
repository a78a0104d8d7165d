/* test_hostile_clients.c - clients that leave, stall, flood or send rubbish, and signals: nothing
 * is lost. */
#include "base/buffer.h"
#include "base/clock.h"
#include "core/limits.h"
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/program.h"
#include "support/raw_socket.h"
#include "support/test.h"
#include "support/tiny_store.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define TINY    "\"model\":\"" TINY_MODEL "\","
#define FOREVER TINY "\"max_tokens\":1000000,\"prompt\":\"a\""
#define LABELS  "{model=\"tiny\",version=\"1\"}"

/* What memory may grow by without a leak. Sanitizers keep what is freed, to see who still uses
 * it. */
enum { SLACK = TEST_SANITIZED ? 1 << 30 : 2 << 20 };

static struct daemon d;

static void expect_answers(void)
{
    struct http_response answer = http_complete(&d, "{" TINY "\"prompt\":\"a\",\"max_tokens\":2}");
    cr_assert_eq(answer.status, 200, "%ld %s", answer.status, answer.body.data);
    http_response_release(&answer);
}

/* ---- clients that leave --------------------------------------------------------------------- */

/* Every call is counted once as cancelled, whether it was read, waited for, or still in the
 * queue. */
Test(hostile_clients, clients_that_leave_are_counted_exactly_and_cost_nothing)
{
    enum { SLOTS = 4, STREAMS = 6, WHOLES = 5, CLIENTS = STREAMS + WHOLES };

    int fds[CLIENTS];
    DAEMON_START(&d, "--max-sequences", "4", "--max-queue-size", "100");
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = raw_complete(&d, i < STREAMS ? "{\"stream\":true," FOREVER "}" : "{" FOREVER "}");
        if (i < SLOTS)
            raw_expect(fds[i], "data: ");
    }
    metric_wait(&d, "sluice_requests_in_flight", CLIENTS);
    for (int i = 0; i < CLIENTS; i++)
        (void)close(fds[i]);
    metric_wait(&d, "sluice_requests_in_flight", 0);
    metric_wait(&d, "sluice_sequences_running" LABELS, 0);
    metric_wait(&d, "sluice_sequences_waiting" LABELS, 0);
    cr_assert_eq(metric_completions(&d, "499", "cancelled"), CLIENTS);
    cr_assert_eq(metric_completions(&d, "200", "ok"), 0);
    expect_answers();
    metric_wait(&d, "sluice_requests_in_flight", 0); /* a call is counted after its last byte */
    cr_assert_eq(metric_completions(&d, "200", "ok"), 1);
    daemon_stop(&d);
}

Test(hostile_clients, bytes_sent_ahead_are_not_leaving)
{
    struct sl_buffer got = {0};
    DAEMON_START(&d, "--max-sequences", "1");
    int busy = raw_complete(&d, "{\"stream\":true," FOREVER "}");
    raw_expect(busy, "data: ");
    int fd = raw_complete(&d, "{" TINY "\"prompt\":\"a\",\"max_tokens\":3}");
    raw_send(fd, "GET /v2/health/live HTTP/1.1\r\nHost: x\r\nx-request-id: second\r\n\r\n");
    sleep_ms(200);
    (void)close(busy);
    cr_assert(raw_read_until(fd, &got, "{\"live\":true}"), "%s", got.data ? got.data : "nothing");
    const char *first = strstr(got.data, "text_completion"), *second = strstr(got.data, "second");
    cr_assert(first && second && first < second, "%s", got.data);
    sl_buffer_release(&got);
    (void)close(fd);
    metric_wait(&d, "sluice_requests_in_flight", 0);
    cr_assert_eq(metric_completions(&d, "200", "ok"), 1);
    cr_assert_eq(metric_completions(&d, "499", "cancelled"), 1);
    daemon_stop(&d);
}

Test(hostile_clients, a_client_that_does_not_read_is_ended_as_stalled)
{
    DAEMON_START(&d, "--write-timeout", "1");
    int fd = raw_connect_holding(&d, 8192);
    /* With large events, what lies between the two is soon full. */
    raw_send_completion(fd, "{\"stream\":true,\"logprobs\":5," FOREVER "}");
    metric_wait(&d, "sluice_sequences_running" LABELS, 1);
    metric_wait(&d, "sluice_sequences_running" LABELS, 0);
    expect_answers();
    raw_expect(fd, "data: [DONE]\n\n"); /* and then it reads: what there was, the error, the end */
    (void)close(fd);
    metric_wait(&d, "sluice_requests_in_flight", 0);
    cr_assert_eq(metric_completions(&d, "408", "stalled"), 1);
    daemon_stop(&d);
}

/* ---- floods --------------------------------------------------------------------------------- */

Test(hostile_clients, a_full_queue_rejects_with_429_and_retry_after)
{
    DAEMON_START(&d, "--max-sequences", "1", "--max-queue-size", "1");
    int running = raw_complete(&d, "{\"stream\":true," FOREVER "}");
    raw_expect(running, "data: ");
    int waiting = raw_complete(&d, "{\"stream\":true," FOREVER "}");
    metric_wait(&d, "sluice_sequences_waiting" LABELS, 1);
    for (int i = 0; i < 3; i++) {
        struct http_response answer = http_complete(&d, "{" TINY "\"prompt\":\"a\"}");
        cr_assert_eq(answer.status, 429, "%ld", answer.status);
        cr_assert(strstr(answer.body.data, "\"type\":\"rate_limit_error\""));
        cr_assert(strstr(answer.body.data, "\"code\":\"server_overloaded\""));
        cr_assert_geq((int)strtol(http_response_header(&answer, "retry-after"), NULL, 10), 1);
        cr_assert_geq((int)strtol(http_response_header(&answer, "retry-after-ms"), NULL, 10), 50);
        http_response_release(&answer);
    }
    struct http_response answer = http_request(&d, "GET", "/v2/health/live", NULL);
    cr_assert_eq(answer.status, 200, "busy is not dead");
    http_response_release(&answer);
    cr_assert_eq(metric_value(&d, "sluice_queue_full_total" LABELS), 3);
    metric_wait(&d, "sluice_requests_in_flight", 2); /* a call is counted after its last byte */
    cr_assert_eq(metric_completions(&d, "429", "overloaded"), 3);
    (void)close(running);
    raw_expect(waiting, "data: ");
    (void)close(waiting);
    metric_wait(&d, "sluice_requests_in_flight", 0);
    expect_answers();
    daemon_stop(&d);
}

/* A request is admitted by its bytes, so one that cannot be answered is first of all one too many;
 * and what tokenizing refuses gives its room back. */
Test(hostile_clients, admission_comes_before_tokenizing)
{
    enum { LONG = 3 * TINY_CONTEXT };

    char body[LONG + 128];
    DAEMON_START(&d, "--max-sequences", "1", "--max-queue-size", "0");
    char *end = stpcpy(body, "{" TINY "\"max_tokens\":2,\"prompt\":\"");
    memset(end, 'a', LONG);
    (void)stpcpy(end + LONG, "\"}");
    int running = raw_complete(&d, "{\"stream\":true," FOREVER "}");
    raw_expect(running, "data: ");
    struct http_response answer = http_complete(&d, body);
    cr_assert_eq(answer.status, 429, "%ld %s", answer.status, answer.body.data);
    http_response_release(&answer);
    answer = http_complete(&d, "{" TINY "and no JSON");
    cr_assert_eq(answer.status, 429, "it is not parsed either: %ld", answer.status);
    http_response_release(&answer);
    (void)close(running);
    metric_wait(&d, "sluice_admitted_tokens" LABELS, 0);
    answer = http_complete(&d, "{" TINY "and no JSON");
    cr_assert_eq(answer.status, 400, "%ld", answer.status);
    http_response_release(&answer);
    for (int i = 0; i < 3; i++) {
        answer = http_complete(&d, body);
        cr_assert_eq(answer.status, 400, "%ld %s", answer.status, answer.body.data);
        cr_assert(strstr(answer.body.data, "has 192 tokens; the context of"), "%s",
                  answer.body.data);
        http_response_release(&answer);
    }
    expect_answers();
    metric_wait(&d, "sluice_admitted_tokens" LABELS, 0); /* after the last byte of a response */
    daemon_stop(&d);
}

/* More clients than slots, all served, each with its own answer. */
Test(hostile_clients, many_streams_at_once)
{
    enum { CLIENTS = 100 };

    int fds[CLIENTS];
    char body[256];
    DAEMON_START(&d, "--max-sequences", "32");
    for (int i = 0; i < CLIENTS; i++) {
        (void)snprintf(body, sizeof body,
                       "{" TINY "\"stream\":true,\"prompt\":\"a\",\"max_tokens\":%d}", i + 1);
        fds[i] = raw_complete(&d, body);
    }
    for (int i = 0; i < CLIENTS; i++) {
        struct sl_buffer got = {0};
        char usage[64];
        (void)snprintf(usage, sizeof usage, "\"completion_tokens\":%d,", i + 1);
        cr_assert(raw_read_until(fds[i], &got, "data: [DONE]\n\n"));
        cr_assert(strstr(got.data, usage), "client %d got %s", i, got.data);
        sl_buffer_release(&got);
        (void)close(fds[i]);
    }
    metric_wait(&d, "sluice_requests_in_flight", 0);
    cr_assert_eq(metric_completions(&d, "200", "ok"), CLIENTS);
    cr_assert_gt(metric_value(&d, "sluice_batch_size_sum" LABELS),
                 2 * metric_value(&d, "sluice_batch_size_count" LABELS));
    daemon_stop(&d);
}

/* One connection's worth of trouble, by kind. */
static int trouble(int kind)
{
    static const char *const rubbish[] = {
        "\x16\x03\x01\x02\x01\x01\xfc\x03\x03 this is TLS, or so it says\r\n\r\n",
        "GET /\r\n\r\n",
        "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n{\"model\":",
        "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Le",
        "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}",
        "POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "",
    };

    enum { KINDS = sizeof rubbish / sizeof rubbish[0] };

    if (kind % (KINDS + 1) == KINDS)
        return raw_complete(&d, "{\"stream\":true," FOREVER "}");
    int fd = raw_connect(&d);
    raw_send(fd, rubbish[kind % (KINDS + 1)]);
    return fd;
}

static double abuse(int clients)
{
    int *fds = calloc((size_t)clients, sizeof *fds);
    cr_assert(fds);
    for (int i = 0; i < clients; i++)
        fds[i] = trouble(i);
    for (int i = 0; i < clients; i++)
        if (i % 8 == 7)
            raw_expect(fds[i], "data: "); /* in the middle of its stream */
    for (int i = 0; i < clients; i++)
        (void)close(fds[i]);
    free(fds);
    metric_wait(&d, "sluice_requests_in_flight", 0);
    metric_wait(&d, "sluice_http_connections", 1); /* the one that asks */
    expect_answers();
    return metric_value(&d, "process_resident_memory_bytes");
}

/* The first round fills what is kept for later; then memory must stay where it is. */
Test(hostile_clients, four_hundred_connections_of_trouble_leave_nothing_behind)
{
    enum { CLIENTS = 400, ROUNDS = 3, STREAMS = (ROUNDS + 1) * CLIENTS / 8, FDS_SLACK = 8 };

    DAEMON_START(&d, "--max-sequences", "64", "--max-queue-size", "512");
    double before = abuse(CLIENTS), after = 0;
    double fds = metric_value(&d, "process_open_fds");
    for (int i = 0; i < ROUNDS; i++)
        after = abuse(CLIENTS);
    cr_assert_eq(metric_completions(&d, "499", "cancelled"), STREAMS);
    /* Connections that their clients closed early may be accepted, and counted, only later. */
    double open = metric_value(&d, "process_open_fds");
    for (int i = 0; i < 600 && open > fds + FDS_SLACK; i++, sleep_ms(50))
        open = metric_value(&d, "process_open_fds");
    cr_assert_leq(open, fds + FDS_SLACK, "%.0f descriptors are open, %.0f before", open, fds);
    for (int i = 0; i < 100 && after > before + SLACK; i++, sleep_ms(50))
        after = metric_value(&d, "process_resident_memory_bytes");
    cr_assert_leq(after, before + SLACK, "resident memory went from %.0f to %.0f", before, after);
    cr_assert_eq(metric_value(&d, "sluice_request_body_bytes"), 0);
    daemon_stop(&d);
}

/* An event loop takes a number of events at a time, and libmicrohttpd's would wait for more when
 * that number is exactly reached: so with every number of connections, all requests come at
 * once. */
Test(hostile_clients, however_many_requests_arrive_at_once_all_are_answered)
{
    enum { CONNECTIONS = 300, FROM = 100, STEP = TEST_SANITIZED ? 4 : 1 };

    int fds[CONNECTIONS];
    DAEMON_START(&d, "--threads", "1");
    for (int count = 1; count <= CONNECTIONS; count++) {
        fds[count - 1] = raw_connect(&d);
        if (count < FROM || count % STEP)
            continue;
        cr_assert_eq(kill(d.pid, SIGSTOP), 0);
        for (int i = 0; i < count; i++)
            raw_send(fds[i], "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n");
        cr_assert_eq(kill(d.pid, SIGCONT), 0);
        for (int i = 0; i < count; i++)
            raw_expect(fds[i], "{\"live\":true}");
    }
    for (int i = 0; i < CONNECTIONS; i++)
        (void)close(fds[i]);
    daemon_stop(&d);
}

/* ---- clients that let us wait --------------------------------------------------------------- */

static bool has_ended(int fd, int ms)
{
    char byte;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    return poll(&ready, 1, ms) == 1 && read(fd, &byte, 1) <= 0;
}

/* The end of the connection comes with the last bytes. */
Test(hostile_clients, half_a_body_and_gone_is_noticed)
{
    enum { CLIENTS = 60 };

    DAEMON_START(&d, "--threads", "1");
    for (int i = 0; i < CLIENTS; i++) {
        int fd = raw_connect(&d);
        raw_send(fd, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{\"a");
        (void)close(fd);
    }
    int64_t began = sl_now_ns();
    metric_wait(&d, "sluice_request_body_bytes", 0);
    metric_wait(&d, "sluice_http_connections", 1); /* that which asks */
    cr_assert_lt(sl_now_ns() - began, (int64_t)(SV_BODY_CHUNK_SECONDS - 5) * 1000000000);
    daemon_stop(&d);
}

/* Each byte is a sign of life, but the whole has its time. */
Test(hostile_clients, a_body_that_trickles_is_not_waited_for)
{
    DAEMON_START(&d, "--request-timeout", "1");
    int fd = raw_connect(&d);
    raw_send(fd,
             "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n{\"model\":");
    bool ended = false;
    for (int i = 0; i < DAEMON_WAIT_MS / 20 && !ended; i++) {
        ended = has_ended(fd, 20);
        (void)!send(fd, " ", 1, MSG_NOSIGNAL);
    }
    cr_assert(ended);
    metric_wait(&d, "sluice_request_body_bytes", 0);
    (void)close(fd);
    expect_answers();
    daemon_stop(&d);
}

/* Those who take connections and say nothing make room for those who ask. */
Test(hostile_clients, silent_connections_do_not_keep_others_out)
{
    enum { CONNECTIONS = 8, SILENT = 12 };

    int fds[SILENT];
    DAEMON_START(&d, "--max-connections", "8");
    for (int i = 0; i < SILENT; i++)
        fds[i] = raw_connect(&d);
    struct http_response answer = http_request(&d, "GET", "/v2/health/live", NULL);
    cr_assert_eq(answer.status, 200, "%ld", answer.status);
    http_response_release(&answer);
    int ended = 0;
    for (int i = 0; i < SILENT; i++) {
        ended += has_ended(fds[i], 0);
        (void)close(fds[i]);
    }
    cr_assert_geq(ended, CONNECTIONS / 2); /* those of a thread */
    daemon_stop(&d);
}

/* Nor do those who ask for much and take nothing. */
Test(hostile_clients, unread_responses_do_not_block_others)
{
    enum { DEAF = 12, REQUESTS = 600 };

    int fds[DEAF];
    struct sl_buffer requests = {0};
    DAEMON_START(&d, "--max-connections", "8");
    for (int i = 0; i < REQUESTS; i++)
        sl_buffer_append_string(&requests, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int i = 0; i < DEAF; i++) {
        fds[i] = raw_connect_holding(&d, 8192);
        raw_send(fds[i], requests.data);
    }
    sleep_ms(1000); /* what the sockets hold is full */
    struct http_response answer = http_request(&d, "GET", "/v2/health/live", NULL);
    cr_assert_eq(answer.status, 200, "%ld", answer.status);
    http_response_release(&answer);
    for (int i = 0; i < DEAF; i++)
        (void)close(fds[i]);
    sl_buffer_release(&requests);
    daemon_stop(&d);
}

/* ---- time ----------------------------------------------------------------------------------- */

Test(hostile_clients, a_silent_stream_is_kept_alive_and_a_late_one_ends)
{
    struct sl_buffer got = {0};
    DAEMON_START(&d, "--max-sequences", "1", "--sse-ping-seconds", "1", "--request-timeout", "3");
    int busy = raw_complete(&d, "{\"stream\":true," FOREVER "}");
    raw_expect(busy, "data: ");
    int silent = raw_complete(&d, "{\"stream\":true," FOREVER "}");
    cr_assert(raw_read_until(silent, &got, ": ping\n\n"), "no comment while it waits");
    (void)close(silent);
    struct sl_buffer end = {0};
    cr_assert(raw_read_until(busy, &end, "data: [DONE]\n\n"));
    cr_assert(strstr(end.data, "\"code\":\"deadline_exceeded\""));
    (void)close(busy);
    sl_buffer_release(&got);
    sl_buffer_release(&end);
    metric_wait(&d, "sluice_requests_in_flight", 0);
    cr_assert_eq(metric_completions(&d, "504", "expired"), 1);
    daemon_stop(&d);
}

Test(hostile_clients, a_client_may_ask_for_less_time)
{
    DAEMON_START(&d, "--max-sequences", "1", "--request-timeout", "1");
    struct curl_slist *headers = curl_slist_append(NULL, "X-Request-Timeout-Ms: 100");
    for (int i = 0; i < 2; i++) {
        const struct curl_slist *wish = i ? NULL : headers;
        struct http_response answer = http_request_with(&d, "POST", "/v1/completions",
                                                        "{" TINY "\"max_tokens\":1000000}", wish);
        cr_assert_eq(answer.status, 504, "%ld %s", answer.status, answer.body.data);
        cr_assert(strstr(answer.body.data, "\"code\":\"deadline_exceeded\""));
        const char *again = http_response_header(&answer, "x-should-retry");
        cr_assert_eq(again && strcmp(again, "false") == 0, wish != NULL);
        http_response_release(&answer);
    }
    curl_slist_free_all(headers);
    daemon_stop(&d);
}

/* ---- signals -------------------------------------------------------------------------------- */

Test(hostile_clients, sigterm_fails_requests_that_last_too_long)
{
    struct sl_buffer got = {0};
    DAEMON_START(&d, "--drain-timeout", "1");
    int lasting = raw_complete(&d, "{\"stream\":true," TINY "\"max_tokens\":1000000}");
    raw_expect(lasting, "data: ");
    cr_assert_eq(kill(d.pid, SIGTERM), 0);
    cr_assert(raw_read_until(lasting, &got, "data: [DONE]\n\n"));
    cr_assert(strstr(got.data, "\"code\":\"draining\""), "how it ended");
    cr_assert_not(strstr(got.data, "\"finish_reason\":\"length\""));
    cr_assert_eq(program_wait(d.pid), 0);
    sl_buffer_release(&got);
    (void)close(lasting);
    test_directory_remove(d.directory);
}

Test(hostile_clients, sigterm_lets_running_requests_finish)
{
    struct sl_buffer short_one = {0};
    DAEMON_START(&d, "--drain-timeout", "3000");
    int lasting = raw_complete(&d, "{\"stream\":true," TINY "\"max_tokens\":1000000}");
    raw_expect(lasting, "data: ");
    int ending = raw_complete(&d, "{\"stream\":true," TINY "\"max_tokens\":200}");
    cr_assert(raw_read_until(ending, &short_one, "data: "));
    cr_assert_eq(kill(d.pid, SIGTERM), 0);
    struct http_response answer = {0};
    for (int i = 0; i < DAEMON_WAIT_MS / 10 && answer.status != 503; i++, sleep_ms(10)) {
        http_response_release(&answer);
        answer = http_request(&d, "GET", "/v2/health/ready", NULL);
    }
    cr_assert_eq(answer.status, 503, "still ready after SIGTERM");
    cr_assert_str_eq(http_response_header(&answer, "connection"), "close");
    http_response_release(&answer);
    answer = http_complete(&d, "{" TINY "\"prompt\":\"a\"}");
    cr_assert_eq(answer.status, 503);
    cr_assert(strstr(answer.body.data, "\"code\":\"draining\""));
    http_response_release(&answer);
    answer = http_request(&d, "POST", "/tokenize", "{\"inputs\":\"a\"}");
    cr_assert_eq(answer.status, 503);
    http_response_release(&answer);
    answer = http_request(&d, "POST", "/decode", "{\"ids\":[1]}");
    cr_assert_eq(answer.status, 503);
    http_response_release(&answer);
    answer = http_request(&d, "POST", "/hf/" TINY_MODEL, "{\"inputs\":\"a\"}");
    cr_assert_eq(answer.status, 429, "its client would spin on a 503");
    cr_assert(http_response_header(&answer, "retry-after"));
    cr_assert(strstr(answer.body.data, "\"error_type\":\"overloaded\"}"), "%s", answer.body.data);
    http_response_release(&answer);
    answer = http_request(&d, "POST", "/v2/repository/index", "");
    cr_assert_eq(answer.status, 200, "what there is may still be asked");
    http_response_release(&answer);
    cr_assert(raw_read_until(ending, &short_one, "data: [DONE]\n\n"), "%s", short_one.data);
    cr_assert(strstr(short_one.data, "\"finish_reason\":\"length\""));
    (void)close(lasting); /* nobody waits for it any more */
    cr_assert_eq(program_wait(d.pid), 0);
    sl_buffer_release(&short_one);
    (void)close(ending);
    test_directory_remove(d.directory);
}

Test(hostile_clients, a_second_sigterm_does_not_wait)
{
    DAEMON_START(&d, "--drain-timeout", "3000");
    int stream = raw_complete(&d, "{\"stream\":true," TINY "\"max_tokens\":1000000}");
    int whole = raw_complete(&d, "{" TINY "\"max_tokens\":1000000}");
    raw_expect(stream, "data: ");
    metric_wait(&d, "sluice_requests_in_flight", 2);
    cr_assert_eq(kill(d.pid, SIGTERM), 0);
    sleep_ms(200);
    cr_assert_eq(waitpid(d.pid, NULL, WNOHANG), 0, "it should be draining");
    cr_assert_eq(kill(d.pid, SIGTERM), 0);
    cr_assert_eq(program_wait(d.pid), 0);
    (void)close(stream);
    (void)close(whole);
    test_directory_remove(d.directory);
}
