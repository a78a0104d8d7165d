/* main.c - sluiced: reads options, builds the modules from the bottom up, serves, tears them
 * down. */
#include "api/routes.h"
#include "core/log.h"
#include "core/metrics.h"
#include "core/options.h"
#include "http/connection_watcher.h"
#include "http/http_server.h"
#include "http/listener.h"
#include "registry/registry.h"
#include "serve/scheduler.h"

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

enum { LEAVE_BAD_OPTIONS = 2, LAST_TRIES = 40, MAPPED_BYTES = 512 * 1024 };

/* Everything that runs, in the order in which it is made. */
struct house {
    struct sv_options options;
    struct sl_engine *engine;
    struct sv_server server;
    struct sv_text index;
    struct sv_watcher *watcher;
    struct sv_http *http;
    int port;
};

/* ---- before there are threads --------------------------------------------------------------- */

/* The signals that mean "finish": they wait until we ask for them, in every thread. */
static sigset_t finish_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    return set;
}

static void prepare_process(void)
{
    sigset_t set = finish_signals();
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignore, NULL);
    /* One heap for all threads: what one connection frees the next one uses. What is large is
     * mapped and goes back to the system at once. */
    /* NOLINTBEGIN(concurrency-mt-unsafe): there are no threads yet */
    (void)mallopt(M_ARENA_MAX, 1);
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    /* NOLINTEND(concurrency-mt-unsafe) */
}

/* A descriptor for every connection, if the system lets us. */
static void raise_descriptors(const struct sv_options *options)
{
    struct rlimit limit;
    rlim_t wanted =
        (rlim_t)options->connections_max + 64 + SV_LINGERING_MAX; /* ours: sockets, epolls, files */
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < wanted)
        SV_LOG(SV_LOG_WARN, "fewer file descriptors than connections_max",
               sv_int("descriptors", (int64_t)limit.rlim_cur),
               sv_int("connections_max", options->connections_max));
}

