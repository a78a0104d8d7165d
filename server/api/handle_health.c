/* handle_health.c - live, ready, metrics and the front page: answered without asking the engine. */
#include "api/handlers.h"
#include "core/metrics.h"
#include "registry/registry.h"
#include "serve/scheduler.h"

#include <stdio.h>

static enum sv_next not_well(struct sv_call *call, const char *why)
{
    struct sv_problem problem;
    (void)sv_refuse(&problem, SV_NOT_READY, NULL, "%s", why);
    problem.retry_ms = 1000;
    return sv_call_refuse(call, &problem);
}

/* Dead is only who has work and does not move: a busy server must not be restarted for being
 * busy. */
enum sv_next sv_handle_live(struct sv_call *call)
{
    if (!sv_batcher_is_alive(call->server->batcher))
        return not_well(call, "The dispatcher has stopped moving.");
    sv_text_adds(&call->reply.body, "{\"live\":true}");
    return sv_call_answer(call, 200, "application/json");
}

/* Which models of the store are not served. */
static enum sv_next not_complete(struct sv_call *call)
{
    struct sv_problem problem;
    struct sv_missing missing;
    char names[1024] = "", id[2 * SV_NAME_MAX];
    int count = 0;
    for (; sv_registry_missing_at(call->server->registry, count, &missing); count++) {
        (void)snprintf(id, sizeof id, "%s@%s", missing.name, missing.version);
        sv_list_add(names, sizeof names, id);
    }
    if (count == 0)
        return not_well(call, "No model of the store is served; the log says why.");
    (void)sv_refuse(&problem, SV_NOT_READY, NULL,
                    "Models of the store that are not served: %s. The log says why.", names);
    problem.retry_ms = 1000;
    return sv_call_refuse(call, &problem);
}

enum sv_next sv_handle_ready(struct sv_call *call)
{
    if (atomic_load(&call->server->phase) == SV_PHASE_DRAINING)
        return not_well(call, "The server is shutting down.");
    if (!sv_registry_is_complete(call->server->registry))
        return not_complete(call);
    sv_text_adds(&call->reply.body, "{\"ready\":true}");
    return sv_call_answer(call, 200, "application/json");
}

/* What load balancers ask a Text Embeddings Inference: 503 when it is of no use to send more. A
 * model that was left out does not stop the others. */
enum sv_next sv_handle_health(struct sv_call *call)
{
    struct sv_problem problem;
    if (!sv_call_is_welcome(call, &problem))
        return sv_call_refuse(call, &problem);
    if (!sv_batcher_is_alive(call->server->batcher))
        return not_well(call, "The dispatcher has stopped moving.");
    return sv_call_answer(call, 200, "application/json");
}

static void set(struct sv_call *call, enum sv_metric metric, int64_t value)
{
    sv_metric_set(sv_metrics_series(call->server->metrics, metric, NULL), (double)value);
}

enum sv_next sv_handle_metrics(struct sv_call *call)
{
    struct sv_server *server = call->server;
    set(call, SV_METRIC_CALLS, atomic_load(&server->calls) - 1); /* without this one */
    set(call, SV_METRIC_CONNECTIONS, atomic_load(&server->connections));
    set(call, SV_METRIC_BODY_BYTES, atomic_load(&server->body_bytes));
    sv_metrics_sample_process(server->metrics);
    sv_metrics_expose(server->metrics, &call->reply.body);
    return sv_call_answer(call, 200, "text/plain; version=0.0.4; charset=utf-8");
}

/* It is also asked as `/health` is, which has no body. */
enum sv_next sv_handle_index(struct sv_call *call)
{
    enum sv_next next = sv_handle_health(call);
    if (call->reply.status != 200)
        return next;
    sv_text_add(&call->reply.body, call->server->index->data, call->server->index->bytes);
    return sv_call_answer(call, 200, "application/json");
}
