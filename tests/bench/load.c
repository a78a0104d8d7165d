/* load.c - requests with reviews, sent by one thread over many connections. */
#include "bench/load.h"
#include "base/clock.h"
#include "bench/served_daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_MAX = 4096, EVENTS = 256, TEXT_BYTES = 1300, LONGEST_WAIT_MS = 5 };

struct load_client {
    int fd, phase;
    const struct sl_buffer *request;
    size_t sent, head_bytes;
    long long missing; /* bytes of the response's body; -1: its head is not complete */
    int64_t due_ns;    /* when its request was to begin, or is to begin if it waits */
    bool waits, watches_writes;
    char head[HEAD_MAX]; /* the response: its head, and as much of the body as fits */
};

/* ---- requests -------------------------------------------------------------------------------- */

/* Not twice the same. */
void load_append_review(struct sl_buffer *out, unsigned *random)
{
    static const char *const parts[] = {
        "a film that never finds its feet, although the actors try hard",
        "the music is wonderful and the camera lingers where it should",
        "I have seen this story before, told with more patience",
        "two hours that feel like four, and an ending that is hard to believe",
        "what a surprise from a director whose last work bored me",
        "the dialogue is sharp, the jokes land, and the children loved it"};
    size_t end = out->bytes + TEXT_BYTES;
    while (out->bytes < end && !out->failed)
        sl_buffer_printf(out, "%s, %d times over. ",
                         parts[(unsigned)rand_r(random) % (sizeof parts / sizeof parts[0])],
                         rand_r(random) % 1000);
}

/* A request's body is `begin`, texts in `open` and `close` with `between` between them, `end`. */
struct endpoint {
    const char *name, *path, *begin, *open, *close, *between, *end;
};

static const struct endpoint endpoints[] = {
    {"predict", "/models/sentiment/predict", "{\"inputs\":[", "[\"", "\"]", ",", "]}"},
    {"tokenize", "/models/sentiment/tokenize", "{\"inputs\":[", "\"", "\"", ",", "]}"},
    {"decisions", "/v1/decisions",
     "{\"model\":\"sentiment\",\"truncate\":true,\"questions\":[{\"type\":\"predicate\","
     "\"instructions\":\"positive\"}],\"input\":\"",
     "", "", " ", "\"}"},
    {"completions", "/v1/completions",
     "{\"model\":\"shakespeare\",\"truncate\":true,\"unknown_characters\":\"replace\","
     "\"max_tokens\":16,\"prompt\":[",
     "\"", "\"", ",", "]}"},
};

static const struct endpoint *find_endpoint(const char *name)
{
    for (size_t i = 0; i < sizeof endpoints / sizeof endpoints[0]; i++)
        if (!name || strcmp(endpoints[i].name, name) == 0)
            return &endpoints[i];
    errno = EINVAL;
    bench_fail(name);
}

