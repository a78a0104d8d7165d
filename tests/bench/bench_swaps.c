/* bench_swaps.c - latency of a daemon at full load while its model is replaced.
 *
 *     bench_swaps [SWAPS [PAUSE_MS [CONNECTIONS]]]
 *
 * Without arguments: 60 swaps, one right after the other, 128 connections.
 *
 * Serves three copies of the bundled `sentiment`, and moves the label `stable` from one to the
 * next. Each time a version is loaded, and one is unloaded. Each connection sends a review, waits
 * for the response and starts again. Blocks with swaps and blocks without alternate, so that what
 * else the machine does is in both. */
#include "base/clock.h"
#include "base/file.h"
#include "bench/load.h"
#include "bench/served_daemon.h"
#include "support/slope.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { VERSIONS = 3, BLOCKS = 20, SETTLING = 10 };

enum { STORE_MAX = 128, DIRECTORIES_MAX = STORE_MAX + 32, PATHS_MAX = 512 };

struct bench {
    struct served_daemon daemon;
    struct load load;
    int swaps, done;
    double pause, seconds[LOAD_PHASES];
    struct histogram swap; /* ns from the request to its response */
    double *kib;           /* resident after each swap */
};

static void copy_file(const char *directory, const char *name)
{
    struct sl_err err;
    struct sl_map map;
    char path[PATHS_MAX];
    (void)snprintf(path, sizeof path, SL_SOURCE_DIR "/models/sentiment/1/%s", name);
    if (!sl_map_open(&map, path, &err))
        bench_fail(err.text);
    const struct sl_slice all = {map.data, map.size};
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    if (!sl_file_replace(path, &all, 1, &err))
        bench_fail(err.text);
    sl_map_close(&map);
}

static void make_store(const char *store)
{
    static const char *const names[] = {"config.json", "vocab.txt", "model.safetensors",
                                        "manifest.json"};
    struct sl_err err;
    char directory[DIRECTORIES_MAX];
    for (int version = 1; version <= VERSIONS; version++) {
        (void)snprintf(directory, sizeof directory, "%s/sentiment/%d", store, version);
        if (!sl_directory_make(directory, &err))
            bench_fail(err.text);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            copy_file(directory, names[i]);
    }
}

static void swap(struct bench *b)
{
    char body[64];
    int64_t began = sl_now_ns();
    (void)snprintf(body, sizeof body, "{\"version\":%d}", 1 + b->done % VERSIONS);
    if (bench_request(b->daemon.admin_port, "PUT", "/v1/models/sentiment/labels/stable", body,
                      NULL) != 200)
        bench_fail("a swap");
    histogram_add(&b->swap, sl_now_ns() - began);
    b->kib[b->done++] = 1024 * served_daemon_resident_mib(&b->daemon);
    bench_sleep(b->pause);
}

/* So many swaps, and then as long without. */
static void run_block(struct bench *b, int swaps)
{
    int64_t began = sl_now_ns();
    load_set_phase(&b->load, 1);
    for (int i = 0; i < swaps; i++)
        swap(b);
    double took = 1e-9 * (double)(sl_now_ns() - began);
    load_set_phase(&b->load, 0);
    bench_sleep(took);
    b->seconds[1] += took;
    b->seconds[0] += took;
}

static void print_results(const struct bench *b)
{
    const struct histogram *without = &b->load.phases[0].latency;
    const struct histogram *with = &b->load.phases[1].latency;
    load_print(&b->load, 0, "without swaps", b->seconds[0]);
    load_print(&b->load, 1, "with swaps", b->seconds[1]);
    printf("ratio            p50 %.2f  p99 %.2f\n",
           histogram_quantile(with, 0.5) / histogram_quantile(without, 0.5),
           histogram_quantile(with, 0.99) / histogram_quantile(without, 0.99));
    printf("%d swaps, %.1f per second, each took p50 %.0f  p99 %.0f  max %.0f ms\n", b->done,
           b->done / b->seconds[1], load_quantile_ms(&b->swap, 0.5),
           load_quantile_ms(&b->swap, 0.99), 1e-6 * (double)b->swap.max);
}

static void print_memory(const struct bench *b, double before)
{
    int settled = b->done > 2 * SETTLING ? SETTLING : 0;
    printf("resident: %.1f MiB before, %.1f after %d swaps, %.1f after all (%.2f KiB per swap)",
           before, b->kib[settled] / 1024, settled + 1, b->kib[b->done - 1] / 1024,
           slope_of(b->kib + settled, b->done - settled));
    (void)fflush(stdout);
    bench_sleep(3);
    printf(", %.1f 3 s after the load\n", served_daemon_resident_mib(&b->daemon));
}

int main(int count, char **arguments)
{
    static struct bench b;
    char store[STORE_MAX];
    b.swaps = count > 1 ? (int)strtol(arguments[1], NULL, 10) : 60;
    b.pause = count > 2 ? 1e-3 * strtod(arguments[2], NULL) : 0;
    int connections = count > 3 ? (int)strtol(arguments[3], NULL, 10) : 128;
    b.kib = calloc((size_t)b.swaps + VERSIONS, sizeof *b.kib);
    if (b.swaps < 1 || connections < 1 || !b.kib)
        bench_fail("arguments");
    served_daemon_init(&b.daemon);
    (void)snprintf(store, sizeof store, "%s/store", b.daemon.directory);
    make_store(store);
    served_daemon_start(&b.daemon, store, (const char *const[]){NULL});
    const struct load_options options = {
        .port = b.daemon.port, .connections = connections, .texts = 1};
    load_start(&b.load, &options);
    load_set_phase(&b.load, LOAD_PAUSED); /* the warm-up does not count */
    bench_sleep(0.5);
    for (int i = 0; i < VERSIONS; i++)
        swap(&b);
    load_set_phase(&b.load, 0);
    bench_sleep(1);
    b.seconds[0] = 1;
    double before = served_daemon_resident_mib(&b.daemon);
    b.done = 0;
    b.swap = (struct histogram){0};
    for (int i = 0; i < BLOCKS; i++)
        run_block(&b, (i + 1) * b.swaps / BLOCKS - i * b.swaps / BLOCKS);
    load_stop(&b.load);
    print_results(&b);
    print_memory(&b, before);
    served_daemon_stop(&b.daemon);
    free(b.kib);
    return EXIT_SUCCESS;
}
