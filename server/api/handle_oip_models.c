/* handle_oip_models.c - the Open Inference Protocol except inference: server, models,
 * readiness, statistics, repository. */
#include "api/handlers.h"
#include "api/model_abilities.h"
#include "api/model_resolver.h"
#include "base/json_writer.h"
#include "core/options.h"
#include "params/infer_params.h"
#include "params/registry_params.h"
#include "serve/scheduler.h"

#include "sluice/engine.h"
#include "sluice/model.h"

#include <stdlib.h>
#include <string.h>

static enum sv_progress respond_json(struct sv_request *request)
{
    return sv_request_respond(request, 200, "application/json");
}

/* GET /v2 */
enum sv_progress sv_handle_server_metadata(struct sv_request *request)
{
    struct sl_json_writer json = {.out = &request->response.body};
    sl_json_add(&json,
                "{'name':'sluice','version':%s,'extensions':['classification',"
                "'model_repository','model_repository(unload_dependents)','statistics',"
                "'binary_tensor_data','model_configuration']}",
                sl_version());
    return respond_json(request);
}

/* ---- one model ------------------------------------------------------------------------------- */

static void add_tensor(struct sl_json_writer *json, const char *name, const char *datatype,
                       int columns)
{
    sl_json_add(json, "{'name':%s,'datatype':%s,'shape':[-1", name, datatype);
    if (columns > 0)
        sl_json_add_int(json, columns);
    sl_json_add(json, "]}");
}

/* How tensors are described. */
struct tensor_format {
    const char *inputs, *outputs; /* names of the lists */
    void (*add)(struct sl_json_writer *json, const char *name, const char *datatype, int columns);
};

/* A completion model has no tensors in this protocol. */
static void add_tensors(struct sl_json_writer *json, const struct sl_model_info *info,
                        const struct tensor_format *format)
{
    int outputs = sv_classify_outputs(info);
    sl_json_begin_array(sl_json_key(json, format->inputs));
    const bool has_tensors = outputs > 0;
    if (has_tensors)
        format->add(json, sv_input_name, "BYTES", 0);
    sl_json_end_array(json);
    sl_json_begin_array(sl_json_key(json, format->outputs));
    for (int i = 0; i < SV_OUTPUTS && has_tensors; i++) {
        const struct sv_output_row *row = &sv_output_rows[i];
        if (sv_output_is_of((enum sv_output_kind)i, info) && !row->is_extra)
            format->add(json, sv_output_names[i], row->datatype, row->has_columns ? outputs : 0);
    }
    sl_json_end_array(json);
}

static void add_parameters(struct sl_json_writer *json, const struct sl_model_info *info)
{
    sl_json_add(json, "{'labels':");
    sl_json_add_strings(json, info->labels, info->classes);
    if (info->problem_type)
        sl_json_add(json, "'problem_type':%s", info->problem_type);
    sv_model_write_abilities(sl_json_key(json, "abilities"), info);
    sl_json_add(json, "'takes_pairs':%i,'max_input_length':%d,'gate':%s}", info->takes_pairs,
                info->context, info->gate);
}

static void add_platform(struct sl_json_writer *json, const struct sl_model_info *info)
{
    sl_json_printf(sl_json_key(json, "platform"), "\"sluice_%s\"", info->architecture);
}

static void write_metadata(struct sl_json_writer *json, const struct sv_request *request,
                           const struct sv_model_ref *ref)
{
    const struct sl_model_info *info = sl_model_info(ref->model);
    (void)request;
    sl_json_add(json, "{'name':%s,'versions':[%s]", ref->name, ref->version);
    add_platform(json, info);
    add_tensors(json, info, &(struct tensor_format){"inputs", "outputs", add_tensor});
    add_parameters(sl_json_key(json, "parameters"), info);
    sl_json_end_object(json);
}

/* GET /v2/models/{name}[/versions/{version}] */
enum sv_progress sv_handle_model_metadata(struct sv_request *request)
{
    return sv_respond_about_model(request, SV_WANTS_ANY, write_metadata);
}

