/* bench_flood.c - health and metrics of a daemon whose inference listener is flooded.
 *
 *     bench_flood [SECONDS [CONNECTIONS [TEXTS [PAUSE_MS]]]]
 *
 * Without arguments: 10 s, 1500 connections, 16 texts, no pause.
 *
 * Serves the bundled `sentiment`. Each connection sends TEXTS reviews in one request, waits for the
 * response and PAUSE_MS after a 429, and starts again. Meanwhile GET /health and GET /metrics are
 * sent to both listeners, each on a connection of its own, as monitors do it. Printed are the
 * statuses, the percentiles of both, and the daemon's memory before, at its peak and for as long as
 * the flood lasted after it. */
#include "base/buffer.h"
#include "base/clock.h"
#include "bench/latency_histogram.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REQUESTS = 32, HEAD_MAX = 4096, EVENTS = 256, TEXT_BYTES = 1300 };

enum { PROBES = 4, PROBE_EVERY_MS = 10, STATUSES = 600 };

/* Monitors are on other machines, and do not wait for a processor that the flood keeps busy. */
enum { PROBE_NICE = -15 };

static void fail(const char *what)
{
    (void)fprintf(stderr, "bench_flood: %s: %s\n", what, strerrordesc_np(errno));
    exit(EXIT_FAILURE); // NOLINT(concurrency-mt-unsafe)
}

static int connect_to(int port, int flags)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || (connect(fd, (const void *)&to, sizeof to) != 0 && errno != EINPROGRESS))
        fail("connect");
    return fd;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* About as long as a review, and not twice the same. */
static void append_text(struct sl_buffer *out, unsigned *random)
{
    static const char *const parts[] = {
        "a film that never finds its feet, although the actors try hard",
        "the music is wonderful and the camera lingers where it should",
        "I have seen this story before, told with more patience",
        "two hours that feel like four, and an ending nobody believes",
        "what a surprise from a director whose last work bored me",
        "the dialogue is sharp, the jokes land, and the children loved it"};
    size_t end = out->bytes + TEXT_BYTES;
    while (out->bytes < end && !out->failed)
        sl_buffer_printf(out, "%s, %d times over. ",
                         parts[(unsigned)rand_r(random) % (sizeof parts / sizeof parts[0])],
                         rand_r(random) % 1000);
}

