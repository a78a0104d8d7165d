/* main.c - sluiced: reads options, builds the modules, serves, tears them down. */
#include "access/api_keys.h"
#include "api/api_documents.h"
#include "api/endpoints.h"
#include "api/openapi.h"
#include "base/clock.h"
#include "core/log.h"
#include "core/metrics.h"
#include "core/options.h"
#include "http/listeners.h"
#include "jobs/jobs.h"
#include "registry/registry.h"
#include "serve/scheduler.h"
#include "state/audit_log.h"
#include "state/disk_thread.h"
#include "state/file_store.h"

#include "sluice/engine.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_BAD_OPTIONS = 2, CANCEL_TRIES = 40, MAPPED_BYTES = 512 * 1024 };

/* Everything that runs, in the order of creation. */
struct daemon {
    struct sv_options options;
    struct sl_engine *engine;
    struct sv_server server;
    struct sv_api_documents documents;
    struct sv_listeners *listeners;
    atomic_bool is_serving; /* read by the registry's thread */
};

/* ---- before there are threads --------------------------------------------------------------- */

/* The signals that shut the daemon down or reload, blocked in every thread and awaited by main. */
static sigset_t awaited_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    return set;
}

static void prepare_process(void)
{
    sigset_t set = awaited_signals();
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    /* One heap for all threads, so that memory freed by one connection serves the next. Large
     * blocks are mapped and return to the system at once. */
    /* NOLINTBEGIN(concurrency-mt-unsafe): there are no threads yet */
    (void)mallopt(M_ARENA_MAX, 1);
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    /* NOLINTEND(concurrency-mt-unsafe) */
}

/* Raises the limit of file descriptors to what max_connections needs. */
static void raise_fd_limit(const struct sv_options *options)
{
    struct rlimit limit;
    rlim_t needed = (rlim_t)options->max_connections +
                    SV_ADMIN_ADDRESSES_MAX * (rlim_t)SV_ADMIN_CONNECTIONS_MAX + 64 +
                    2 * (rlim_t)SV_LINGERING_MAX; /* for our own sockets and files */
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return;
    limit.rlim_cur = limit.rlim_max < needed ? limit.rlim_max : needed;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < needed)
        SV_LOG(SV_LOG_WARN, "fewer file descriptors than max_connections",
               sv_int("descriptors", (int64_t)limit.rlim_cur),
               sv_int("max_connections", options->max_connections));
}