/* GET /v2/models: those that are served, as KServe lists them. */
enum sv_progress sv_handle_model_names(struct sv_request *request)
{
    struct sl_json_writer json = {.out = &request->response.body};
    struct sv_snapshot *snapshot = sv_registry_snapshot(request->server->registry);
    json.out->failed = !snapshot;
    sl_json_add(&json, "{'models':[");
    for (int i = 0; snapshot && i < snapshot->count; i++)
        if (snapshot->items[i].ref && snapshot->items[i].is_stable)
            sl_json_add_string(&json, snapshot->items[i].name);
    sl_json_add(&json, "]}");
    sv_snapshot_release(snapshot);
    return respond_json(request);
}

/* ---- a model's configuration, as Triton's extension has it ----------------------------------- */

/* Without the dimension of the batch. A tensor of one value per text has none besides: [] is
 * written as [1] and a reshape. */
static void add_dims(struct sl_json_writer *json, int columns)
{
    if (columns > 0)
        sl_json_add(json, "'dims':[%d]", columns);
    else
        sl_json_add(json, "'dims':[1],'reshape':{'shape':[]}");
}

static void add_config_tensor(struct sl_json_writer *json, const char *name, const char *datatype,
                              int columns)
{
    const char *type = strcmp(datatype, "BYTES") == 0 ? "STRING" : datatype;
    sl_json_add(json, "{'name':%s", name);
    sl_json_printf(sl_json_key(json, "data_type"), "\"TYPE_%s\"", type);
    add_dims(json, columns);
    sl_json_end_object(json);
}

static void write_config(struct sl_json_writer *json, const struct sv_request *request,
                         const struct sv_model_ref *ref)
{
    const struct sl_model_info *info = sl_model_info(ref->model);
    const bool has_tensors = sv_classify_outputs(info) > 0;
    sl_json_add(json, "{'name':%s", ref->name);
    add_platform(json, info);
    sl_json_add(json, "'max_batch_size':%lld",
                (long long)(has_tensors ? request->server->options->max_client_batch_size : 0));
    add_tensors(json, info, &(struct tensor_format){"input", "output", add_config_tensor});
    sl_json_end_object(json);
}

/* GET /v2/models/{name}[/versions/{version}]/config */
enum sv_progress sv_handle_model_config(struct sv_request *request)
{
    return sv_respond_about_model(request, SV_WANTS_ANY, write_config);
}

/* ---- readiness ------------------------------------------------------------------------------- */

static void write_ready(struct sl_json_writer *json, const struct sv_request *request,
                        const struct sv_model_ref *ref)
{
    (void)request;
    sl_json_add(json, "{'name':%s,'ready':true}", ref->name);
}

/* GET /v2/models/{name}[/versions/{version}]/ready: whatever other models are. */
enum sv_progress sv_handle_model_ready(struct sv_request *request)
{
    struct sv_error error;
    if (!sv_request_is_accepted(request, &error))
        return sv_request_fail(request, &error);
    return sv_respond_about_model(request, SV_WANTS_ANY, write_ready);
}

/* ---- statistics, as Triton's extension has them ---------------------------------------------- */

static const struct sv_duration never;

static void add_duration(struct sl_json_writer *json, const char *name,
                         const struct sv_duration *duration)
{
    sl_json_add(json, "%s:{'count':%lld,'ns':%lld}", name, (long long)duration->count,
                (long long)duration->ns);
}

static void add_request_stats(struct sl_json_writer *json,
                              const struct sv_classification_stats *stats)
{
    sl_json_begin_object(json);
    add_duration(json, "success", &stats->success);
    add_duration(json, "fail", &stats->fail);
    add_duration(json, "queue", &stats->queue);
    add_duration(json, "compute_input", &stats->encode);
    add_duration(json, "compute_infer", &stats->compute);
    add_duration(json, "compute_output", &never);
    add_duration(json, "cache_hit", &never);
    add_duration(json, "cache_miss", &never);
    sl_json_end_object(json);
}