static void make_request(int texts, unsigned seed, struct sl_buffer *request)
{
    struct sl_buffer body = {0};
    for (int i = 0; i < texts; i++) {
        sl_buffer_append_string(&body, i ? ",[\"" : "{\"inputs\":[[\"");
        append_text(&body, &seed);
        sl_buffer_append_string(&body, "\"]");
    }
    sl_buffer_append_string(&body, "]}");
    sl_buffer_printf(request,
                     "POST /models/sentiment/predict HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                     body.bytes);
    sl_buffer_append(request, body.data, body.bytes);
    if (body.failed || request->failed)
        fail("memory");
    sl_buffer_release(&body);
}

/* ---- the flood ------------------------------------------------------------------------------- */

struct client {
    int fd;
    const struct sl_buffer *request;
    size_t sent, head_bytes;
    long long missing; /* bytes of the response's body; -1: its head is not complete */
    int64_t wakes_ns;  /* when it sends again; 0: it is not waiting */
    char head[HEAD_MAX];
};

struct flood {
    int port, connections, epoll;
    int64_t pause_ns;
    struct sl_buffer requests[REQUESTS];
    struct client *clients;
    long statuses[STATUSES], broken;
    struct histogram latency; /* of responses with 200 */
    atomic_bool stop;
};

static void watch(struct flood *f, struct client *c, uint32_t events, int operation)
{
    struct epoll_event event = {.events = events, .data.ptr = c};
    if (epoll_ctl(f->epoll, operation, c->fd, &event) != 0)
        fail("epoll_ctl");
}

static void begin_request(struct flood *f, struct client *c)
{
    c->request = &f->requests[(size_t)(c - f->clients) % REQUESTS];
    c->sent = c->head_bytes = 0;
    c->missing = -1;
    c->wakes_ns = 0;
}

static void reconnect(struct flood *f, struct client *c)
{
    f->broken++;
    (void)close(c->fd);
    c->fd = connect_to(f->port, SOCK_NONBLOCK);
    begin_request(f, c);
    watch(f, c, EPOLLIN | EPOLLOUT, EPOLL_CTL_ADD);
}

static void end_response(struct flood *f, struct client *c)
{
    long status = strtol(c->head + strlen("HTTP/1.1 "), NULL, 10);
    f->statuses[status > 0 && status < STATUSES ? status : 0]++;
    begin_request(f, c);
    if (status == 429 && f->pause_ns > 0) {
        c->wakes_ns = sl_now_ns() + f->pause_ns;
        watch(f, c, 0, EPOLL_CTL_MOD);
    } else
        watch(f, c, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
}

static void send_more(struct flood *f, struct client *c)
{
    const struct sl_buffer *r = c->request;
    ssize_t count = send(c->fd, r->data + c->sent, r->bytes - c->sent, MSG_NOSIGNAL);
    if (count > 0 && (c->sent += (size_t)count) == r->bytes)
        watch(f, c, EPOLLIN, EPOLL_CTL_MOD);
}

static void read_head(struct client *c)
{
    c->head[c->head_bytes] = '\0';
    const char *end = strstr(c->head, "\r\n\r\n"), *length = strcasestr(c->head, "content-length:");
    if (end && length)
        c->missing = strtoll(length + strlen("content-length:"), NULL, 10) -
                     (c->head + c->head_bytes - (end + 4));
}

static void read_more(struct flood *f, struct client *c)
{
    char rest[16384];
    bool in_head = c->missing < 0;
    ssize_t count = recv(c->fd, in_head ? c->head + c->head_bytes : rest,
                         in_head ? sizeof c->head - 1 - c->head_bytes : sizeof rest, 0);
    if (count < 0 && errno == EAGAIN)
        return;
    if (count <= 0) {
        reconnect(f, c);
        return;
    }
    if (in_head) {
        c->head_bytes += (size_t)count;
        read_head(c);
    } else
        c->missing -= count;
    if (c->missing == 0)
        end_response(f, c);
}

static void wake_clients(struct flood *f)
{
    int64_t now = sl_now_ns();
    for (int i = 0; i < f->connections; i++)
        if (f->clients[i].wakes_ns > 0 && f->clients[i].wakes_ns <= now) {
            f->clients[i].wakes_ns = 0;
            watch(f, &f->clients[i], EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
        }
}

static void *run_flood(void *context)
{
    struct flood *f = context;
    struct epoll_event events[EVENTS];
    f->epoll = epoll_create1(EPOLL_CLOEXEC);
    f->clients = calloc((size_t)f->connections, sizeof *f->clients);
    for (int i = 0; f->clients && i < f->connections; i++) {
        f->clients[i].fd = connect_to(f->port, SOCK_NONBLOCK);
        begin_request(f, &f->clients[i]);
        watch(f, &f->clients[i], EPOLLIN | EPOLLOUT, EPOLL_CTL_ADD);
    }
    while (!atomic_load(&f->stop)) {
        int count = epoll_wait(f->epoll, events, EVENTS, 5);
        for (int i = 0; i < count; i++) {
            struct client *c = events[i].data.ptr;
            if (events[i].events & EPOLLOUT && c->sent < c->request->bytes)
                send_more(f, c);
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                read_more(f, c);
        }
        if (f->pause_ns > 0)
            wake_clients(f);
    }
    for (int i = 0; i < f->connections; i++)
        (void)close(f->clients[i].fd);
    (void)close(f->epoll);
    return NULL;
}

/* ---- the probes ------------------------------------------------------------------------------ */

struct probe {
    const char *name, *path;
    int port;
    const atomic_bool *stop;
    long failed;
    struct histogram latency;
};

/* From the connection to the last byte. */
static void send_probe(struct probe *p)
{
    char text[256], bytes[65536];
    int64_t began = sl_now_ns();
    int fd = connect_to(p->port, 0);
    int length =
        snprintf(text, sizeof text,
                 "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", p->path);
    bool ok = send(fd, text, (size_t)length, MSG_NOSIGNAL) == length;
    ssize_t count = ok ? recv(fd, bytes, sizeof bytes, 0) : -1;
    ok = count > 12 && strncmp(bytes, "HTTP/1.1 200", 12) == 0;
    while (count > 0)
        count = recv(fd, bytes, sizeof bytes, 0);
    histogram_add(&p->latency, sl_now_ns() - began);
    p->failed += !ok;
    (void)close(fd);
}

static void print_probe(const struct probe *p)
{
    const struct histogram *h = &p->latency;
    printf("%-20s %6lld probes  p50 %7.2f  p90 %7.2f  p99 %7.2f  max %7.2f ms  failed %ld\n",
           p->name, (long long)h->count, 1e-6 * histogram_quantile(h, 0.5),
           1e-6 * histogram_quantile(h, 0.9), 1e-6 * histogram_quantile(h, 0.99),
           1e-6 * (double)h->max, p->failed);
}

/* ---- the daemon ------------------------------------------------------------------------------ */

struct daemon {
    pid_t pid;
    int port, admin_port;
};

static void start_daemon(struct daemon *d, const char *directory)
{
    char ports[256];
    (void)snprintf(ports, sizeof ports, "%s/ports", directory);
    const char *const arguments[] = {SL_BUILD_DIR "/sluiced", "--listen",    "127.0.0.1:0",
                                     "--admin-listen",        "127.0.0.1:0", "--store",
                                     SL_SOURCE_DIR "/models", "--port-file", ports,
                                     "--log-level",           "error",       NULL};
    if (posix_spawn(&d->pid, arguments[0], NULL, NULL, (char *const *)(uintptr_t)arguments,
                    environ) != 0)
        fail(arguments[0]);
    for (int i = 0; i < 1000 && d->admin_port == 0; i++) {
        FILE *file = fopen(ports, "re");
        if (file && fscanf(file, "%d\n%d\n", &d->port, &d->admin_port) != 2) // NOLINT(cert-err34-c)
            d->admin_port = 0;
        if (file)
            (void)fclose(file);
        (void)usleep(10000);
    }
    (void)unlink(ports);
    if (d->admin_port == 0)
        fail("sluiced does not come up");
}

static double resident_mib(const struct daemon *d)
{
    char path[64];
    long pages = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)d->pid);
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1) // NOLINT(cert-err34-c)
        fail(path);
    (void)fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

/* ---- the run --------------------------------------------------------------------------------- */

static void *run_probe(void *context)
{
    struct probe *p = context;
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), PROBE_NICE);
    for (; !atomic_load(p->stop); (void)usleep(PROBE_EVERY_MS * 1000))
        send_probe(p);
    return NULL;
}

