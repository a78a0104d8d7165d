/* handle_oip.c - what the Open Inference Protocol wants to know besides inference: server, models,
 * readiness, statistics, repository. */
#include "api/handlers.h"
#include "api/model_resolver.h"
#include "base/json_writer.h"
#include "serve/scheduler.h"
#include "json/infer_params.h"

#include "sluice/engine.h"
#include "sluice/model.h"

#include <stdio.h>
#include <stdlib.h>

static enum sv_progress respond_json(struct sv_request *request)
{
    return sv_request_respond(request, 200, "application/json");
}

/* GET /v2 */
enum sv_progress sv_handle_server_metadata(struct sv_request *request)
{
    struct sl_buffer *out = &request->response.body;
    sl_buffer_append_string(out, "{\"name\":\"sluice\",\"version\":");
    sl_json_quote(out, sl_version());
    sl_buffer_append_string(out, ",\"extensions\":[\"classification\",\"statistics\"]}");
    return respond_json(request);
}

/* ---- one model ------------------------------------------------------------------------------- */

static void add_tensor(struct sl_buffer *out, const char *name, const char *datatype, int columns)
{
    sl_buffer_printf(out, "{\"name\":\"%s\",\"datatype\":\"%s\",\"shape\":[-1", name, datatype);
    if (columns > 0)
        sl_buffer_printf(out, ",%d", columns);
    sl_buffer_append_string(out, "]}");
}

/* A completion model has no tensors in this protocol. */
static void add_tensors(struct sl_buffer *out, const struct sl_model_info *info)
{
    sl_buffer_append_string(out, ",\"inputs\":[");
    if (info->task == SL_TASK_CLASSIFICATION)
        add_tensor(out, sv_input_name, "BYTES", 0);
    sl_buffer_append_string(out, "],\"outputs\":[");
    for (int i = 0; i < SV_OUTPUTS && info->task == SL_TASK_CLASSIFICATION; i++) {
        const struct sv_output_row *row = &sv_output_rows[i];
        sl_buffer_append_string(out, i ? "," : "");
        add_tensor(out, row->name, row->datatype, row->is_per_class ? info->classes : 0);
    }
    sl_buffer_append_string(out, "]");
}

/* GET /v2/models/{name}[/versions/{version}] */
enum sv_progress sv_handle_model_metadata(struct sv_request *request)
{
    struct sv_error error;
    char name[SV_PATH_MAX], platform[64];
    struct sl_buffer *out = &request->response.body;
    struct sv_model_ref *ref = sv_resolve_model(request, sv_path_model_id(request, name), &error);
    if (!ref)
        return sv_request_fail(request, &error);
    const struct sl_model_info *info = sl_model_info(sv_model_ref_model(ref));
    sl_buffer_append_string(out, "{\"name\":");
    sl_json_quote(out, sv_model_ref_name(ref));
    sl_buffer_append_string(out, ",\"versions\":[");
    sl_json_quote(out, sv_model_ref_version(ref));
    sl_buffer_append_string(out, "],\"platform\":");
    (void)snprintf(platform, sizeof platform, "sluice_%s", info->architecture);
    sl_json_quote(out, platform);
    add_tensors(out, info);
    sl_buffer_append_string(out, ",\"parameters\":{\"labels\":[");
    for (int i = 0; i < info->classes; i++) {
        sl_buffer_append_string(out, i ? "," : "");
        sl_json_quote(out, info->labels[i]);
    }
    sl_buffer_printf(out, "],\"max_input_length\":%d,\"gate\":", info->context);
    sl_json_quote(out, info->gate);
    sl_buffer_append_string(out, "}}");
    sv_model_ref_release(ref);
    return respond_json(request);
}

/* GET /v2/models/{name}[/versions/{version}]/ready: of what is served, whatever else is not. */
enum sv_progress sv_handle_model_ready(struct sv_request *request)
{
    struct sv_error error;
    char name[SV_PATH_MAX];
    struct sv_model_ref *ref = NULL;
    if (sv_request_is_accepted(request, &error))
        ref = sv_resolve_model(request, sv_path_model_id(request, name), &error);
    if (!ref)
        return sv_request_fail(request, &error);
    sl_buffer_append_string(&request->response.body, "{\"name\":");
    sl_json_quote(&request->response.body, sv_model_ref_name(ref));
    sl_buffer_append_string(&request->response.body, ",\"ready\":true}");
    sv_model_ref_release(ref);
    return respond_json(request);
}

/* ---- statistics, as Triton's extension has them ---------------------------------------------- */

static void add_duration(struct sl_buffer *out, const char *name,
                         const struct sv_duration *duration)
{
    sl_buffer_printf(out, "\"%s\":{\"count\":%lld,\"ns\":%lld}", name, (long long)duration->count,
                     (long long)duration->ns);
}

static void add_call_stats(struct sl_buffer *out, const struct sv_classification_stats *stats)
{
    static const struct sv_duration never = {0, 0};

    const struct {
        const char *name;
        const struct sv_duration *duration;
    } rows[] = {
        {"success", &stats->success},
        {"fail", &stats->fail},
        {"queue", &stats->queue},
        {"compute_input", &stats->encode},
        {"compute_infer", &stats->compute},
        {"compute_output", &never},
        {"cache_hit", &never},
        {"cache_miss", &never},
    };

    sl_buffer_append_string(out, "\"inference_stats\":{");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sl_buffer_append_string(out, i ? "," : "");
        add_duration(out, rows[i].name, rows[i].duration);
    }
    sl_buffer_append_string(out, "}");
}

