/* bench.c - a load generator: concurrent requests and their latencies.
 *
 * curl's multi interface over our own epoll: curl's own loop visits every connection whenever one
 * of them is ready, which at 64 connections costs more than the reading. */
#include "bench/bench.h"
#include "base/clock.h"
#include "bench/bench_arrivals.h"
#include "bench/bench_connection.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct bench {
    const struct bench_plan *plan;
    struct bench_result *result;
    CURLM *multi;
    int epoll;
    int64_t timer_ns; /* when to call curl; 0: no timer */
    struct bench_connection *streams;
    struct bench_connection **idle; /* a stack of those without a request in flight */
    int idle_count;
    int64_t next, until;      /* numbers of requests, half open */
    int64_t half_ns, stop_ns; /* of the time to measure; no new request after stop; 0: no limit */
    bool is_open;             /* requests are due at the times of `arrivals` */
    struct bench_arrivals arrivals;
    int clock; /* a timer in epoll for the next arrival: epoll_wait counts in milliseconds */
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

/* ---- starting requests ----------------------------------------------------------------------- */

static void start(struct bench *b, struct bench_connection *s)
{
    int64_t now = sl_now_ns();
    bool begun = bench_connection_begin(s, b->next, b->is_open ? b->arrivals.due_ns : now) &&
                 curl_multi_add_handle(b->multi, s->easy) == CURLM_OK;
    if (b->is_open)
        histogram_add(&b->result->open.start_delay, now - b->arrivals.due_ns);
    if (!begun) {
        b->out_of_memory = true;
        b->idle[b->idle_count++] = s;
    }
}

static bool has_next(const struct bench *b)
{
    int64_t time = b->is_open ? b->arrivals.due_ns : b->stop_ns > 0 ? sl_now_ns() : 0;
    bool is_late = b->stop_ns > 0 && time >= b->stop_ns;
    return b->next < b->until && !b->out_of_memory && !is_late;
}

/* In an open loop every request that is due is started or dropped. */
static void start_due(struct bench *b)
{
    struct bench_open_loop *open = &b->result->open;
    for (int64_t now = sl_now_ns(); has_next(b) && b->arrivals.due_ns <= now; b->next++) {
        open->due++;
        open->late_due += b->arrivals.due_ns >= b->half_ns;
        if (b->idle_count > 0)
            start(b, b->idle[--b->idle_count]);
        else
            open->dropped++;
        bench_arrivals_advance(&b->arrivals);
    }
    if (has_next(b)) {
        const struct itimerspec next = {.it_value = sl_timespec(b->arrivals.due_ns)};
        (void)timerfd_settime(b->clock, TFD_TIMER_ABSTIME, &next, NULL);
    }
}

static void start_idle(struct bench *b)
{
    for (; b->idle_count > 0 && has_next(b); b->next++)
        start(b, b->idle[--b->idle_count]);
}

static void start_more(struct bench *b)
{
    if (b->is_open)
        start_due(b);
    else
        start_idle(b);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void finish(struct bench *b, struct bench_connection *s, int code)
{
    int64_t done = b->result->done, now = sl_now_ns();
    bench_connection_finish(s, code, b->result);
    if (b->is_open && now >= b->half_ns && now < b->stop_ns)
        b->result->open.late_ended += b->result->done - done;
    b->idle[b->idle_count++] = s;
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
        finish(b, s, code);
    }
}

static void act_on(struct bench *b, const struct epoll_event *event)
{
    int running;
    int what = (event->events & EPOLLIN ? CURL_CSELECT_IN : 0) |
               (event->events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
               (event->events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
    uint64_t times;
    if (event->data.fd == b->clock)
        (void)!read(b->clock, &times, sizeof times);
    else
        (void)curl_multi_socket_action(b->multi, event->data.fd, what, &running);
}

static void poll_once(struct bench *b)
{
    enum { EVENTS_MAX = 64 };

    struct epoll_event events[EVENTS_MAX];
    int running, count = epoll_wait(b->epoll, events, EVENTS_MAX, wait_ms(b));
    for (int i = 0; i < count; i++)
        act_on(b, &events[i]);
    if (b->timer_ns && sl_now_ns() >= b->timer_ns) {
        b->timer_ns = 0;
        (void)curl_multi_socket_action(b->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    collect(b);
    start_more(b);
}

/* Sends the requests first <= number < until. */
static void run_until(struct bench *b, int64_t first, int64_t until)
{
    b->next = first;
    b->until = until;
    start_more(b);
    while (b->idle_count < b->plan->connections || has_next(b))
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

/* Warm-up requests are a closed loop. */
static void open_loop(struct bench *b, int64_t begun)
{
    b->is_open = b->plan->rate > 0;
    b->half_ns = begun + (b->stop_ns - begun) / 2;
    if (b->is_open)
        bench_arrivals_begin(&b->arrivals, b->plan->rate, b->plan->poisson, begun);
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
    open_loop(b, begun);
    run_until(b, 0, b->plan->requests);
    b->result->seconds = 1e-9 * (double)(sl_now_ns() - begun);
    b->result->client_seconds = cpu_seconds() - cpu;
    if (b->is_open)
        b->result->open.ended_per_second =
            (double)b->result->open.late_ended / (b->plan->seconds / 2);
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

static bool prepare_clock(struct bench *b)
{
    b->clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = b->clock};
    return b->clock >= 0 && epoll_ctl(b->epoll, EPOLL_CTL_ADD, b->clock, &event) == 0;
}

static bool prepare(struct bench *b)
{
    b->epoll = epoll_create1(EPOLL_CLOEXEC);
    b->multi = curl_multi_init();
    b->streams = calloc((size_t)b->plan->connections, sizeof *b->streams);
    b->idle = calloc((size_t)b->plan->connections, sizeof(struct bench_connection *));
    if (b->epoll < 0 || !b->multi || !b->streams || !b->idle || !prepare_clock(b))
        return false;
    for (int i = b->plan->connections - 1; i >= 0; i--) {
        if (!bench_connection_init(&b->streams[i], b->plan, b->result))
            return false;
        b->idle[b->idle_count++] = &b->streams[i];
    }
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
    free(b->idle);
    if (b->multi)
        (void)curl_multi_cleanup(b->multi);
    if (b->clock >= 0)
        (void)close(b->clock);
    if (b->epoll >= 0)
        (void)close(b->epoll);
}

bool bench_run(const struct bench_plan *plan, struct bench_result *result,
               struct client_error *failure)
{
    struct bench b = {.plan = plan, .result = result, .epoll = -1, .clock = -1};
    assert(plan->connections > 0);
    assert(plan->connections <= BENCH_STREAMS_MAX);
    assert(plan->rate <= 0 || plan->seconds > 0);
    *result = (struct bench_result){0};
    raise_descriptors(plan->connections);
    bool prepared = prepare(&b);
    if (prepared)
        measure(&b);
    tear_down(&b);
    return (prepared && !b.out_of_memory) || client_error_no_memory(failure);
}