static int print_and_exit(void (*write_text)(struct sl_buffer *))
{
    struct sl_buffer text = {0};
    write_text(&text);
    bool printed = !text.failed && fwrite(text.data, 1, text.bytes, stdout) == text.bytes;
    sl_buffer_release(&text);
    return printed && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* A default_classifier that the store lacks, or that is none, is a mistake. */
static bool check_store(const struct sv_options *options, struct sl_err *err)
{
    if (!sv_registry_check_store(options->store, err))
        return false;
    return !options->default_classifier[0] ||
           sv_registry_check_classifier(options->store, options->default_classifier, err) ||
           sl_wrap(err, "default_classifier");
}

/* Checks without opening anything. */
static int check_config(const struct sv_options *options)
{
    struct sl_err err;
    struct sv_api_keys *keys = sv_api_keys_create(options->api_keys_file, &err);
    sv_options_warn_unknown_variables(stderr);
    bool checked = keys && sv_listeners_check(options, sv_api_keys_are_required(keys), &err);
    sv_api_keys_destroy(keys);
    if (!checked || !sv_options_check_paths(options, &err) || !check_store(options, &err)) {
        (void)fprintf(stderr, "sluiced: %s\n", err.text);
        return EXIT_BAD_OPTIONS;
    }
    return puts("The configuration is valid.") < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run_command(enum sv_command command, const struct sv_options *options)
{
    switch (command) {
    case SV_SERVE: break;
    case SV_CHECK_CONFIG: return check_config(options);
    case SV_OPENAPI: return print_and_exit(sv_openapi_print);
    case SV_SAMPLE_CONFIG: return print_and_exit(sv_options_sample);
    case SV_HELP: return print_and_exit(sv_options_help);
    case SV_VERSION: return printf("sluiced %s\n", sl_version()) < 0 ? EXIT_FAILURE : 0;
    }
    return EXIT_SUCCESS;
}

/* ---- building ------------------------------------------------------------------------------- */

/* Logs options that differ from their default, and all at level debug. */
static void log_options(const struct sv_options *options)
{
    struct sl_buffer value = {0};
    const char *name;
    for (int i = 0; (name = sv_options_show(options, i, &value)); i++)
        SV_LOG(sv_options_is_default(options, i) ? SV_LOG_DEBUG : SV_LOG_INFO, "option",
               sv_str("name", name), sv_str("value", value.failed ? "" : value.data));
    sl_buffer_release(&value);
}

static bool start_engine(struct daemon *daemon, struct sl_err *err)
{
    const struct sv_options *o = &daemon->options;
    const struct sl_engine_options options = {.threads = (int)o->threads,
                                              .isa = sv_options_chosen(o->isa),
                                              .precision = sv_options_chosen(o->precision)};
    daemon->server.engine = daemon->engine = sl_engine_create(&options, err);
    if (!daemon->engine)
        return false;
    SV_LOG(SV_LOG_INFO, "engine", sv_str("version", sl_version()),
           sv_int("threads", sl_engine_threads(daemon->engine)),
           sv_str("isa", sl_engine_isa(daemon->engine)),
           sv_str("precision", sl_engine_precision(daemon->engine)));
    return true;
}

static void record_build_metrics(struct daemon *daemon)
{
    struct sv_metrics *metrics = daemon->server.metrics;
    const char *const build[] = {sl_version(), sl_engine_isa(daemon->engine),
                                 sl_engine_precision(daemon->engine)};
    sv_metrics_set(metrics, SV_METRIC_START_SECONDS, NULL, (double)time(NULL));
    sv_metrics_set(metrics, SV_METRIC_COMPUTE_THREADS, NULL, sl_engine_threads(daemon->engine));
    sv_metrics_set(metrics, SV_METRIC_BUILD_INFO, build, 1);
}

/* The scheduler notifies systemd's watchdog, so that a hanging scheduler is noticed. */
static void feed_watchdog(void *context)
{
    (void)context;
    (void)sd_notify(0, "WATCHDOG=1");
}

/* Warn at start, not at the first request without a model. It may become ready later. */
static void check_default_classifier(struct daemon *daemon)
{
    const char *name = daemon->options.default_classifier;
    if (!name[0])
        return;
    struct sv_model_ref *ref = sv_registry_acquire(daemon->server.registry, name, SV_SHARE_MAX);
    bool ok = ref && sl_model_info(ref->model)->task == SL_TASK_CLASSIFICATION;
    if (!ok)
        SV_LOG(SV_LOG_WARN, "default_classifier cannot answer", sv_str("model", name),
               sv_str("reason", ref ? "it is not a classifier" : "it is not loaded"));
    sv_model_ref_release(ref);
}

static bool open_state(struct daemon *daemon, struct sl_err *err)
{
    struct sv_server *server = &daemon->server;
    if (!daemon->options.state[0])
        return true;
    bool ok = (server->state = sv_state_open(daemon->options.state, err)) &&
              (server->audit = sv_audit_open(server->state, err)) &&
              (server->files = sv_file_store_open(server->state, server, err)) &&
              (server->disk_thread = sv_disk_thread_start(err));
    return ok || sl_wrap(err, "state");
}

static void close_state(struct daemon *daemon)
{
    struct sv_server *server = &daemon->server;
    sv_file_store_close(server->files);
    sv_audit_close(server->audit);
    sv_state_close(server->state);
}

/* After the models are loaded: a job may go on by loading another one. */
static bool start_jobs(struct daemon *daemon, struct sl_err *err)
{
    struct sv_server *server = &daemon->server;
    if (!server->state)
        return true;
    server->jobs = sv_jobs_open(server, err);
    return (server->jobs && sv_jobs_start(server->jobs, err)) || sl_wrap(err, "state");
}

static bool start_scheduler(struct daemon *daemon, struct sl_err *err)
{
    const struct sv_options *o = &daemon->options;
    const int64_t classified = o->classify_max_batch_size + o->classify_max_queue_size;
    const int64_t tokens_max = o->max_admitted_tokens;
    const struct sv_scheduler_options options = {
        .complete = {.max_sequences = (int)o->max_sequences,
                     .max_batch_tokens = (int)o->max_batch_tokens,
                     .bounds = {o->max_sequences + o->max_queue_size, tokens_max},
                     .write_timeout_ns = o->write_timeout * 1000000000,
                     .stream_interval_ns = o->stream_interval_ms * 1000000},
        .classify = {.max_batch_size = (int)o->classify_max_batch_size,
                     .max_batch_tokens = (int)o->classify_max_batch_tokens,
                     .bounds = {classified, tokens_max}},
        .heartbeat = sd_watchdog_enabled(0, NULL) > 0 ? feed_watchdog : NULL,
    };
    daemon->server.scheduler = sv_scheduler_create(&options, daemon->server.metrics, err);
    return daemon->server.scheduler != NULL;
}

/* While the daemon starts, each version that is opened gets as much time again from systemd. */
static void report_opening(void *context, const char *model)
{
    const struct daemon *daemon = context;
    if (!daemon->is_serving)
        (void)sd_notifyf(0, "STATUS=Loading the model %s.\nEXTEND_TIMEOUT_USEC=%lld", model,
                         (long long)SV_OPEN_SECONDS_MAX * 1000000);
}

/* What the registry did by itself: a version that appeared in the store. */
static void audit_change(void *context, const struct sv_change *change,
                         const struct sv_change_result *result)
{
    struct daemon *daemon = context;
    char detail[64];
    const char *error = result->error.kind == SV_OK ? NULL : sv_error_code(result->error.kind);
    (void)snprintf(detail, sizeof detail, "{\"version\":%ld,\"loaded\":%s}", result->version,
                   error ? "false" : "true");
    sv_audit_daemon(&daemon->server, "model.load", change->model, detail, error);
}

static bool load_models(struct daemon *daemon, struct sl_err *err)
{
    const struct sv_registry_options options = {
        .store = daemon->options.store,
        .engine = daemon->engine,
        .metrics = daemon->server.metrics,
        .host = sv_scheduler_host(daemon->server.scheduler),
        .drain_seconds = daemon->options.version_drain_timeout,
        .poll_seconds = daemon->options.store_poll_seconds,
        .idle_seconds = daemon->options.version_idle_timeout,
        .on_change = audit_change,
        .on_open = report_opening,
        .context = daemon,
    };
    daemon->server.registry = sv_registry_create(&options, err);
    return daemon->server.registry && sv_registry_load(daemon->server.registry, err);
}

static void log_keys(struct sv_api_keys *keys)
{
    if (sv_api_keys_are_required(keys))
        SV_LOG(SV_LOG_INFO, "API keys", sv_str("file", sv_api_keys_file(keys)),
               sv_int("keys", sv_api_keys_count(keys)));
}

static bool open_listeners(struct daemon *daemon, struct sl_err *err)
{
    struct sv_api_keys *keys = sv_api_keys_create(daemon->options.api_keys_file, err);
    daemon->server.keys = keys;
    if (!keys)
        return false;
    log_keys(keys);
    daemon->listeners = sv_listeners_open(&daemon->options, sv_api_keys_are_required(keys), err);
    return daemon->listeners != NULL;
}

static bool build(struct daemon *daemon, struct sl_err *err)
{
    struct sv_server *server = &daemon->server;
    server->options = &daemon->options;
    server->documents = &daemon->documents;
    if (getrandom(&server->salt, sizeof server->salt, 0) != sizeof server->salt)
        return sl_fail(err, SL_IO, "cannot get random numbers: %s", strerrordesc_np(errno));
    bool built = check_store(&daemon->options, err) &&
                 sv_api_documents_write(&daemon->documents, err) && open_listeners(daemon, err) &&
                 start_engine(daemon, err) && open_state(daemon, err) &&
                 (server->metrics = sv_metrics_create(err)) && start_scheduler(daemon, err) &&
                 load_models(daemon, err) && start_jobs(daemon, err);
    if (!built)
        return false;
    record_build_metrics(daemon);
    return sv_listeners_start(daemon->listeners, server, &sv_routes, err) &&
           sv_listeners_write_ports(daemon->listeners, err);
}

static void tear_down(struct daemon *daemon)
{
    sv_listeners_close(daemon->listeners);
    sv_api_keys_destroy(daemon->server.keys);
    sv_disk_thread_stop(daemon->server.disk_thread); /* its tasks may concern jobs, */
    sv_jobs_close(daemon->server.jobs); /* and these ask the registry, which asks the scheduler */
    sv_scheduler_stop(daemon->server.scheduler); /* requests give their versions back */
    sv_registry_stop(daemon->server.registry);   /* its changes are audited */
    close_state(daemon);
    sv_registry_destroy(daemon->server.registry);
    sv_scheduler_destroy(daemon->server.scheduler);
    sv_metrics_destroy(daemon->server.metrics);
    sl_engine_destroy(daemon->engine);
    sv_api_documents_release(&daemon->documents);
}

/* ---- serving -------------------------------------------------------------------------------- */

/* SIGHUP: what can change while the daemon runs is read again. What cannot be read stays as it is.
 */
static void reload(struct daemon *daemon)
{
    struct sl_err err;
    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)sl_now_ns() / 1000);
    if (sv_api_keys_reload(daemon->server.keys, &err))
        log_keys(daemon->server.keys);
    else
        SV_LOG(SV_LOG_ERROR, "API keys stay as they were", sv_str("reason", err.text));
    if (!sv_listeners_reload(daemon->listeners, &err))
        SV_LOG(SV_LOG_ERROR, "the TLS certificate stays as it was", sv_str("reason", err.text));
    sv_registry_rescan(daemon->server.registry);
    (void)sd_notify(0, "READY=1");
}