static void add_batch_stats(struct sl_json_writer *json,
                            const struct sv_classification_stats *stats)
{
    sl_json_begin_array(json);
    for (int size = 1; size <= stats->size_max; size++) {
        if (stats->by_size[size].count == 0)
            continue;
        sl_json_add(json, "{'batch_size':%d", size);
        add_duration(json, "compute_input", &never);
        add_duration(json, "compute_infer", &stats->by_size[size]);
        add_duration(json, "compute_output", &never);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

static void add_stats(struct sl_json_writer *json, struct sv_scheduler *scheduler,
                      const struct sv_model_ref *ref)
{
    struct sv_classification_stats stats;
    if (!sv_scheduler_stats(scheduler, ref, &stats)) {
        json->out->failed = true;
        return;
    }
    sl_json_add(json,
                "{'name':%s,'version':%s,'last_inference':%lld,'inference_count':%lld,"
                "'execution_count':%lld,'inference_stats':",
                ref->name, ref->version, (long long)stats.last_ms, (long long)stats.items,
                (long long)stats.batches);
    add_request_stats(json, &stats);
    add_batch_stats(sl_json_key(json, "batch_stats"), &stats);
    sl_json_end_object(json);
    free(stats.by_size);
}

/* GET /v2/models/stats: of all models but those that generate texts. */
enum sv_progress sv_handle_all_stats(struct sv_request *request)
{
    struct sl_json_writer json = {.out = &request->response.body};
    struct sv_snapshot *snapshot = sv_registry_snapshot(request->server->registry);
    json.out->failed = !snapshot;
    sl_json_add(&json, "{'model_stats':[");
    for (int i = 0; snapshot && i < snapshot->count; i++) {
        const struct sv_model_ref *ref = snapshot->items[i].ref;
        if (ref && !sl_model_info(ref->model)->generates)
            add_stats(&json, request->server->scheduler, ref);
    }
    sl_json_add(&json, "]}");
    sv_snapshot_release(snapshot);
    return respond_json(request);
}

static void write_stats(struct sl_json_writer *json, const struct sv_request *request,
                        const struct sv_model_ref *ref)
{
    sl_json_add(json, "{'model_stats':[");
    add_stats(json, request->server->scheduler, ref);
    sl_json_add(json, "]}");
}

/* GET /v2/models/{name}[/versions/{version}]/stats */
enum sv_progress sv_handle_stats(struct sv_request *request)
{
    return sv_respond_about_model(request, SV_WANTS_READER, write_stats);
}

/* ---- repository ------------------------------------------------------------------------------ */

static bool read_index(const struct sv_request *request, struct sv_index_params *params,
                       struct sv_error *error)
{
    *params = (struct sv_index_params){0};
    if (request->transport->header(request->connection, "Inference-Header-Content-Length"))
        return sv_fail(error, SV_UNSUPPORTED_PARAMETER, NULL,
                       "Binary tensors are not supported here; send JSON, without the header "
                       "Inference-Header-Content-Length.");
    return sv_registry_params_read(&request->body, sv_index_fields, params, error);
}

/* The words of Triton's extension. */
static const char *repository_state(enum sv_version_state state)
{
    switch (state) {
    case SV_VERSION_READY: return "READY";
    case SV_VERSION_LOADING: return "LOADING";
    case SV_VERSION_DRAINING: return "UNLOADING";
    case SV_VERSION_UNLOADED:
    case SV_VERSION_FAILED:
    case SV_VERSION_STATES: break;
    }
    return "UNAVAILABLE";
}

static void add_entry(struct sl_json_writer *json, const char *name, const char *version,
                      enum sv_version_state state, const char *reason)
{
    sl_json_add(json, "{'name':%s,'version':%s,'state':%s,'reason':%s}", name, version,
                repository_state(state), reason);
}

/* POST /v2/repository/index */
enum sv_progress sv_handle_repository_index(struct sv_request *request)
{
    struct sv_error error;
    struct sv_index_params params;
    struct sl_json_writer json = {.out = &request->response.body};
    if (!read_index(request, &params, &error))
        return sv_request_fail(request, &error);
    struct sv_snapshot *snapshot = sv_registry_snapshot(request->server->registry);
    json.out->failed = !snapshot;
    sl_json_begin_array(&json);
    for (int i = 0; snapshot && i < snapshot->count; i++) {
        const struct sv_version_info *info = &snapshot->items[i];
        bool says_nothing = info->state == SV_VERSION_UNLOADED && !info->reason[0];
        if (!params.ready || info->ref)
            add_entry(&json, info->name, info->version, info->state,
                      says_nothing ? "unloaded" : info->reason);
    }
    for (int i = 0; snapshot && !params.ready && i < snapshot->ignored_count; i++) {
        const struct sv_ignored *ignored = &snapshot->ignored[i];
        /* Without a version if the whole directory of a model is ignored. */
        add_entry(&json, ignored->model, ignored->version, SV_VERSION_FAILED, ignored->reason);
    }
    sl_json_end_array(&json);
    sv_snapshot_release(snapshot);
    return respond_json(request);
}
