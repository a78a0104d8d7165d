/* server.h - what every handler may use: the modules of one running daemon. main.c owns it. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct sl_engine;
struct sv_options;
struct sv_metrics;
struct sv_registry;
struct sv_scheduler;
struct sl_buffer;

enum sv_phase {
    SV_PHASE_SERVING,
    SV_PHASE_DRAINING /* what is in progress finishes; nothing new begins */
};

struct sv_server {
    const struct sv_options *options;
    const struct sl_engine *engine;
    struct sv_metrics *metrics;
    struct sv_registry *registry;
    struct sv_scheduler *scheduler;
    _Atomic enum sv_phase phase;
    atomic_int requests_in_flight; /* in flight: their answer is not finished */
    atomic_int connections;        /* open */
    _Atomic int64_t body_bytes;    /* of requests: held by all requests, or what was made of them */
    _Atomic int64_t response_bytes;        /* of answers that are being sent, but for streams */
    atomic_uint_fast64_t requests_started; /* requests so far */
    uint64_t salt;                         /* of this run, for ids and seeds */
    atomic_uint_fast64_t ids_issued;       /* numbers drawn so far */
    const struct sl_buffer *index;         /* what GET / answers */
};