static void make_request(const struct load_options *options, unsigned seed,
                         struct sl_buffer *request)
{
    const struct endpoint *e = find_endpoint(options->endpoint);
    struct sl_buffer body = {0};
    sl_buffer_append_string(&body, e->begin);
    for (int i = 0; i < options->texts; i++) {
        sl_buffer_append_string(&body, i ? e->between : "");
        sl_buffer_append_string(&body, e->open);
        load_append_review(&body, &seed);
        sl_buffer_append_string(&body, e->close);
    }
    sl_buffer_append_string(&body, e->end);
    sl_buffer_printf(request,
                     "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                     e->path, body.bytes);
    sl_buffer_append(request, body.data, body.bytes);
    if (body.failed || request->failed)
        bench_fail("memory");
    sl_buffer_release(&body);
}

/* ---- one connection -------------------------------------------------------------------------- */

static void watch(struct load *load, struct load_client *c, bool writes, int operation)
{
    struct epoll_event event = {.events = EPOLLIN | (writes ? EPOLLOUT : 0U), .data.ptr = c};
    c->watches_writes = writes;
    if (epoll_ctl(load->epoll, operation, c->fd, &event) != 0)
        bench_fail("epoll_ctl");
}

static void reconnect(struct load *load, struct load_client *c);

static void send_more(struct load *load, struct load_client *c)
{
    const struct sl_buffer *r = c->request;
    ssize_t count = send(c->fd, r->data + c->sent, r->bytes - c->sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN) {
        reconnect(load, c);
        return;
    }
    c->sent += count > 0 ? (size_t)count : 0;
    bool writes = c->sent < r->bytes;
    if (writes != c->watches_writes)
        watch(load, c, writes, EPOLL_CTL_MOD);
}

static void begin_request(struct load *load, struct load_client *c)
{
    c->request = &load->requests[(size_t)(c - load->clients) % LOAD_REQUESTS];
    c->sent = c->head_bytes = 0;
    c->missing = -1;
    c->waits = false;
    c->phase = load->seen_phase;
    send_more(load, c);
}

/* It begins with the rest: at once this could go on for ever. */
static void wait_until(struct load_client *c, int64_t due_ns)
{
    c->due_ns = due_ns;
    c->waits = true;
}

static void reconnect(struct load *load, struct load_client *c)
{
    load->broken++;
    (void)close(c->fd);
    c->fd = bench_connect(load->options.port, SOCK_NONBLOCK);
    watch(load, c, false, EPOLL_CTL_ADD);
    wait_until(c, sl_now_ns());
}

static void end_response(struct load *load, struct load_client *c)
{
    long status = strtol(c->head + strlen("HTTP/1.1 "), NULL, 10);
    struct load_phase *phase = &load->phases[c->phase];
    int64_t now = sl_now_ns();
    phase->statuses[status > 0 && status < LOAD_STATUSES ? status : 0]++;
    c->head[c->head_bytes] = '\0';
    if (status == 200)
        histogram_add(&phase->latency, now - c->due_ns);
    if (status == 200 && load->options.is_right &&
        !load->options.is_right((int)(c->request - load->requests), c->head))
        phase->wrong++;
    int64_t pause = status == 429 ? load->pause_ns : 0;
    wait_until(c, load->interval_ns > 0 ? c->due_ns + load->interval_ns : now + pause);
    if (c->due_ns <= now && load->seen_phase != LOAD_PAUSED)
        begin_request(load, c);
}

static void read_head(struct load_client *c)
{
    c->head[c->head_bytes] = '\0';
    const char *end = strstr(c->head, "\r\n\r\n"), *length = strcasestr(c->head, "content-length:");
    if (end && length)
        c->missing = strtoll(length + strlen("content-length:"), NULL, 10) -
                     (c->head + c->head_bytes - (end + 4));
}

/* What has no room after the head is not kept. */
static void read_more(struct load *load, struct load_client *c)
{
    char rest[16384];
    size_t room = sizeof c->head - 1 - c->head_bytes;
    bool in_head = c->missing < 0, keeps = in_head || room > 0;
    ssize_t count =
        recv(c->fd, keeps ? c->head + c->head_bytes : rest, keeps ? room : sizeof rest, 0);
    if (count < 0 && errno == EAGAIN)
        return;
    if (count <= 0) {
        reconnect(load, c);
        return;
    }
    c->head_bytes += keeps ? (size_t)count : 0;
    if (in_head)
        read_head(c);
    else
        c->missing -= count;
    if (c->missing == 0)
        end_response(load, c);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* After a pause all begin anew, spread over an interval if there is one. */
static void change_phase(struct load *load)
{
    int phase = atomic_load(&load->phase), count = load->options.connections;
    int64_t now = sl_now_ns();
    bool resumes = load->seen_phase == LOAD_PAUSED && phase != LOAD_PAUSED;
    load->seen_phase = phase;
    for (int i = 0; resumes && i < count; i++)
        if (load->clients[i].waits)
            load->clients[i].due_ns = now + load->interval_ns * i / count;
}

/* Begins what is due, and returns how long to wait for events (ns). */
static int64_t begin_due(struct load *load)
{
    int64_t now = sl_now_ns(), next = now + LONGEST_WAIT_MS * (int64_t)1000000;
    if (load->seen_phase != atomic_load(&load->phase))
        change_phase(load);
    for (int i = 0; load->seen_phase != LOAD_PAUSED && i < load->options.connections; i++) {
        struct load_client *c = &load->clients[i];
        if (c->waits && c->due_ns <= now)
            begin_request(load, c);
        else if (c->waits && c->due_ns < next)
            next = c->due_ns;
    }
    return next - now;
}

static void open_all(struct load *load)
{
    int count = load->options.connections;
    int64_t now = sl_now_ns();
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    load->clients = calloc((size_t)count, sizeof *load->clients);
    if (!load->clients || load->epoll < 0)
        bench_fail("connections");
    for (int i = 0; i < count; i++) {
        load->clients[i].fd = bench_connect(load->options.port, SOCK_NONBLOCK);
        watch(load, &load->clients[i], false, EPOLL_CTL_ADD);
        wait_until(&load->clients[i], now + load->interval_ns * i / count);
    }
}

static void *send_all(void *context)
{
    struct load *load = context;
    struct epoll_event events[EVENTS];
    struct timespec used;
    open_all(load);
    while (!atomic_load(&load->stop)) {
        const struct timespec wait = sl_timespec(begin_due(load));
        int count = epoll_pwait2(load->epoll, events, EVENTS, &wait, NULL);
        for (int i = 0; i < count; i++) {
            struct load_client *c = events[i].data.ptr;
            if (events[i].events & EPOLLOUT && !c->waits)
                send_more(load, c);
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                read_more(load, c);
        }
    }
    for (int i = 0; i < load->options.connections; i++)
        (void)close(load->clients[i].fd);
    (void)close(load->epoll);
    free(load->clients);
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    load->seconds = (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
    return NULL;
}

void load_start(struct load *load, const struct load_options *options)
{
    *load = (struct load){.options = *options};
    load->pause_ns = options->pause_ms * (int64_t)1000000;
    if (options->rate > 0)
        load->interval_ns = (int64_t)(1e9 * options->connections / options->rate);
    for (unsigned i = 0; i < LOAD_REQUESTS; i++)
        make_request(options, i + 1, &load->requests[i]);
    if (pthread_create(&load->thread, NULL, send_all, load) != 0)
        bench_fail("pthread_create");
}

void load_set_phase(struct load *load, int phase)
{
    atomic_store(&load->phase, phase);
}

void load_stop(struct load *load)
{
    atomic_store(&load->stop, true);
    (void)pthread_join(load->thread, NULL);
    for (int i = 0; i < LOAD_REQUESTS; i++)
        sl_buffer_release(&load->requests[i]);
}

/* ---- results --------------------------------------------------------------------------------- */

long load_failures(const struct load_phase *phase)
{
    long failures = phase->wrong;
    for (int i = 0; i < LOAD_STATUSES; i++)
        failures += i == 200 ? 0 : phase->statuses[i];
    return failures;
}

double load_quantile_ms(const struct histogram *latency, double quantile)
{
    return 1e-6 * histogram_quantile(latency, quantile);
}

void load_print(const struct load *load, int phase, const char *name, double seconds)
{
    const struct load_phase *p = &load->phases[phase];
    const struct histogram *h = &p->latency;
    printf("%-16s %7lld responses (%.0f/s)  p50 %.2f  p99 %.2f  max %.2f ms  failed %ld\n", name,
           (long long)h->count, (double)h->count / seconds, load_quantile_ms(h, 0.5),
           load_quantile_ms(h, 0.99), 1e-6 * (double)h->max, load_failures(p));
}
