/* test_sluicectl_bench.c - `sluicectl bench --rate`: an open loop, with a daemon and with a server
 * that stalls. */
#include "support/json_query.h"
#include "support/sluicectl_cli.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* The lines of JSON, one per rate; returns how many. */
static int read_lines(const char *text, json_t **reports, int max)
{
    int count = 0;
    for (const char *end; *text && count < max; text = end + 1) {
        end = strchr(text, '\n');
        cr_assert(end, "%s", text);
        char *line = strndup(text, (size_t)(end - text));
        reports[count++] = json_from_text(line);
        free(line);
    }
    return count;
}

Test(sluicectl_bench, measures_one_rate_after_another)
{
    static struct ctl_target d;
    json_t *reports[3];
    ctl_serve(&d);
    const struct program_result *r =
        CTL(&d, "bench", "--rate", "60,30", "--seconds", "0.5", "--tokens", "3", "--prompt", "a",
            "--warm-up", "1", "--json");
    EXPECT_EXIT(r, 0);
    cr_assert_eq(read_lines(r->out, reports, 3), 2, "%s", r->out);
    for (int i = 0; i < 2; i++) {
        int due = i == 0 ? 15 : 30;
        cr_assert_eq(json_number_at(reports[i], "rate"), 30 * (i + 1), "by rising rate");
        cr_assert_eq(json_integer_at(reports[i], "due"), due);
        cr_assert_eq(json_integer_at(reports[i], "requests"), due);
        cr_assert_eq(json_integer_at(reports[i], "dropped"), 0);
        cr_assert_gt(json_number_at(json_object_get(reports[i], "latency_ms"), "p99"), 0);
        json_decref(reports[i]);
    }
    daemon_stop(&d.daemon);
}

Test(sluicectl_bench, prints_and_draws_latency_against_rate)
{
    static struct ctl_target d;
    char svg[PATH_MAX], file[PATH_MAX];
    ctl_serve_classifiers(&d);
    FILE *texts = fopen(test_path(file, d.daemon.directory, "texts.txt"), "we");
    cr_assert(texts);
    (void)fprintf(texts, "a b\nb a a\n");
    cr_assert_eq(fclose(texts), 0);
    (void)test_path(svg, d.daemon.directory, "curve.svg");
    const struct program_result *r =
        CTL(&d, "bench", "--classify", file, "--rate", "40,80", "--poisson", "--seconds", "0.4",
            "--connections", "8", "--svg", svg);
    EXPECT_EXIT(r, 0);
    EXPECT_SAID(r->out, "at most 8 requests at a time");
    EXPECT_SAID(r->out, "latency, ms: o median, x p99");
    EXPECT_SAID(r->out, "80  requests/s");
    EXPECT_SAID(r->out, "The daemon ");
    FILE *picture = fopen(svg, "re");
    char head[8] = "";
    cr_assert(picture && fread(head, 1, 4, picture) == 4);
    (void)fclose(picture);
    cr_assert_str_eq(head, "<svg");
    daemon_stop(&d.daemon);
}

Test(sluicectl_bench, rejects_options_that_do_not_fit)
{
    static const struct {
        const char *option, *value, *said;
    } cases[] = {
        {"--rate", "5x", "'5x' is not a rate; give requests per second, from 0.01 to 1e+06"},
        {"--rate", "10,", "'' is not a rate"},
        {"--rate", "10,0", "'0' is not a rate"},
        {"--rate", "nan", "'nan' is not a rate"},
        {"--svg", "x.svg", "--svg needs --rate"},
        {"--seconds", "1", "--seconds needs --classify, --embed or --rate"},
        {"--texts", "2", "--texts needs --classify or --embed"},
    };

    static struct ctl_target d;
    ctl_serve(&d);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct program_result *r = CTL(&d, "bench", cases[i].option, cases[i].value);
        EXPECT_EXIT(r, 2);
        EXPECT_SAID(r->err, cases[i].said);
    }
    const struct program_result *r = CTL(&d, "bench", "--poisson");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "--poisson needs --rate");
    daemon_stop(&d.daemon);
}

