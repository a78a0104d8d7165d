/* handle_oip.c - what the Open Inference Protocol wants to know besides inference: server, models,
 * readiness, statistics, repository. */
#include "api/handlers.h"
#include "api/model_resolver.h"
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
    struct sv_text *out = &request->response.body;
    sv_text_adds(out, "{\"name\":\"sluice\",\"version\":");
    sv_text_jsons(out, sl_version());
    sv_text_adds(out, ",\"extensions\":[\"classification\",\"statistics\"]}");
    return respond_json(request);
}

/* ---- one model ------------------------------------------------------------------------------- */

static void add_tensor(struct sv_text *out, const char *name, const char *datatype, int columns)
{
    sv_text_print(out, "{\"name\":\"%s\",\"datatype\":\"%s\",\"shape\":[-1", name, datatype);
    if (columns > 0)
        sv_text_print(out, ",%d", columns);
    sv_text_adds(out, "]}");
}

/* A model that completes texts has no tensors: it is asked elsewhere. */
static void add_tensors(struct sv_text *out, const struct sl_model_info *info)
{
    sv_text_adds(out, ",\"inputs\":[");
    if (info->task == SL_TASK_CLASSIFICATION)
        add_tensor(out, sv_input_name, "BYTES", 0);
    sv_text_adds(out, "],\"outputs\":[");
    for (int i = 0; i < SV_OUTPUTS && info->task == SL_TASK_CLASSIFICATION; i++) {
        const struct sv_output_row *row = &sv_output_rows[i];
        sv_text_adds(out, i ? "," : "");
        add_tensor(out, row->name, row->datatype, row->is_per_class ? info->classes : 0);
    }
    sv_text_adds(out, "]");
}

/* GET /v2/models/{name}[/versions/{version}] */
enum sv_progress sv_handle_model_metadata(struct sv_request *request)
{
    struct sv_error error;
    char name[SV_PATH_MAX], platform[64];
    struct sv_text *out = &request->response.body;
    struct sv_model_ref *ref = sv_resolve_model(request, sv_path_model_id(request, name), &error);
    if (!ref)
        return sv_request_fail(request, &error);
    const struct sl_model_info *info = sl_model_info(sv_model_ref_model(ref));
    sv_text_adds(out, "{\"name\":");
    sv_text_jsons(out, sv_model_ref_name(ref));
    sv_text_adds(out, ",\"versions\":[");
    sv_text_jsons(out, sv_model_ref_version(ref));
    sv_text_adds(out, "],\"platform\":");
    (void)snprintf(platform, sizeof platform, "sluice_%s", info->architecture);
    sv_text_jsons(out, platform);
    add_tensors(out, info);
    sv_text_adds(out, ",\"parameters\":{\"labels\":[");
    for (int i = 0; i < info->classes; i++) {
        sv_text_adds(out, i ? "," : "");
        sv_text_jsons(out, info->labels[i]);
    }
    sv_text_print(out, "],\"max_input_length\":%d,\"gate\":", info->context);
    sv_text_jsons(out, info->gate);
    sv_text_adds(out, "}}");
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
    sv_text_adds(&request->response.body, "{\"name\":");
    sv_text_jsons(&request->response.body, sv_model_ref_name(ref));
    sv_text_adds(&request->response.body, ",\"ready\":true}");
    sv_model_ref_release(ref);
    return respond_json(request);
}

/* ---- statistics, as Triton's extension has them ---------------------------------------------- */

static void add_duration(struct sv_text *out, const char *name, const struct sv_duration *duration)
{
    sv_text_print(out, "\"%s\":{\"count\":%lld,\"ns\":%lld}", name, (long long)duration->count,
                  (long long)duration->ns);
}

static void add_call_stats(struct sv_text *out, const struct sv_classification_stats *stats)
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

    sv_text_adds(out, "\"inference_stats\":{");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sv_text_adds(out, i ? "," : "");
        add_duration(out, rows[i].name, rows[i].duration);
    }
    sv_text_adds(out, "}");
}

static void add_batch_stats(struct sv_text *out, const struct sv_classification_stats *stats)
{
    static const struct sv_duration never = {0, 0};
    const char *comma = "";
    sv_text_adds(out, ",\"batch_stats\":[");
    for (int size = 1; size <= stats->size_max; size++) {
        if (stats->by_size[size].count == 0)
            continue;
        sv_text_print(out, "%s{\"batch_size\":%d,", comma, size);
        add_duration(out, "compute_input", &never);
        sv_text_adds(out, ",");
        add_duration(out, "compute_infer", &stats->by_size[size]);
        sv_text_adds(out, ",");
        add_duration(out, "compute_output", &never);
        sv_text_adds(out, "}");
        comma = ",";
    }
    sv_text_adds(out, "]");
}