/* The highest resident memory in these seconds. */
static double wait_and_watch(const struct daemon *d, double seconds)
{
    double peak = 0;
    for (int64_t end = sl_now_ns() + (int64_t)(seconds * 1e9); sl_now_ns() < end;) {
        double now = resident_mib(d);
        peak = now > peak ? now : peak;
        (void)usleep(20000);
    }
    return peak;
}

static void start_thread(pthread_t *thread, void *(*work)(void *), void *context)
{
    if (pthread_create(thread, NULL, work, context) != 0)
        fail("pthread_create");
}

static void run(const struct daemon *d, struct flood *f, double seconds)
{
    struct probe probes[PROBES] = {{"inference /health", "/health", d->port, &f->stop, 0, {0}},
                                   {"admin /health", "/health", d->admin_port, &f->stop, 0, {0}},
                                   {"inference /metrics", "/metrics", d->port, &f->stop, 0, {0}},
                                   {"admin /metrics", "/metrics", d->admin_port, &f->stop, 0, {0}}};
    pthread_t flooder, probers[PROBES];
    for (int i = 0; i < 2 * PROBES; i++)
        send_probe(&probes[i % PROBES]);
    double before = resident_mib(d);
    start_thread(&flooder, run_flood, f);
    (void)usleep(500000); /* all are connected */
    for (int i = 0; i < PROBES; i++) {
        probes[i].latency = (struct histogram){0};
        start_thread(&probers[i], run_probe, &probes[i]);
    }
    double peak = wait_and_watch(d, seconds);
    atomic_store(&f->stop, true);
    (void)pthread_join(flooder, NULL);
    for (int i = 0; i < PROBES; i++)
        (void)pthread_join(probers[i], NULL);
    for (int i = 0; i < PROBES; i++)
        print_probe(&probes[i]);
    for (int i = 0; i < STATUSES; i++)
        if (f->statuses[i] > 0)
            printf("status %d: %ld (%.0f/s)\n", i, f->statuses[i],
                   (double)f->statuses[i] / seconds);
    printf("connections that broke: %ld\n", f->broken);
    printf("resident: %.1f MiB before, %.1f at the peak", before, peak);
    (void)fflush(stdout);
    (void)usleep((useconds_t)(seconds * 1e6));
    double after = resident_mib(d);
    printf(", %.1f %.0f s after (%+.1f %%)\n", after, seconds, 100 * (after / before - 1));
}

int main(int count, char **arguments)
{
    static struct flood flood;
    struct daemon d = {0};
    char directory[] = "/tmp/bench_flood.XXXXXX";
    double seconds = count > 1 ? strtod(arguments[1], NULL) : 10;
    flood.connections = count > 2 ? (int)strtol(arguments[2], NULL, 10) : 1500;
    int texts = count > 3 ? (int)strtol(arguments[3], NULL, 10) : 16;
    flood.pause_ns = count > 4 ? strtol(arguments[4], NULL, 10) * 1000000 : 0;
    for (unsigned i = 0; i < REQUESTS; i++)
        make_request(texts, i + 1, &flood.requests[i]);
    if (!mkdtemp(directory))
        fail(directory);
    start_daemon(&d, directory);
    flood.port = d.port;
    run(&d, &flood, seconds);
    (void)kill(d.pid, SIGTERM);
    (void)waitpid(d.pid, NULL, 0);
    (void)rmdir(directory);
    return EXIT_SUCCESS;
}