/* ---- a server that stalls once --------------------------------------------------------------- */

enum { STALL_MS = 400 };

/* Answers one connection after another. The first answer after the warm-up takes STALL_MS, others
 * almost nothing. */
struct staller {
    int socket, answered;
    char url[64];
    const char *input; /* none */
    struct program_result result;
    pthread_t thread;
};

static void *stall(void *context)
{
    static const char answer[] =
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"choices\":[{\"index\":0,\"text\":\"a\"}],"
        "\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}";
    struct staller *s = context;
    for (int fd; (fd = accept(s->socket, NULL, NULL)) >= 0;) {
        char request[8192];
        size_t used = 0;
        ssize_t count;
        while (used < sizeof request - 1 && !memchr(request, '}', used) &&
               (count = read(fd, request + used, sizeof request - 1 - used)) > 0)
            used += (size_t)count;
        if (s->answered++ == 1)
            (void)usleep(STALL_MS * 1000);
        (void)send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL);
        (void)shutdown(fd, SHUT_WR);
        (void)close(fd);
    }
    return NULL;
}

static void staller_start(struct staller *s)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    *s = (struct staller){.socket = socket(AF_INET, SOCK_STREAM, 0)};
    cr_assert_eq(bind(s->socket, (struct sockaddr *)&address, length), 0);
    cr_assert_eq(listen(s->socket, 256), 0);
    cr_assert_eq(getsockname(s->socket, (struct sockaddr *)&address, &length), 0);
    (void)snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d/", ntohs(address.sin_port));
    cr_assert_eq(pthread_create(&s->thread, NULL, stall, s), 0);
}

static void staller_stop(struct staller *s)
{
    (void)shutdown(s->socket, SHUT_RDWR);
    cr_assert_eq(pthread_join(s->thread, NULL), 0);
    (void)close(s->socket);
}

static json_t *bench_staller(struct staller *s, const char *option, const char *value,
                             const char *connections)
{
    staller_start(s);
    const struct program_result *r =
        CTL(s, "bench", "--model", "m", "--no-stream", "--warm-up", "1", "--json", "--connections",
            connections, option, value, "--requests", "100");
    staller_stop(s);
    EXPECT_EXIT(r, 0);
    return json_from_text(r->out);
}

static double median_of(const json_t *report)
{
    return json_number_at(json_object_get(report, "latency_ms"), "p50");
}

/* Most of the requests are due during the stall, and wait for half of it on average. A closed loop
 * sends nothing meanwhile, and sees one slow request. */
Test(sluicectl_bench, latencies_count_from_when_requests_are_due)
{
    static struct staller s;
    json_t *closed = bench_staller(&s, "--tokens", "1", "1");
    cr_assert_eq(json_integer_at(closed, "requests"), 100);
    cr_assert_lt(median_of(closed), STALL_MS / 8.0);
    json_decref(closed);
    json_t *open = bench_staller(&s, "--rate", "200", "64");
    cr_assert_eq(json_integer_at(open, "due"), 100);
    cr_assert_eq(json_integer_at(open, "dropped"), 100 - json_integer_at(open, "requests"));
    cr_assert_gt(median_of(open), STALL_MS / 8.0);
    json_decref(open);
}

/* With one connection, what is due during the stall is dropped, and not hidden. */
Test(sluicectl_bench, what_is_due_while_all_connections_are_busy_is_dropped_and_counted)
{
    static struct staller s;
    json_t *report = bench_staller(&s, "--rate", "100", "1");
    cr_assert_eq(json_integer_at(report, "due"), 100);
    cr_assert_geq(json_integer_at(report, "dropped"), 30);
    cr_assert_eq(json_integer_at(report, "requests") + json_integer_at(report, "dropped"), 100);
    cr_assert_not(json_is_true(json_object_get(report, "keeps_up")));
    json_decref(report);
}