static int print_and_leave(void (*write_text)(struct sv_text *))
{
    struct sv_text text = {0};
    write_text(&text);
    bool printed = !text.failed && fwrite(text.data, 1, text.bytes, stdout) == text.bytes;
    sv_text_release(&text);
    return printed && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* As at the start, but nothing is opened. The store may be filled later, so a default that is not
 * in it is a warning and no mistake. */
static int check_config(const struct sv_options *options)
{
    struct sl_err err;
    char path[2 * SV_OPTION_TEXT_MAX];
    if (!sv_listen_check(options->listen, options->insecure, &err) ||
        !sv_registry_check_store(options->store, &err)) {
        (void)fprintf(stderr, "sluiced: %s\n", err.text);
        return LEAVE_BAD_OPTIONS;
    }
    const char *name = options->default_classifier;
    (void)snprintf(path, sizeof path, "%s/%.*s", options->store, (int)strcspn(name, "@"), name);
    if (name[0] && access(path, F_OK) != 0)
        (void)fprintf(stderr, "sluiced: default_classifier: there is no '%s' in the store '%s'\n",
                      name, options->store);
    return puts("The configuration can be used.") < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run_errand(enum sv_errand errand, const struct sv_options *options)
{
    switch (errand) {
    case SV_SERVE: break;
    case SV_CHECK_CONFIG: return check_config(options);
    case SV_SAMPLE_CONFIG: return print_and_leave(sv_options_sample);
    case SV_HELP: return print_and_leave(sv_options_help);
    case SV_VERSION: return printf("sluiced %s\n", sl_version()) < 0 ? EXIT_FAILURE : 0;
    }
    return EXIT_SUCCESS;
}

/* ---- building ------------------------------------------------------------------------------- */

/* What somebody has set, and for those who look closely everything. */
static void log_options(const struct sv_options *options)
{
    struct sv_text value = {0};
    const char *name;
    for (int i = 0; (name = sv_options_show(options, i, &value)); i++)
        SV_LOG(sv_options_is_default(options, i) ? SV_LOG_DEBUG : SV_LOG_INFO, "option",
               sv_str("name", name), sv_str("value", value.failed ? "" : value.data));
    sv_text_release(&value);
}

static bool start_engine(struct house *house, struct sl_err *err)
{
    const struct sv_options *o = &house->options;
    const struct sl_engine_options options = {.threads = (int)o->threads,
                                              .isa = strcmp(o->isa, "auto") == 0 ? NULL : o->isa};
    house->engine = sl_engine_create(&options, err);
    if (!house->engine)
        return false;
    house->server.engine = house->engine;
    SV_LOG(SV_LOG_INFO, "engine", sv_str("version", sl_version()),
           sv_int("threads", sl_engine_threads(house->engine)),
           sv_str("isa", sl_engine_isa(house->engine)),
           sv_str("precision", sl_engine_precision(house->engine)));
    return true;
}

static void tell_build(struct house *house)
{
    struct sv_metrics *metrics = house->server.metrics;
    sv_metric_set(sv_metrics_series(metrics, SV_METRIC_START_SECONDS, NULL), (double)time(NULL));
    sv_metric_set(sv_metrics_series(metrics, SV_METRIC_BUDGET, NULL),
                  sl_engine_threads(house->engine));
    sv_metric_set(
        sv_metrics_series(metrics, SV_METRIC_BUILD_INFO,
                          (const char *const[]){sl_version(), sl_engine_isa(house->engine),
                                                sl_engine_precision(house->engine)}),
        1);
}

/* The watchdog is fed by the dispatcher, so that a dispatcher that hangs is noticed. */
static void feed_watchdog(void *context)
{
    (void)context;
    (void)sd_notify(0, "WATCHDOG=1");
}

/* Who asks without a name would be told only then. */
static void check_default(struct house *house)
{
    struct sl_err err = {.text = "it completes texts, it does not classify them"};
    const char *name = house->options.default_classifier;
    struct sv_served *served =
        name[0] ? sv_registry_acquire(house->server.registry, name, &err) : NULL;
    bool good = served && sl_model_facts(sv_served_model(served)).task == SL_TASK_CLASSIFICATION;
    sv_served_release(served);
    if (name[0] && !good)
        SV_LOG(SV_LOG_WARN, "default_classifier cannot answer", sv_str("model", name),
               sv_str("reason", err.text));
}

static bool start_batcher(struct house *house, struct sl_err *err)
{
    const struct sv_options *o = &house->options;
    const struct sv_batcher_options options = {
        .complete = {.slots = (int)o->slots,
                     .batch_rows = (int)o->batch_rows,
                     .bounds = {.items_max = o->slots + o->queue_items,
                                .tokens_max = o->queue_tokens},
                     .stall_ns = o->stall_seconds * 1000000000},
        .classify = {.items = (int)o->classify_items,
                     .rows = (int)o->classify_rows,
                     .bounds = {.items_max = o->classify_items + o->classify_queue,
                                .tokens_max = o->queue_tokens}},
        .beat = sd_watchdog_enabled(0, NULL) > 0 ? feed_watchdog : NULL,
    };
    house->server.batcher =
        sv_batcher_create(&options, house->server.registry, house->server.metrics, err);
    return house->server.batcher != NULL;
}

static bool start_http(struct house *house, int socket, struct sl_err *err)
{
    house->watcher = sv_watcher_create((int)house->options.connections_max, err);
    if (!house->watcher) {
        (void)close(socket);
        return false;
    }
    house->http = sv_http_start(&house->server, &sv_routes, house->watcher, socket, err);
    return house->http != NULL;
}

static bool write_port(const struct house *house, struct sl_err *err)
{
    const char *path = house->options.port_file;
    if (!path[0])
        return true;
    FILE *file = fopen(path, "we");
    bool written = file && fprintf(file, "%d\n", house->port) > 0;
    if (file && fclose(file) != 0)
        written = false;
    return written || sl_fail(err, SL_IO, "port_file '%s': %s", path, strerrordesc_np(errno));
}

static bool build(struct house *house, struct sl_err *err)
{
    struct sv_server *server = &house->server;
    server->options = &house->options;
    server->index = &house->index;
    sv_routes_index(&house->index);
    if (getrandom(&server->salt, sizeof server->salt, 0) != sizeof server->salt)
        return sl_fail(err, SL_IO, "no random numbers: %s", strerrordesc_np(errno));
    int socket = sv_listen(house->options.listen, house->options.insecure, &house->port, err);
    if (socket < 0)
        return false;
    bool built = start_engine(house, err) && (server->metrics = sv_metrics_create(err)) &&
                 (server->registry = sv_registry_create(house->engine, server->metrics, err)) &&
                 sv_registry_load(server->registry, house->options.store, err) &&
                 start_batcher(house, err);
    if (!built) {
        (void)close(socket);
        return false;
    }
    tell_build(house);
    return start_http(house, socket, err) && write_port(house, err);
}

static void tear_down(struct house *house)
{
    sv_http_stop(house->http);
    sv_watcher_destroy(house->watcher);
    sv_batcher_destroy(house->server.batcher);
    sv_registry_destroy(house->server.registry);
    sv_metrics_destroy(house->server.metrics);
    sl_engine_destroy(house->engine);
    sv_text_release(&house->index);
}

/* ---- serving -------------------------------------------------------------------------------- */

/* Waits for "finish" or for so long; true: it came. */
static bool told_to_finish(int64_t ms)
{
    sigset_t set = finish_signals();
    const struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return sigtimedwait(&set, NULL, &limit) > 0;
}

/* Until no call is left, or a second "finish", or so many seconds. True: no call is left. */
static bool wait_for_calls(struct house *house, int64_t seconds, bool *hurry)
{
    int64_t until = sv_now_ns() + seconds * 1000000000;
    while (atomic_load(&house->server.calls) > 0 && sv_now_ns() < until && !*hurry)
        *hurry = told_to_finish(20);
    return atomic_load(&house->server.calls) == 0;
}

static void drain(struct house *house)
{
    bool hurry = false;
    struct sv_problem problem;
    atomic_store(&house->server.phase, SV_PHASE_DRAINING);
    (void)sd_notifyf(0, "STOPPING=1\nSTATUS=Finishing %d calls.\nEXTEND_TIMEOUT_USEC=%lld",
                     atomic_load(&house->server.calls),
                     (long long)(house->options.drain_seconds + SV_FLUSH_SECONDS + 5) * 1000000);
    SV_LOG(SV_LOG_INFO, "draining", sv_int("calls", atomic_load(&house->server.calls)),
           sv_int("seconds", house->options.drain_seconds));
    if (!wait_for_calls(house, house->options.drain_seconds, &hurry)) {
        (void)sv_refuse(&problem, SV_DRAINING, NULL,
                        "The server is shutting down and did not finish this in time.");
        problem.retry_ms = 1000;
        sv_batcher_end_all(house->server.batcher, &problem);
        SV_LOG(SV_LOG_WARN, "calls cut short", sv_int("calls", atomic_load(&house->server.calls)));
    }
    /* Last words reach whoever reads; those who do not are dropped. */
    (void)wait_for_calls(house, SV_FLUSH_SECONDS, &hurry);
    for (int i = 0; i < LAST_TRIES && atomic_load(&house->server.calls) > 0; i++) {
        sv_watcher_cancel_all(house->watcher);
        (void)told_to_finish(50);
    }
}

/* The heap keeps what a crowd of clients needed. When nobody is there any more and somebody was
 * since the last time, the system gets it back. */
static uint64_t give_memory_back(struct house *house, uint64_t begun_before)
{
    uint64_t begun = atomic_load(&house->server.begun);
    if (begun == begun_before || atomic_load(&house->server.calls) > 0)
        return begun_before;
    (void)malloc_trim(0);
    return begun;
}

static void serve(struct house *house)
{
    check_default(house);
    SV_LOG(SV_LOG_INFO, "listening", sv_str("address", house->options.listen),
           sv_int("port", house->port));
    (void)sd_notifyf(0, "READY=1\nSTATUS=Serving on port %d%s.", house->port,
                     sv_registry_is_complete(house->server.registry)
                         ? ""
                         : "; a model of the store is not served");
    uint64_t begun = 0;
    while (!told_to_finish(SV_IDLE_MS))
        begun = give_memory_back(house, begun);
    drain(house);
    SV_LOG(SV_LOG_INFO, "stopped", sv_int("calls", atomic_load(&house->server.calls)));
}

int main(int count, char **arguments)
{
    static struct house house; /* too large for the stack's taste; one per process */
    struct sl_err err;
    enum sv_errand errand;
    if (!sv_options_read(&house.options, count, arguments, &errand, &err)) {
        (void)fprintf(stderr, "sluiced: %s\n", err.text);
        return LEAVE_BAD_OPTIONS;
    }
    if (errand != SV_SERVE)
        return run_errand(errand, &house.options);
    sv_log_setup(house.options.log_level, house.options.log_format);
    prepare_process();
    raise_descriptors(&house.options);
    log_options(&house.options);
    bool built = build(&house, &err);
    if (built)
        serve(&house);
    else
        SV_LOG(SV_LOG_ERROR, "cannot start", sv_str("reason", err.text));
    tear_down(&house);
    return built ? EXIT_SUCCESS : EXIT_FAILURE;
}