/* Waits for a shutdown signal, at most `ms`. True: it came. SIGHUP is answered. */
static bool wait_for_shutdown_signal(struct daemon *daemon, int64_t ms)
{
    sigset_t set = awaited_signals();
    const struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    int number = sigtimedwait(&set, NULL, &limit);
    if (number == SIGHUP)
        reload(daemon);
    return number > 0 && number != SIGHUP;
}

/* Waits until no request is left, a second signal comes, or the time is over. True: none is left.
 */
static bool wait_for_requests(struct daemon *daemon, int64_t seconds, bool *forced)
{
    int64_t until = sl_now_ns() + seconds * 1000000000;
    while (atomic_load(&daemon->server.requests_in_flight) > 0 && sl_now_ns() < until && !*forced)
        *forced = wait_for_shutdown_signal(daemon, 20);
    return atomic_load(&daemon->server.requests_in_flight) == 0;
}

/* Asks systemd for the time that shutting down takes at most. */
static void report_stopping(const struct daemon *daemon, int64_t leave_seconds)
{
    int64_t seconds = leave_seconds + daemon->options.drain_timeout + SV_FLUSH_SECONDS + 5;
    int requests = atomic_load(&daemon->server.requests_in_flight);
    (void)sd_notifyf(0, "STOPPING=1\nSTATUS=Finishing %d requests.\nEXTEND_TIMEOUT_USEC=%lld",
                     requests, (long long)seconds * 1000000);
    SV_LOG(SV_LOG_INFO, "draining", sv_int("requests", requests),
           sv_int("seconds", daemon->options.drain_timeout));
}