static void add_batch_stats(struct sl_buffer *out, const struct sv_classification_stats *stats)
{
    static const struct sv_duration never = {0, 0};
    const char *comma = "";
    sl_buffer_append_string(out, ",\"batch_stats\":[");
    for (int size = 1; size <= stats->size_max; size++) {
        if (stats->by_size[size].count == 0)
            continue;
        sl_buffer_printf(out, "%s{\"batch_size\":%d,", comma, size);
        add_duration(out, "compute_input", &never);
        sl_buffer_append_string(out, ",");
        add_duration(out, "compute_infer", &stats->by_size[size]);
        sl_buffer_append_string(out, ",");
        add_duration(out, "compute_output", &never);
        sl_buffer_append_string(out, "}");
        comma = ",";
    }
    sl_buffer_append_string(out, "]");
}

static void add_stats(struct sl_buffer *out, struct sv_scheduler *scheduler,
                      const struct sv_model_ref *ref)
{
    struct sv_classification_stats stats;
    if (!sv_scheduler_stats(scheduler, ref, &stats)) {
        out->failed = true;
        return;
    }
    sl_buffer_append_string(out, "{\"name\":");
    sl_json_quote(out, sv_model_ref_name(ref));
    sl_buffer_append_string(out, ",\"version\":");
    sl_json_quote(out, sv_model_ref_version(ref));
    sl_buffer_printf(out,
                     ",\"last_inference\":%lld,\"inference_count\":%lld,\"execution_count\":%lld,",
                     (long long)stats.last_ms, (long long)stats.items, (long long)stats.batches);
    add_call_stats(out, &stats);
    add_batch_stats(out, &stats);
    sl_buffer_append_string(out, "}");
    free(stats.by_size);
}

/* GET /v2/models/stats: of every classifier. */
enum sv_progress sv_handle_all_stats(struct sv_request *request)
{
    struct sl_buffer *out = &request->response.body;
    struct sv_model_ref *ref;
    const char *comma = "";
    sl_buffer_append_string(out, "{\"model_stats\":[");
    for (int i = 0; (ref = sv_registry_acquire_at(request->server->registry, i)); i++) {
        if (sl_model_info(sv_model_ref_model(ref))->task == SL_TASK_CLASSIFICATION) {
            sl_buffer_append_string(out, comma);
            add_stats(out, request->server->scheduler, ref);
            comma = ",";
        }
        sv_model_ref_release(ref);
    }
    sl_buffer_append_string(out, "]}");
    return respond_json(request);
}

/* GET /v2/models/{name}[/versions/{version}]/stats */
enum sv_progress sv_handle_stats(struct sv_request *request)
{
    struct sv_error error;
    char name[SV_PATH_MAX];
    struct sv_model_ref *ref =
        sv_resolve_classifier(request, sv_path_model_id(request, name), &error);
    if (!ref)
        return sv_request_fail(request, &error);
    sl_buffer_append_string(&request->response.body, "{\"model_stats\":[");
    add_stats(&request->response.body, request->server->scheduler, ref);
    sl_buffer_append_string(&request->response.body, "]}");
    sv_model_ref_release(ref);
    return respond_json(request);
}

/* ---- repository ------------------------------------------------------------------------------ */

struct index_request {
    bool ready; /* only models that are */
};

static const struct sv_field index_fields[] = {
    SV_FIELD("ready", BOOL, offsetof(struct index_request, ready), 0, 1, .fallback = "false",
             .help = "only list models that are loaded"),
    {.kind = SV_FIELD_END},
};

/* An empty body counts as an empty object. */
static bool read_index(const struct sv_request *request, struct index_request *params,
                       struct sv_error *error)
{
    *params = (struct index_request){0};
    if (request->body.bytes == 0)
        return true;
    struct sv_document *document = sv_json_read(&request->body, index_fields, NULL, params, error);
    bool ok = document != NULL;
    sv_document_release(document);
    return ok;
}

static void add_entry(struct sl_buffer *out, const char *name, const char *version,
                      const char *reason)
{
    sl_buffer_append_string(out, out->bytes > 1 ? ",{\"name\":" : "{\"name\":");
    sl_json_quote(out, name);
    sl_buffer_append_string(out, ",\"version\":");
    sl_json_quote(out, version);
    sl_buffer_printf(out, ",\"state\":\"%s\",\"reason\":", reason[0] ? "UNAVAILABLE" : "READY");
    sl_json_quote(out, reason);
    sl_buffer_append_string(out, "}");
}

/* POST /v2/repository/index */
enum sv_progress sv_handle_repository_index(struct sv_request *request)
{
    struct sv_error error;
    struct index_request params;
    struct sv_registry *registry = request->server->registry;
    struct sl_buffer *out = &request->response.body;
    struct sv_model_ref *ref;
    struct sv_load_failure failure;
    if (!read_index(request, &params, &error))
        return sv_request_fail(request, &error);
    sl_buffer_append_string(out, "[");
    for (int i = 0; (ref = sv_registry_acquire_at(registry, i)); i++) {
        add_entry(out, sv_model_ref_name(ref), sv_model_ref_version(ref), "");
        sv_model_ref_release(ref);
    }
    for (int i = 0; !params.ready && sv_registry_load_failure_at(registry, i, &failure); i++)
        add_entry(out, failure.name, failure.version, failure.reason);
    sl_buffer_append_string(out, "]");
    return respond_json(request);
}

/* POST /v2/repository/models/{name}/load and /unload */
enum sv_progress sv_handle_repository_load(struct sv_request *request)
{
    struct sv_error error;
    (void)sv_fail(&error, SV_NOT_IMPLEMENTED, NULL,
                  "Models are loaded when the server starts; restart it to change them.");
    return sv_request_fail(request, &error);
}
