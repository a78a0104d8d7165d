/* load.h - requests with reviews, sent by one thread over many connections, for the benchmarks of
 * latency.
 *
 * The client shares the processors with the daemon, so it writes each request as it is, and reads
 * no more of a response than its head and its length. Latency is from the moment when a request was
 * due to the last byte of its response. */
#pragma once

#include "base/buffer.h"
#include "bench/latency_histogram.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { LOAD_REQUESTS = 32, LOAD_PHASES = 2, LOAD_STATUSES = 600 };

/* No new request; those in progress end. */
enum { LOAD_PAUSED = -1 };

struct load_options {
    int port, connections;
    int texts;            /* in each request */
    int pause_ms;         /* of a connection after a 429 */
    const char *endpoint; /* of load.c's; NULL: predict */
    double rate;          /* requests per second of all connections; 0: each as soon as it can */
    /* Whether this is the response to the request of this index; NULL: any is. It is cut after a
     * few kilobytes. */
    bool (*is_right)(int request, const char *response);
};

struct load_phase {
    struct histogram latency; /* of responses with 200, in ns */
    long statuses[LOAD_STATUSES];
    long wrong; /* of those with 200 */
};

struct load {
    struct load_options options;
    struct sl_buffer requests[LOAD_REQUESTS];
    struct load_client *clients;
    int epoll;
    int64_t pause_ns, interval_ns;
    pthread_t thread;
    atomic_bool stop;
    atomic_int phase;
    int seen_phase;
    struct load_phase phases[LOAD_PHASES];
    long broken;    /* connections */
    double seconds; /* processor time of the client */
};

/* Appends a text about as long as a review, with a full stop at its end. */
void load_append_review(struct sl_buffer *out, unsigned *random);

/* Begins in phase 0. */
void load_start(struct load *load, const struct load_options *options);
/* Requests that begin from now on count there. */
void load_set_phase(struct load *load, int phase);
/* Closes all connections. */
void load_stop(struct load *load);

/* 0: nothing but 200, and all are right. */
long load_failures(const struct load_phase *phase);
double load_quantile_ms(const struct histogram *latency, double quantile);
/* "name: 12345 responses (1234/s), p50 1.23 ms, p99 4.56 ms, max 7.89 ms" */
void load_print(const struct load *load, int phase, const char *name, double seconds);