/* New connections wait for the next daemon. A client with an open connection does not know yet, and
 * would lose the request that it is about to send: it is served until the connections are closed or
 * quiet. Every response closes its connection. */
static void finish_connections(struct daemon *daemon, bool *forced)
{
    enum { STEP_MS = 20 };

    struct sv_server *server = &daemon->server;
    int64_t until = sl_now_ns() + daemon->options.drain_timeout * 1000000000, quiet_ns = 0;
    uint64_t started = atomic_load(&server->requests_started);
    while (!*forced && sl_now_ns() < until) {
        bool is_open = atomic_load(&server->connections) > 0;
        *forced = wait_for_shutdown_signal(daemon, STEP_MS);
        if (!is_open && atomic_load(&server->connections) == 0)
            return; /* twice: one that was just accepted has been counted since */
        uint64_t now_started = atomic_load(&server->requests_started);
        bool is_quiet = now_started == started && atomic_load(&server->requests_open) == 0;
        started = now_started;
        quiet_ns = is_quiet ? quiet_ns + STEP_MS * INT64_C(1000000) : 0;
        if (quiet_ns >= (int64_t)SV_LEAVE_QUIET_MS * 1000000)
            return;
    }
}

/* Clients go elsewhere: to the next daemon, if the service manager keeps the socket, else to one
 * that a load balancer finds ready. */
