/* top_snapshot.h - the daemon's metrics at one moment, by model and version, and what happened
 * between two moments. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { TOP_MODELS_MAX = 256, TOP_BUCKETS_MAX = 48, TOP_NAME_BYTES = 96, TOP_VERSION_BYTES = 16 };

/* Counts up to each bound; the last bound is infinite. */
struct top_histogram {
    int count;
    double bounds[TOP_BUCKETS_MAX], counts[TOP_BUCKETS_MAX];
};

struct top_model {
    char name[TOP_NAME_BYTES], version[TOP_VERSION_BYTES];
    /* Counters, since the start. */
    double requests, failed, rejected; /* failed: because of the daemon */
    double generated_tokens, prompt_tokens, texts;
    double batches, batched, layer_ops, layer_ops_dense;
    struct top_histogram queue, latency;
    /* Now. */
    double running, waiting;
    bool is_ready;
};

struct top_snapshot {
    int64_t time_ns;
    double cpu_seconds, start_seconds, memory_bytes, threads;
    double connections, requests_in_flight, ready;
    double jobs_running, jobs_waiting;
    int model_count;
    struct top_model models[TOP_MODELS_MAX];
};

/* Reads the text of /metrics. False: it holds no metrics of the daemon. */
bool top_snapshot_read(struct top_snapshot *snapshot, const char *metrics, int64_t time_ns);

/* A model between two snapshots; rates are per second. NaN: unknown. */
struct top_rates {
    const struct top_model *model; /* of the later snapshot */
    double requests, failed, rejected;
    double generated_tokens, prompt_tokens, texts;
    double batch_size, layer_ops_skipped;                  /* means */
    double queue_p50, queue_p99, latency_p50, latency_p99; /* seconds */
};

/* The model at an index of the later snapshot. A counter that fell began again from zero, with a
 * new daemon. */
void top_rates_compute(struct top_rates *rates, const struct top_snapshot *earlier,
                       const struct top_snapshot *later, int index);
double top_seconds(const struct top_snapshot *earlier, const struct top_snapshot *later);
/* Processors in use between the two. */
double top_cpus(const struct top_snapshot *earlier, const struct top_snapshot *later);
