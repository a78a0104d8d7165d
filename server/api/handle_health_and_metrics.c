/* handle_health_and_metrics.c - liveness, readiness, metrics and the front page, which never wait
 * for the engine. */
#include "api/handlers.h"
#include "base/comma_list.h"
#include "base/json_writer.h"
#include "core/metrics.h"
#include "http/request_router.h"
#include "registry/registry.h"
#include "serve/scheduler.h"

#include <stdio.h>
#include <string.h>

static enum sv_progress fail_not_ready(struct sv_request *request, const char *why)
{
    struct sv_error error;
    (void)sv_fail(&error, SV_NOT_READY, NULL, "%s", why);
    return sv_request_fail(request, &error);
}

/* {"name":true} */
static enum sv_progress respond_true(struct sv_request *request, const char *name)
{
    struct sl_json_writer json = {.out = &request->response.body};
    sl_json_add(&json, "{%s:true}", name);
    return sv_request_respond(request, 200, "application/json");
}

/* Only a server with work and without progress is dead. A busy one must not be restarted. */
enum sv_progress sv_handle_live(struct sv_request *request)
{
    if (!sv_scheduler_is_alive(request->server->scheduler))
        return fail_not_ready(request, "The scheduler makes no progress.");
    return respond_true(request, "live");
}

/* Names the models that failed to load and of which no version is served. */
static enum sv_progress fail_incomplete(struct sv_request *request)
{
    struct sv_error error;
    char names[1024] = "", id[2 * SV_MODEL_ID_MAX];
    struct sv_snapshot *snapshot = sv_registry_snapshot(request->server->registry);
    for (int i = 0, ready = 0; snapshot && i < snapshot->count; i++) {
        const struct sv_version_info *info = &snapshot->items[i];
        bool first = i == 0 || strcmp(info->name, snapshot->items[i - 1].name) != 0;
        bool last =
            i + 1 == snapshot->count || strcmp(info->name, snapshot->items[i + 1].name) != 0;
        ready = (first ? 0 : ready) + (info->ref != NULL);
        (void)snprintf(id, sizeof id, "%s@%s", info->name, info->version);
        if (last && ready == 0 && info->state == SV_VERSION_FAILED)
            sl_list_add(names, sizeof names, id);
    }
    sv_snapshot_release(snapshot);
    if (!names[0])
        return fail_not_ready(request, "No model is loaded; see the log.");
    (void)sv_fail(&error, SV_NOT_READY, NULL, "Models that failed to load: %s. See the log.",
                  names);
    return sv_request_fail(request, &error);
}

static bool is_leaving(const struct sv_server *server)
{
    return atomic_load(&server->phase) != SV_PHASE_SERVING;
}

enum sv_progress sv_handle_ready(struct sv_request *request)
{
    if (is_leaving(request->server))
        return fail_not_ready(request, "The daemon is shutting down.");
    if (!sv_registry_is_complete(request->server->registry))
        return fail_incomplete(request);
    return respond_true(request, "ready");
}

/* The health check of Text Embeddings Inference: 503 if load balancers should send no more
 * requests. A model that failed to load does not stop the others. */
enum sv_progress sv_handle_health(struct sv_request *request)
{
    struct sv_error error;
    if (is_leaving(request->server)) {
        (void)sv_fail_draining(&error);
        return sv_request_fail(request, &error);
    }
    if (!sv_scheduler_is_alive(request->server->scheduler))
        return fail_not_ready(request, "The scheduler makes no progress.");
    return sv_request_respond(request, 200, "application/json");
}

static void set(struct sv_request *request, enum sv_metric metric, int64_t value)
{
    sv_metrics_set(request->server->metrics, metric, NULL, (double)value);
}

enum sv_progress sv_handle_metrics(struct sv_request *request)
{
    struct sv_server *server = request->server;
    set(request, SV_METRIC_READY, !is_leaving(server) && sv_registry_is_complete(server->registry));
    set(request, SV_METRIC_REQUESTS_IN_FLIGHT,
        atomic_load(&server->requests_in_flight) - 1); /* without this one */
    set(request, SV_METRIC_CONNECTIONS, atomic_load(&server->connections));
    set(request, SV_METRIC_BODY_BYTES, atomic_load(&server->body_bytes));
    sv_metrics_sample_process(server->metrics);
    sv_metrics_expose(server->metrics, &request->response.body);
    return sv_request_respond(request, 200, "text/plain; version=0.0.4; charset=utf-8");
}

enum sv_progress sv_handle_openapi(struct sv_request *request)
{
    const struct sl_buffer *document = &request->server->documents->openapi;
    sl_buffer_append(&request->response.body, document->data, document->bytes);
    return sv_request_respond(request, 200, "application/json");
}

static bool is_browser(const struct sv_request *request)
{
    const char *accept = request->transport->header(request->connection, "Accept");
    return accept && strstr(accept, "text/html");
}

/* From /docs to the documentation, else to the web console; relative, as a proxy may serve the
 * daemon below a path of its own. */
static enum sv_progress redirect_browser(struct sv_request *request)
{
    const bool docs = strcmp(request->route->path, "/docs") == 0;
    sv_request_add_header(request, "Location", "%s", docs ? "docs/" : "ui/");
    return sv_request_respond(request, 302, NULL);
}

/* Clients also use it as a health check. Browsers, which ask for HTML, go elsewhere. */
enum sv_progress sv_handle_root(struct sv_request *request)
{
    sv_request_add_header(request, "Vary", "Accept");
    if (is_browser(request))
        return redirect_browser(request);
    enum sv_progress next = sv_handle_health(request);
    if (request->response.status != 200)
        return next;
    const struct sl_buffer *index = &request->server->documents->index;
    sl_buffer_append(&request->response.body, index->data, index->bytes);
    return sv_request_respond(request, 200, "application/json");
}
