/* server.h - what every handler may use: the modules of one running daemon. main.c owns it. */
#pragma once

#include "base/buffer.h"

#include <stdatomic.h>
#include <stdint.h>

struct sl_engine;
struct sv_options;
struct sv_metrics;
struct sv_api_keys;
struct sv_registry;
struct sv_scheduler;
struct sv_state;
struct sv_audit_log;
struct sv_disk_thread;
struct sv_file_store;
struct sv_jobs;

/* What the daemon says about its API. */
struct sv_api_documents {
    struct sl_buffer index, openapi; /* GET /, GET /openapi.json */
};

enum sv_phase {
    SV_PHASE_SERVING,
    SV_PHASE_LEAVING, /* not ready, so that balancers go elsewhere; requests are accepted */
    SV_PHASE_DRAINING /* requests in progress finish; new ones are rejected */
};

struct sv_server {
    const struct sv_options *options;
    const struct sl_engine *engine;
    struct sv_api_keys *keys;
    struct sv_metrics *metrics;
    struct sv_registry *registry;
    struct sv_scheduler *scheduler;
    struct sv_state *state; /* NULL, as are the next four: the option state is empty */
    struct sv_audit_log *audit;
    struct sv_disk_thread *disk_thread;
    struct sv_file_store *files;
    struct sv_jobs *jobs;
    _Atomic enum sv_phase phase;
    atomic_int requests_open;      /* their head was received, their response is not finished */
    atomic_int requests_in_flight; /* received in full; their response is not finished */
    atomic_int connections;        /* open */
    _Atomic int64_t body_bytes;    /* memory held by request bodies and what was parsed from them */
    _Atomic int64_t text_bytes;    /* bodies whose texts are being tokenized or decoded */
    _Atomic int64_t response_bytes;        /* responses being sent, except streams */
    atomic_uint_fast64_t requests_started; /* since the start */
    uint64_t salt;                         /* random, for ids and seeds */
    atomic_uint_fast64_t ids_issued;       /* counter of sv_next_id */
    const struct sv_api_documents *documents;
};
