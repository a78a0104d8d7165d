/* bench_swaps.c - latency of a daemon at full load while its model is replaced.
 *
 *     bench_swaps [SWAPS [PAUSE_MS [CONNECTIONS]]]
 *
 * Without arguments: 60 swaps, one right after the other, 128 connections.
 *
 * Serves versions of the bundled `sentiment`, and moves the label `stable` from one to the next.
 * Each time a version is loaded, and one is unloaded. Each connection sends a review, waits for the
 * response and starts again. Blocks with swaps and blocks without alternate, so that what else the
 * machine does is in both.
 *
 * Versions with an even number have the labels the other way round, so a response that mixes two
 * versions is seen. Responses of one version are always the same bytes. */
#include "base/clock.h"
#include "bench/load.h"
#include "bench/served_daemon.h"
#include "checkpoint/manifest.h"
#include "support/slope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSIONS = 4, KINDS = 2, BLOCKS = 20, CALM_PART = 3, SETTLING = 10 };

enum { STORE_MAX = 128, DIRECTORIES_MAX = STORE_MAX + 32 };

struct bench {
    struct served_daemon daemon;
    struct load load;
    int swaps, done;
    double pause, seconds[LOAD_PHASES];
    struct histogram swap; /* ns from the request to its response */
    double *kib;           /* resident after each swap */
};

/* ---- the store ------------------------------------------------------------------------------- */

static void exchange_labels(char *config)
{
    static const char negative[] = "\"negative\"", positive[] = "\"positive\"";
    char *labels = strstr(config, "\"labels\"");
    char *first = labels ? strstr(labels, negative) : NULL;
    char *second = labels ? strstr(labels, positive) : NULL;
    if (!first || !second)
        bench_fail("the labels of sentiment");
    memcpy(first, positive, strlen(positive));
    memcpy(second, negative, strlen(negative));
}

static void copy_file(const char *directory, const char *name, bool exchanges)
{
    struct sl_err err;
    struct sl_map map;
    struct sl_buffer bytes = {0};
    char path[SL_PATH_MAX];
    (void)snprintf(path, sizeof path, SL_SOURCE_DIR "/models/sentiment/1/%s", name);
    if (!sl_map_open(&map, path, &err))
        bench_fail(err.text);
    sl_buffer_append(&bytes, map.data, map.size);
    sl_buffer_append_string(&bytes, "");
    if (!bytes.failed && exchanges && strcmp(name, "config.json") == 0)
        exchange_labels(bytes.data);
    const struct sl_slice all = {bytes.data, map.size};
    if (bytes.failed || !sl_path_join(path, directory, name, &err) ||
        !sl_file_replace(path, &all, 1, &err))
        bench_fail(name);
    sl_buffer_release(&bytes);
    sl_map_close(&map);
}

static void make_version(const char *store, int version)
{
    struct sl_manifest_file members[] = {
        {.name = "config.json"}, {.name = "vocab.txt"}, {.name = "model.safetensors"}};
    const struct sl_manifest manifest = {members, sizeof members / sizeof members[0], 1};
    struct sl_err err;
    struct sl_manifest_writer writer;
    char directory[DIRECTORIES_MAX];
    (void)snprintf(directory, sizeof directory, "%s/sentiment/%d", store, version);
    if (!sl_manifest_begin(&writer, directory, &err))
        bench_fail(err.text);
    for (int i = 0; i < manifest.count; i++)
        copy_file(writer.tmp, members[i].name, version % KINDS == 0);
    if (!sl_manifest_commit(&writer, directory, &manifest, &err))
        bench_fail(err.text);
}

/* ---- known answers --------------------------------------------------------------------------- */

static struct sl_buffer answers[KINDS][LOAD_REQUESTS];

/* Of the version that is served now. */
static void learn_answers(struct bench *b, int kind)
{
    for (int i = 0; i < LOAD_REQUESTS; i++) {
        const char *body = strstr(b->load.requests[i].data, "\r\n\r\n") + 4;
        if (bench_request(b->daemon.port, "POST", "/models/sentiment/predict", body,
                          &answers[kind][i]) != 200)
            bench_fail("a known answer");
    }
}

static bool is_right(int request, const char *response)
{
    static const char header[] = "x-sluice-model: sentiment@";
    const char *version = strstr(response, header), *body = strstr(response, "\r\n\r\n");
    if (!version || !body)
        return false;
    long number = strtol(version + strlen(header), NULL, 10);
    const struct sl_buffer *answer = &answers[number % KINDS][request];
    return answer->bytes == 0 || strcmp(body + 4, answer->data) == 0;
}

/* ---- swaps ----------------------------------------------------------------------------------- */

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

/* So many swaps, and then some time without. */
static void run_block(struct bench *b, int swaps)
{
    int64_t began = sl_now_ns();
    load_set_phase(&b->load, 1);
    for (int i = 0; i < swaps; i++)
        swap(b);
    double took = 1e-9 * (double)(sl_now_ns() - began);
    load_set_phase(&b->load, 0);
    bench_sleep(took / CALM_PART);
    b->seconds[1] += took;
    b->seconds[0] += took / CALM_PART;
}

static void print_results(const struct bench *b)
{
    const struct histogram *without = &b->load.phases[0].latency;
    const struct histogram *with = &b->load.phases[1].latency;
    load_print(&b->load, 0, "without swaps", b->seconds[0]);
    load_print(&b->load, 1, "with swaps", b->seconds[1]);
    printf("responses of another version than they name: %ld\n",
           b->load.phases[0].wrong + b->load.phases[1].wrong);
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

/* Each version once, while there is no load. */
static void warm_up(struct bench *b)
{
    load_set_phase(&b->load, LOAD_PAUSED);
    bench_sleep(0.5);
    for (int i = 0; i < VERSIONS; i++) {
        swap(b);
        if (i < KINDS)
            learn_answers(b, (i + 1) % KINDS);
    }
    b->done = 0;
    b->swap = (struct histogram){0};
}

static void run(struct bench *b, const struct load_options *options)
{
    load_start(&b->load, options);
    warm_up(b);
    load_set_phase(&b->load, 0);
    bench_sleep(1);
    b->seconds[0] = 1;
    double before = served_daemon_resident_mib(&b->daemon);
    for (int i = 0; i < BLOCKS; i++)
        run_block(b, (i + 1) * b->swaps / BLOCKS - i * b->swaps / BLOCKS);
    load_stop(&b->load);
    print_results(b);
    print_memory(b, before);
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
    for (int version = 1; version <= VERSIONS; version++)
        make_version(store, version);
    served_daemon_start(&b.daemon, store, (const char *const[]){NULL});
    run(&b,
        &(struct load_options){
            .port = b.daemon.port, .connections = connections, .texts = 1, .is_right = is_right});
    served_daemon_stop(&b.daemon);
    free(b.kib);
    return EXIT_SUCCESS;
}
