/* bench_flood.c - health and metrics of a daemon whose inference listener is flooded.
 *
 *     bench_flood [SECONDS [CONNECTIONS [TEXTS [PAUSE_MS [ENDPOINT]]]]]
 *
 * Without arguments: 10 s, 1500 connections, 16 texts, no pause, predict. ENDPOINT is predict,
 * tokenize, decisions or completions.
 *
 * Serves the bundled models. Each connection sends TEXTS reviews in one request, waits for the
 * response and PAUSE_MS after a 429, and starts again. Meanwhile GET /health and GET /metrics are
 * sent to both listeners, each on a connection of its own, as monitors do it. Printed are the
 * statuses, the percentiles of both, and the daemon's memory before, at its peak and for as long as
 * the flood lasted after it. */
#include "base/clock.h"
#include "bench/load.h"
#include "bench/served_daemon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PROBES = 4, PROBE_EVERY_MS = 10 };

/* Monitors are on other machines, and do not wait for a processor that the flood keeps busy. */
enum { PROBE_NICE = -15 };

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
    int fd = bench_connect(p->port, 0);
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
static double wait_and_watch(const struct served_daemon *d, double seconds)
{
    double peak = 0;
    for (int64_t end = sl_now_ns() + (int64_t)(seconds * 1e9); sl_now_ns() < end;) {
        double now = served_daemon_resident_mib(d);
        peak = now > peak ? now : peak;
        (void)usleep(20000);
    }
    return peak;
}

static void start_thread(pthread_t *thread, void *(*work)(void *), void *context)
{
    if (pthread_create(thread, NULL, work, context) != 0)
        bench_fail("pthread_create");
}

static void print_statuses(const struct load *load, double seconds)
{
    const struct load_phase *phase = &load->phases[0];
    for (int i = 0; i < LOAD_STATUSES; i++)
        if (phase->statuses[i] > 0)
            printf("status %d: %ld (%.0f/s)\n", i, phase->statuses[i],
                   (double)phase->statuses[i] / seconds);
    printf("connections that broke: %ld\n", load->broken);
}

static void run(const struct served_daemon *d, const struct load_options *options, double seconds)
{
    static struct load load;
    atomic_bool stop = false;
    struct probe probes[PROBES] = {{"inference /health", "/health", d->port, &stop, 0, {0}},
                                   {"admin /health", "/health", d->admin_port, &stop, 0, {0}},
                                   {"inference /metrics", "/metrics", d->port, &stop, 0, {0}},
                                   {"admin /metrics", "/metrics", d->admin_port, &stop, 0, {0}}};
    pthread_t probers[PROBES];
    for (int i = 0; i < 2 * PROBES; i++)
        send_probe(&probes[i % PROBES]);
    double before = served_daemon_resident_mib(d);
    load_start(&load, options);
    bench_sleep(0.5); /* all are connected */
    for (int i = 0; i < PROBES; i++) {
        probes[i].latency = (struct histogram){0};
        start_thread(&probers[i], run_probe, &probes[i]);
    }
    double peak = wait_and_watch(d, seconds);
    load_stop(&load);
    atomic_store(&stop, true);
    for (int i = 0; i < PROBES; i++)
        (void)pthread_join(probers[i], NULL);
    for (int i = 0; i < PROBES; i++)
        print_probe(&probes[i]);
    print_statuses(&load, seconds);
    printf("resident: %.1f MiB before, %.1f at the peak", before, peak);
    (void)fflush(stdout);
    bench_sleep(seconds);
    double after = served_daemon_resident_mib(d);
    printf(", %.1f %.0f s after (%+.1f %%)\n", after, seconds, 100 * (after / before - 1));
}

int main(int count, char **arguments)
{
    struct served_daemon d;
    double seconds = count > 1 ? strtod(arguments[1], NULL) : 10;
    served_daemon_init(&d);
    served_daemon_start(&d, SL_SOURCE_DIR "/models", (const char *const[]){NULL});
    const struct load_options options = {
        .port = d.port,
        .connections = count > 2 ? (int)strtol(arguments[2], NULL, 10) : 1500,
        .texts = count > 3 ? (int)strtol(arguments[3], NULL, 10) : 16,
        .pause_ms = count > 4 ? (int)strtol(arguments[4], NULL, 10) : 0,
        .endpoint = count > 5 ? arguments[5] : NULL};
    run(&d, &options, seconds);
    served_daemon_stop(&d);
    return EXIT_SUCCESS;
}