static void add_stats(struct sv_text *out, struct sv_scheduler *scheduler,
                      const struct sv_model_ref *ref)
{
    struct sv_classification_stats stats;
    if (!sv_scheduler_stats(scheduler, ref, &stats)) {
        out->failed = true;
        return;
    }
    sv_text_adds(out, "{\"name\":");
    sv_text_jsons(out, sv_model_ref_name(ref));
    sv_text_adds(out, ",\"version\":");
    sv_text_jsons(out, sv_model_ref_version(ref));
    sv_text_print(out,
                  ",\"last_inference\":%lld,\"inference_count\":%lld,\"execution_count\":%lld,",
                  (long long)stats.last_ms, (long long)stats.items, (long long)stats.batches);
    add_call_stats(out, &stats);
    add_batch_stats(out, &stats);
    sv_text_adds(out, "}");
    free(stats.by_size);
}

/* GET /v2/models/stats: of every classifier. */
enum sv_progress sv_handle_all_stats(struct sv_request *request)
{
    struct sv_text *out = &request->response.body;
    struct sv_model_ref *ref;
    const char *comma = "";
    sv_text_adds(out, "{\"model_stats\":[");
    for (int i = 0; (ref = sv_registry_acquire_at(request->server->registry, i)); i++) {
        if (sl_model_info(sv_model_ref_model(ref))->task == SL_TASK_CLASSIFICATION) {
            sv_text_adds(out, comma);
            add_stats(out, request->server->scheduler, ref);
            comma = ",";
        }
        sv_model_ref_release(ref);
    }
    sv_text_adds(out, "]}");
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
    sv_text_adds(&request->response.body, "{\"model_stats\":[");
    add_stats(&request->response.body, request->server->scheduler, ref);
    sv_text_adds(&request->response.body, "]}");
    sv_model_ref_release(ref);
    return respond_json(request);
}

/* ---- repository ------------------------------------------------------------------------------ */

struct index_request {
    bool ready; /* only models that are */
};

static const struct sv_field index_fields[] = {
    {.name = "ready", .kind = SV_FIELD_BOOL, .offset = offsetof(struct index_request, ready)},
    {.kind = SV_FIELD_END},
};

/* An empty body is as good as an empty object. */
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

static void add_entry(struct sv_text *out, const char *name, const char *version,
                      const char *reason)
{
    sv_text_adds(out, out->bytes > 1 ? ",{\"name\":" : "{\"name\":");
    sv_text_jsons(out, name);
    sv_text_adds(out, ",\"version\":");
    sv_text_jsons(out, version);
    sv_text_print(out, ",\"state\":\"%s\",\"reason\":", reason[0] ? "UNAVAILABLE" : "READY");
    sv_text_jsons(out, reason);
    sv_text_adds(out, "}");
}

/* POST /v2/repository/index */
enum sv_progress sv_handle_repository_index(struct sv_request *request)
{
    struct sv_error error;
    struct index_request params;
    struct sv_registry *registry = request->server->registry;
    struct sv_text *out = &request->response.body;
    struct sv_model_ref *ref;
    struct sv_load_failure failure;
    if (!read_index(request, &params, &error))
        return sv_request_fail(request, &error);
    sv_text_adds(out, "[");
    for (int i = 0; (ref = sv_registry_acquire_at(registry, i)); i++) {
        add_entry(out, sv_model_ref_name(ref), sv_model_ref_version(ref), "");
        sv_model_ref_release(ref);
    }
    for (int i = 0; !params.ready && sv_registry_load_failure_at(registry, i, &failure); i++)
        add_entry(out, failure.name, failure.version, failure.reason);
    sv_text_adds(out, "]");
    return respond_json(request);
}

/* POST /v2/repository/models/{name}/load and /unload */
enum sv_progress sv_handle_repository_load(struct sv_request *request)
{
    struct sv_error error;
    (void)sv_fail(&error, SV_NOT_IMPLEMENTED, NULL,
                  "Models are loaded when the server starts, and stay; restart it to change "
                  "them.");
    return sv_request_fail(request, &error);
}