static void leave(struct daemon *daemon, bool *forced)
{
    atomic_store(&daemon->server.phase, SV_PHASE_LEAVING);
    bool is_kept = sv_listeners_leave(daemon->listeners);
    int64_t delay = is_kept ? 0 : daemon->options.drain_delay;
    report_stopping(daemon, is_kept ? daemon->options.drain_timeout : delay);
    if (is_kept)
        finish_connections(daemon, forced);
    for (int64_t until = sl_now_ns() + delay * 1000000000; !*forced && sl_now_ns() < until;)
        *forced = wait_for_shutdown_signal(daemon, 100);
}

static void drain(struct daemon *daemon)
{
    bool forced = false;
    struct sv_error error;
    leave(daemon, &forced);
    atomic_store(&daemon->server.phase, SV_PHASE_DRAINING);
    sv_jobs_stop(daemon->server.jobs); /* trainers save their state meanwhile */
    if (!wait_for_requests(daemon, daemon->options.drain_timeout, &forced)) {
        (void)sv_fail(&error, SV_DRAINING, NULL,
                      "The daemon shut down before the request finished.");
        sv_scheduler_fail_all(daemon->server.scheduler, &error);
        SV_LOG(SV_LOG_WARN, "requests cut short",
               sv_int("requests", atomic_load(&daemon->server.requests_in_flight)));
    }
    /* Errors are flushed to clients that read; the others are disconnected. */
    (void)wait_for_requests(daemon, SV_FLUSH_SECONDS, &forced);
    for (int i = 0; i < CANCEL_TRIES && atomic_load(&daemon->server.requests_in_flight) > 0; i++) {
        sv_listeners_cancel_all(daemon->listeners);
        (void)wait_for_shutdown_signal(daemon, 50);
    }
}

/* The heap keeps its peak size. When the server becomes idle after requests, free memory returns to
 * the system. */
static uint64_t trim_heap(struct daemon *daemon, uint64_t started_before)
{
    uint64_t requests_started = atomic_load(&daemon->server.requests_started);
    if (requests_started == started_before || atomic_load(&daemon->server.requests_in_flight) > 0)
        return started_before;
    (void)malloc_trim(0);
    return requests_started;
}

static void serve(struct daemon *daemon)
{
    check_default_classifier(daemon);
    sv_listeners_log(daemon->listeners);
    atomic_store(&daemon->is_serving, true);
    (void)sd_notifyf(
        0, "READY=1\nSTATUS=Serving on port %d%s.", sv_listeners_port(daemon->listeners),
        sv_registry_is_complete(daemon->server.registry) ? "" : "; a model failed to load");
    uint64_t requests_started = 0;
    while (!wait_for_shutdown_signal(daemon, SV_IDLE_MS))
        requests_started = trim_heap(daemon, requests_started);
    drain(daemon);
    SV_LOG(SV_LOG_INFO, "stopped",
           sv_int("requests", atomic_load(&daemon->server.requests_in_flight)));
}

int main(int count, char **arguments)
{
    static struct daemon daemon; /* too large for the stack */
    struct sl_err err;
    enum sv_command command;
    if (!sv_options_read(&daemon.options, count, arguments, &command, &err)) {
        (void)fprintf(stderr, "sluiced: %s\n", err.text);
        return EXIT_BAD_OPTIONS;
    }
    if (command != SV_SERVE)
        return run_command(command, &daemon.options);
    sv_log_setup(daemon.options.log_level, daemon.options.log_format);
    prepare_process();
    raise_fd_limit(&daemon.options);
    log_options(&daemon.options);
    sv_options_warn_unknown_variables(NULL);
    bool built = build(&daemon, &err);
    if (built)
        serve(&daemon);
    else
        SV_LOG(SV_LOG_ERROR, "cannot start", sv_str("reason", err.text));
    tear_down(&daemon);
    return built ? EXIT_SUCCESS : err.code == SL_BAD_INPUT ? EXIT_BAD_OPTIONS : EXIT_FAILURE;
}
