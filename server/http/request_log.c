/* request_log.c - what is counted and logged of a request when it ends. */
#include "http/request_log.h"
#include "base/clock.h"
#include "core/log.h"
#include "core/metrics.h"
#include "http/request_router.h"

#include <stdio.h>
#include <string.h>

static const char *known_method(const char *method)
{
    static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i], method) == 0)
            return known[i];
    return "other"; /* clients must not create label values */
}

void sv_log_response(const struct sv_exchange *x)
{
    const struct sv_request *request = x->request;
    struct sv_metrics *metrics = request->server->metrics;
    const char *handler = request->route ? request->route->path : "none";
    char status[16];
    if (!x->responded || strcmp(handler, "/metrics") == 0)
        return;
    (void)snprintf(status, sizeof status, "%d", request->response.status);
    sv_metrics_count(metrics, SV_METRIC_HTTP_REQUESTS,
                     (const char *const[]){handler, known_method(x->method), status});
    sv_metric_observe(sv_metrics_series(metrics, SV_METRIC_HTTP_SECONDS, &handler),
                      1e-9 * (double)(sl_now_ns() - request->received_ns));
}

/* A warning if it is the server's fault, and not what the client asked for. */
static enum sv_log_level level_of(const struct sv_request *request, enum sv_error_kind kind)
{
    int status = sv_error_status(kind, request->api);
    bool asked_for = sv_error_is_client_triggered(kind) ||
                     (kind == SV_DEADLINE_EXCEEDED && request->timeout_ms > 0);
    return (status >= 500 || kind == SV_INTERNAL) && !asked_for ? SV_LOG_WARN : SV_LOG_DEBUG;
}

static void log_request(const struct sv_request *request, enum sv_error_kind kind)
{
    int64_t ms = (sl_now_ns() - request->received_ns) / 1000000;
    const struct sv_log_field fields[] = {
        sv_str("endpoint", request->route->path),
        sv_str("request_id", request->request_id),
        sv_str("model", request->model),
        sv_str("version", request->version),
        sv_int("code", sv_error_status(kind, request->api)),
        sv_str("reason", sv_error_reason(kind)),
        sv_int("ms", ms),
        sv_str(request->trace_id[0] ? "trace_id" : NULL, request->trace_id),
        {.key = NULL}};
    sv_log_write(level_of(request, kind), "request", fields);
}

void sv_log_request(const struct sv_exchange *x, bool complete)
{
    struct sv_request *request = x->request;
    enum sv_error_kind kind = request->outcome;
    char code[16];
    if (kind == SV_OK && request->async && request->async->outcome)
        kind = request->async->outcome(request, complete);
    else if (kind == SV_OK && !complete)
        kind = SV_CLIENT_DISCONNECTED;
    int status = sv_error_status(kind, request->api);
    (void)snprintf(code, sizeof code, "%d", status);
    sv_metrics_count(request->server->metrics, SV_METRIC_REQUESTS,
                     (const char *const[]){request->route->path, request->model, request->version,
                                           code, sv_error_reason(kind)});
    log_request(request, kind);
}
