/* listeners.c - all listeners of the daemon: `listen`, and the addresses of `admin_listen`. */
#include "http/listeners.h"
#include "access/cors.h"
#include "base/allocate.h"
#include "core/log.h"
#include "core/thread_priority.h"
#include "http/connection_watcher.h"
#include "http/http_server.h"
#include "http/inherited_sockets.h"
#include "http/listening_socket.h"
#include "http/tls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LISTENERS_MAX = 1 + SV_ADMIN_ADDRESSES_MAX, TEXT_MAX = SV_OPTION_TEXT_MAX + 16 };

struct listener {
    char address[TEXT_MAX];
    bool is_admin;
    bool is_optional; /* auto: a failure is logged, and the daemon does without */
    struct sv_socket socket;
    struct sv_watcher *watcher;
    struct sv_http_listener *http;
};

struct sv_listeners {
    const struct sv_options *options;
    bool has_keys;
    bool has_tls;
    struct listener list[LISTENERS_MAX]; /* the first is `listen` */
    int count;
};

/* ---- the addresses --------------------------------------------------------------------------- */

static const char socket_name[] = "sluiced.sock";

/* The directory of the socket for `auto`: systemd's, or the one that holds the store. */
static int write_directory(const struct sv_options *options, char *directory, size_t capacity)
{
    const char *runtime = getenv("RUNTIME_DIRECTORY"); // NOLINT(concurrency-mt-unsafe): no threads
    const char *store = options->store;
    if (runtime && runtime[0])
        return snprintf(directory, capacity, "%.*s/", (int)strcspn(runtime, ":"), runtime);
    size_t end = strlen(store);
    while (end > 0 && store[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && store[begin - 1] != '/')
        begin--;
    bool is_dots = strspn(store + begin, "./") == strlen(store + begin);
    return is_dots ? snprintf(directory, capacity, "%s/../", store)
                   : snprintf(directory, capacity, "%.*s", (int)begin, store);
}

static bool add_auto(struct sv_listeners *l, struct listener *listener, struct sl_err *err)
{
    char directory[TEXT_MAX];
    int length = write_directory(l->options, directory, sizeof directory);
    listener->is_optional = true;
    if (length < 0 || length >= (int)sizeof directory ||
        snprintf(listener->address, sizeof listener->address, "unix:%s%s", directory,
                 socket_name) >= (int)sizeof listener->address)
        return sl_fail(err, SL_BAD_INPUT, "admin_listen: the path of the store is too long");
    return true;
}

static bool add_admin(struct sv_listeners *l, const char *word, size_t length, struct sl_err *err)
{
    if (l->count == LISTENERS_MAX)
        return sl_fail(err, SL_BAD_INPUT, "admin_listen: more than %d addresses",
                       SV_ADMIN_ADDRESSES_MAX);
    struct listener *listener = &l->list[l->count++];
    listener->is_admin = true;
    listener->socket.fd = -1;
    (void)snprintf(listener->address, sizeof listener->address, "%.*s", (int)length, word);
    return strcmp(listener->address, "auto") != 0 || add_auto(l, listener, err);
}

static bool read_addresses(struct sv_listeners *l, const struct sv_options *options, bool has_keys,
                           struct sl_err *err)
{
    *l = (struct sv_listeners){.options = options, .has_keys = has_keys, .count = 1};
    l->list[0].socket.fd = -1;
    (void)snprintf(l->list[0].address, sizeof l->list[0].address, "%s", options->listen);
    const char *word = options->admin_listen;
    for (size_t length; *(word += strspn(word, " ")); word += length) {
        length = strcspn(word, " ");
        if (!add_admin(l, word, length, err))
            return false;
    }
    return true;
}

static struct sv_address address_of(const struct sv_listeners *l, const struct listener *listener)
{
    return (struct sv_address){.text = listener->address,
                               .option = listener->is_admin ? "admin_listen" : "listen",
                               .is_public_fine =
                                   l->has_keys || (!listener->is_admin && l->options->insecure)};
}

static bool read_options(struct sv_listeners *l, const struct sv_options *options, bool has_keys,
                         struct sv_tls_pair **pair, struct sl_err *err)
{
    *pair = NULL;
    return read_addresses(l, options, has_keys, err) && sv_cors_check(options->cors_origins, err) &&
           sv_tls_read(options, pair, err);
}

bool sv_listeners_check(const struct sv_options *options, bool has_keys, struct sl_err *err)
{
    struct sv_listeners l;
    struct sv_tls_pair *pair;
    bool good = read_options(&l, options, has_keys, &pair, err);
    sv_tls_pair_destroy(pair);
    for (int i = 0; good && i < l.count; i++) {
        struct sv_address address = address_of(&l, &l.list[i]);
        good = l.list[i].is_optional || sv_listen_check(&address, err);
    }
    return good;
}

/* ---- sockets of the service manager ---------------------------------------------------------- */

/* A socket for inference takes the place of `listen`; one for administration that of `auto`, or it
 * is one more. NULL: see err. */
static struct listener *place_for(struct sv_listeners *l, bool is_admin, struct sl_err *err)
{
    if (!is_admin)
        return &l->list[0];
    for (int i = 1; i < l->count; i++)
        if (l->list[i].is_optional && l->list[i].socket.fd < 0)
            return &l->list[i];
    if (l->count < LISTENERS_MAX) {
        l->list[l->count] = (struct listener){.is_admin = true, .socket.fd = -1};
        return &l->list[l->count++];
    }
    (void)sl_fail(err, SL_BAD_INPUT, "admin_listen: more than %d addresses",
                  SV_ADMIN_ADDRESSES_MAX);
    return NULL;
}

static bool take_inherited(struct sv_listeners *l, struct sl_err *err)
{
    struct sv_inherited_socket sockets[SV_INHERITED_SOCKETS_MAX];
    int count = sv_inherited_sockets(sockets, err);
    for (int i = 0; i < count; i++) {
        struct listener *listener = place_for(l, sockets[i].is_admin, err);
        if (!listener)
            return false;
        struct sv_address address = address_of(l, listener);
        listener->is_optional = false;
        if (!sv_listen_inherited(sockets[i].fd, &address, listener->address, &listener->socket,
                                 err))
            return false;
    }
    return count >= 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* With its end, so that an operator sees a renewal. */
static void log_certificate(const struct sv_tls_pair *pair)
{
    char date[32] = "";
    struct tm utc;
    time_t not_after = (time_t)sv_tls_not_after(pair);
    if (gmtime_r(&not_after, &utc))
        (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    SV_LOG(SV_LOG_INFO, "TLS certificate", sv_str("not_after", date));
}

static bool open_all(struct sv_listeners *l, struct sl_err *err)
{
    for (int i = 0; i < l->count; i++) {
        struct sv_address address = address_of(l, &l->list[i]);
        if (l->list[i].socket.is_inherited)
            continue;
        if (sv_listen(&address, &l->list[i].socket, err))
            continue;
        if (!l->list[i].is_optional)
            return false;
        SV_LOG(SV_LOG_WARN, "no admin socket", sv_str("reason", err->text));
        l->list[i--] = l->list[--l->count];
    }
    return true;
}

struct sv_listeners *sv_listeners_open(const struct sv_options *options, bool has_keys,
                                       struct sl_err *err)
{
    struct sv_listeners *l = sl_new(sizeof *l, "listeners", err);
    if (!l)
        return NULL;
    struct sv_tls_pair *pair;
    bool good = read_options(l, options, has_keys, &pair, err);
    l->has_tls = pair;
    if (pair)
        log_certificate(pair);
    sv_tls_use(pair);
    if (good && take_inherited(l, err) && open_all(l, err))
        return l;
    sv_listeners_close(l);
    return NULL;
}

static bool start_threads(const struct sv_listeners *l, struct listener *listener,
                          struct sv_server *server, const struct sv_router *router,
                          struct sl_err *err)
{
    bool is_admin = listener->is_admin;
    const struct sv_http_options options = {
        .listener = is_admin ? SV_ON_ADMIN : SV_ON_INFERENCE,
        .socket = listener->socket.fd,
        .has_tls = listener->socket.port > 0 && l->has_tls,
        .threads = is_admin ? 1 : SV_HTTP_THREADS,
        .connections_max = is_admin ? SV_ADMIN_CONNECTIONS_MAX : (int)l->options->max_connections,
        .body_memory_limit = SV_BODIES_BYTES_MAX + (is_admin ? SV_ADMIN_BODIES_BYTES : 0)};
    listener->watcher = sv_watcher_create(options.connections_max, err);
    if (!listener->watcher)
        return false;
    listener->socket.fd = -1; /* sv_http_start owns it, even when it fails */
    listener->http = sv_http_start(server, router, listener->watcher, &options, err);
    return listener->http != NULL;
}

/* Threads inherit from the one that creates them. However busy inference is, administration, health
 * and metrics need little and are urgent. */
static bool start(const struct sv_listeners *l, struct listener *listener, struct sv_server *server,
                  const struct sv_router *router, struct sl_err *err)
{
    sv_thread_set_slice(listener->is_admin ? SV_ADMIN_SLICE_NS : 0);
    bool started = start_threads(l, listener, server, router, err);
    sv_thread_set_slice(0);
    return started;
}

bool sv_listeners_start(struct sv_listeners *l, struct sv_server *server,
                        const struct sv_router *router, struct sl_err *err)
{
    for (int i = 0; i < l->count; i++)
        if (!start(l, &l->list[i], server, router, err))
            return false;
    return true;
}

bool sv_listeners_write_ports(const struct sv_listeners *l, struct sl_err *err)
{
    const char *path = l->options->port_file;
    if (!path[0])
        return true;
    FILE *file = fopen(path, "we");
    bool written = file;
    for (int i = 0; i < l->count; i++)
        if (l->list[i].socket.port > 0)
            written = written && fprintf(file, "%d\n", l->list[i].socket.port) > 0;
    if (file && fclose(file) != 0)
        written = false;
    return written || sl_fail(err, SL_IO, "port_file '%s': %s", path, strerrordesc_np(errno));
}

int sv_listeners_port(const struct sv_listeners *l)
{
    return l->list[0].socket.port;
}

/* Whether other machines can reach it, as far as its address says. */
static bool is_public(const struct listener *listener)
{
    const struct sv_address address = {.text = listener->address, .option = "listen"};
    struct sl_err reason;
    return listener->socket.port > 0 && !sv_listen_check(&address, &reason);
}

/* has_console: with the address of the web console, to be opened from there. */
static void log_address(const struct listener *listener, bool has_tls, bool has_console)
{
    const char *event = listener->is_admin ? "admin listening" : "listening";
    const char *colon = strrchr(listener->address, ':');
    char console[sizeof listener->address + sizeof "https://:65535/ui/"];
    (void)snprintf(console, sizeof console, "http%s://%.*s:%d/ui/", has_tls ? "s" : "",
                   colon ? (int)(colon - listener->address) : 0, listener->address,
                   listener->socket.port);
    if (listener->socket.port > 0 && has_console)
        SV_LOG(SV_LOG_INFO, event, sv_str("address", listener->address),
               sv_int("port", listener->socket.port), sv_str("console", console));
    else if (listener->socket.port > 0)
        SV_LOG(SV_LOG_INFO, event, sv_str("address", listener->address),
               sv_int("port", listener->socket.port));
    else
        SV_LOG(SV_LOG_INFO, event, sv_str("address", listener->address));
}

void sv_listeners_log(const struct sv_listeners *l)
{
    for (int i = 0; i < l->count; i++)
        if (!l->has_tls && l->has_keys && is_public(&l->list[i]))
            SV_LOG(SV_LOG_WARN,
                   "API keys cross the network unencrypted; set tls_certificate and "
                   "tls_key, or put a proxy in front",
                   sv_str("address", l->list[i].address));
    bool has_admin = false;
    for (int i = 0; i < l->count; i++)
        has_admin |= l->list[i].is_admin && l->list[i].socket.port > 0;
    for (int i = 0; i < l->count; i++) /* the console of administrators has all views */
        log_address(&l->list[i], l->has_tls, l->list[i].is_admin || !has_admin);
}

bool sv_listeners_reload(struct sv_listeners *l, struct sl_err *err)
{
    struct sv_tls_pair *pair;
    if (!l->has_tls)
        return true;
    if (!sv_tls_read(l->options, &pair, err))
        return false;
    if (!pair)
        return sl_fail(err, SL_BAD_INPUT, "the files are gone; to serve without TLS, restart");
    log_certificate(pair);
    sv_tls_use(pair);
    return true;
}

bool sv_listeners_leave(struct sv_listeners *l)
{
    bool left = false;
    for (int i = 0; i < l->count; i++) {
        if (!l->list[i].socket.is_inherited)
            continue;
        sv_http_stop_accepting(l->list[i].http);
        left = left || !l->list[i].is_admin;
    }
    return left;
}

void sv_listeners_cancel_all(struct sv_listeners *l)
{
    for (int i = 0; i < l->count; i++)
        sv_watcher_cancel_all(l->list[i].watcher);
}

static void close_listener(struct listener *listener)
{
    sv_http_stop(listener->http);
    sv_watcher_destroy(listener->watcher);
    sv_socket_remove(&listener->socket);
    if (listener->socket.fd >= 0)
        (void)close(listener->socket.fd);
}

void sv_listeners_close(struct sv_listeners *l)
{
    if (!l)
        return;
    for (int i = 0; i < l->count; i++)
        close_listener(&l->list[i]);
    sv_tls_use(NULL);
    free(l);
}
