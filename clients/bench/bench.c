/* bench.c - a load generator: concurrent requests and their latencies.
 *
 * curl's multi interface over our own epoll: curl's own loop visits every connection whenever one
 * of them is ready, which at 64 connections costs more than the reading. */
#include "bench/bench.h"
#include "base/clock.h"
#include "bench/bench_connection.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

struct bench {
    const struct bench_plan *plan;
    struct bench_result *result;
    CURLM *multi;
    int epoll;
    int64_t timer_ns; /* when to call curl; 0: no timer */
    struct bench_connection *streams;
    int64_t next, until; /* numbers of requests, half open */
    int64_t stop_ns;     /* no new request after this; 0: no limit */
    int active;          /* streams with a request in flight */
    bool out_of_memory;
};

/* ---- curl's callbacks ------------------------------------------------------------------------ */

/* `known` is what curl_multi_assign stored for this socket; NULL at its first call. */
static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *known)
{
    struct bench *b = context;
    struct epoll_event event = {.data.fd = fd};
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(b->epoll, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U);
    if (epoll_ctl(b->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) != 0)
        return -1;
    (void)curl_multi_assign(b->multi, fd, b);
    return 0;
}

static int set_timer(CURLM *multi, long ms, void *context)
{
    struct bench *b = context;
    (void)multi;
    b->timer_ns = ms < 0 ? 0 : sl_now_ns() + (int64_t)ms * 1000000;
    return 0;
}

static int wait_ms(const struct bench *b)
{
    enum { LONGEST_MS = 1000 };

    if (b->timer_ns == 0)
        return LONGEST_MS;
    int64_t left = b->timer_ns - sl_now_ns();
    if (left <= 0)
        return 0;
    return left < LONGEST_MS * (int64_t)1000000 ? (int)(left / 1000000) + 1 : LONGEST_MS;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void start(struct bench *b, struct bench_connection *s)
{
    bool begun =
        bench_connection_begin(s, b->next) && curl_multi_add_handle(b->multi, s->easy) == CURLM_OK;
    b->next++;
    b->active += begun;
    b->out_of_memory |= !begun;
}

static bool has_next(const struct bench *b)
{
    bool is_late = b->stop_ns > 0 && sl_now_ns() >= b->stop_ns;
    return b->next < b->until && !b->out_of_memory && !is_late;
}

static void collect(struct bench *b)
{
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(b->multi, &left))) {
        struct bench_connection *s = NULL;
        int code = (int)message->data.result;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&s);
        assert(s);
        (void)curl_multi_remove_handle(b->multi, s->easy);
        bench_connection_finish(s, code, b->result);
        b->active--;
        if (has_next(b))
            start(b, s);
    }
}

static void poll_once(struct bench *b)
{
    enum { EVENTS_MAX = 64 };

    struct epoll_event events[EVENTS_MAX];
    int running, count = epoll_wait(b->epoll, events, EVENTS_MAX, wait_ms(b));
    for (int i = 0; i < count; i++) {
        int what = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                   (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        (void)curl_multi_socket_action(b->multi, events[i].data.fd, what, &running);
    }
    if (b->timer_ns && sl_now_ns() >= b->timer_ns) {
        b->timer_ns = 0;
        (void)curl_multi_socket_action(b->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    collect(b);
}

/* Sends the requests first <= number < until. */
static void run_until(struct bench *b, int64_t first, int64_t until)
{
    b->next = first;
    b->until = until;
    for (int i = 0; i < b->plan->connections && has_next(b); i++)
        start(b, &b->streams[i]);
    while (b->active > 0)
        poll_once(b);
}

static double cpu_seconds(void)
{
    struct rusage use;
    if (getrusage(RUSAGE_SELF, &use) != 0)
        return 0;
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static void measure(struct bench *b)
{
    run_until(b, -b->plan->warm_up, 0);
    if (b->plan->warm_up > 0 && b->result->failure[0])
        return;
    double cpu = cpu_seconds();
    int64_t begun = sl_now_ns();
    if (b->plan->seconds > 0)
        b->stop_ns = begun + (int64_t)(b->plan->seconds * 1e9);
    run_until(b, 0, b->plan->requests);
    b->result->seconds = 1e-9 * (double)(sl_now_ns() - begun);
    b->result->client_seconds = cpu_seconds() - cpu;
}

/* ---- setup and teardown ---------------------------------------------------------------------- */

/* Raises the limit of open files to one per connection, up to the hard limit. */
static void raise_descriptors(int streams)
{
    struct rlimit limit;
    rlim_t required = (rlim_t)streams + 64;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= required)
        return;
    limit.rlim_cur = limit.rlim_max < required ? limit.rlim_max : required;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static bool prepare(struct bench *b)
{
    b->epoll = epoll_create1(EPOLL_CLOEXEC);
    b->multi = curl_multi_init();
    b->streams = calloc((size_t)b->plan->connections, sizeof *b->streams);
    if (b->epoll < 0 || !b->multi || !b->streams)
        return false;
    for (int i = 0; i < b->plan->connections; i++)
        if (!bench_connection_init(&b->streams[i], b->plan, b->result))
            return false;
    return curl_multi_setopt(b->multi, CURLMOPT_SOCKETFUNCTION, watch_socket) == CURLM_OK &&
           curl_multi_setopt(b->multi, CURLMOPT_SOCKETDATA, b) == CURLM_OK &&
           curl_multi_setopt(b->multi, CURLMOPT_TIMERFUNCTION, set_timer) == CURLM_OK &&
           curl_multi_setopt(b->multi, CURLMOPT_TIMERDATA, b) == CURLM_OK &&
           curl_multi_setopt(b->multi, CURLMOPT_MAXCONNECTS, (long)b->plan->connections) ==
               CURLM_OK;
}

/* curl removes sockets from epoll until curl_multi_cleanup, so epoll is closed last. */
static void tear_down(struct bench *b)
{
    for (int i = 0; b->streams && i < b->plan->connections; i++)
        bench_connection_release(&b->streams[i]);
    free(b->streams);
    if (b->multi)
        (void)curl_multi_cleanup(b->multi);
    if (b->epoll >= 0)
        (void)close(b->epoll);
}

bool bench_run(const struct bench_plan *plan, struct bench_result *result,
               struct client_error *failure)
{
    struct bench b = {.plan = plan, .result = result, .epoll = -1};
    assert(plan->connections > 0);
    assert(plan->connections <= BENCH_STREAMS_MAX);
    *result = (struct bench_result){0};
    raise_descriptors(plan->connections);
    bool prepared = prepare(&b);
    if (prepared)
        measure(&b);
    tear_down(&b);
    return (prepared && !b.out_of_memory) || client_error_no_memory(failure);
}
