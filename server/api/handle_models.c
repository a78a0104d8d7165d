/* handle_models.c - GET /v1/models, /v1/models/{id} and its versions, in OpenAI's format. */
#include "api/handlers.h"
#include "api/ignored_list.h"
#include "api/model_abilities.h"
#include "api/model_resolver.h"
#include "base/json_writer.h"
#include "base/model_names.h"

#include "sluice/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- versions -------------------------------------------------------------------------------- */

/* The state of a version, without its braces. */
static void add_state(struct sl_json_writer *json, const struct sv_version_info *info)
{
    sl_json_add(json, "'version':%lld,'state':%s,'reason':%s,'labels':[",
                (long long)sl_version_parse(info->version), sv_version_state_name(info->state),
                info->reason[0] ? info->reason : NULL);
    for (int i = 0; i < info->label_count; i++)
        sl_json_add_string(json, info->labels[i]);
    sl_json_add(json, "],'pinned':%i,'canary_weight':%d", info->is_pinned, info->weight);
}

static void add_versions(struct sl_json_writer *json, const struct sv_snapshot *snapshot,
                         const char *name)
{
    sl_json_begin_array(json);
    for (int i = 0; i < snapshot->count; i++) {
        if (strcmp(snapshot->items[i].name, name) != 0)
            continue;
        sl_json_begin_object(json);
        add_state(json, &snapshot->items[i]);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

/* GET /v1/models/{id}/versions: whatever their states. */
enum sv_progress sv_handle_versions(struct sv_request *request)
{
    const char *name = request->path_params[0];
    struct sv_error error;
    int count = 0;
    struct sl_json_writer json = {.out = &request->response.body};
    struct sv_snapshot *snapshot = sv_registry_snapshot(request->server->registry);
    json.out->failed = !snapshot;
    sl_json_add(&json, "{'object':'list','data':[");
    for (int i = 0; snapshot && i < snapshot->count; i++) {
        const struct sv_version_info *info = &snapshot->items[i];
        if (strcmp(info->name, name) != 0)
            continue;
        char id[2 * SV_MODEL_ID_MAX];
        (void)snprintf(id, sizeof id, "%s@%s", info->name, info->version);
        sl_json_add(&json, "{'id':%s,'object':'model.version'", id);
        add_state(&json, info);
        sl_json_end_object(&json);
        count++;
    }
    sl_json_end_array(&json);
    count += sv_ignored_write(&json, snapshot, name);
    sl_json_end_object(&json);
    sv_snapshot_release(snapshot);
    if (!snapshot || count > 0)
        return sv_request_respond(request, 200, "application/json");
    char list[512];
    (void)sv_fail(&error, SV_MODEL_NOT_FOUND, "model",
                  "The model '%s' does not exist; the models in the store: %s.", name,
                  sv_registry_list_models(request->server->registry, false, list, sizeof list));
    return sv_request_fail(request, &error);
}

/* ---- models ---------------------------------------------------------------------------------- */

static void add_operating_point(struct sl_json_writer *json, const struct sl_model_info *info,
                                const struct sl_operating_point *point)
{
    sl_json_add(json, "{'budget':%g,'loss':%g", point->budget, point->loss);
    if (info->classes > 0 && isfinite(point->accuracy))
        sl_json_add(json, "'accuracy':%g", point->accuracy);
    sl_json_add(json, "'layer_ops_skipped':%g,%s:%g}", point->layer_ops_skipped, info->threshold,
                point->threshold);
}

static void add_operating_points(struct sl_json_writer *json, const struct sl_model_info *info)
{
    if (info->operating_point_count == 0)
        return;
    sl_json_add(json, "'operating_points':[");
    for (int i = 0; i < info->operating_point_count; i++)
        add_operating_point(json, info, &info->operating_points[i]);
    sl_json_end_array(json);
}

/* Their names. */
static void add_prompts(struct sl_json_writer *json, const struct sl_model_info *info)
{
    if (info->prompt_count == 0)
        return;
    sl_json_begin_array(sl_json_key(json, "prompts"));
    for (int i = 0; i < info->prompt_count; i++)
        sl_json_add_string(json, info->prompts[i].name);
    sl_json_end_array(json);
    if (info->default_prompt)
        sl_json_add(json, "'default_prompt_name':%s", info->default_prompt->name);
}

/* What OpenAI's API does not have. whole: also what is too long for a list of models. */
static void add_details(struct sl_json_writer *json, const struct sv_model_ref *ref,
                        const struct sv_snapshot *snapshot, bool whole)
{
    const struct sl_model_info *info = sl_model_info(ref->model);
    static const char *const tasks[] = {[SL_TASK_COMPLETION] = "completion",
                                        [SL_TASK_CLASSIFICATION] = "classification",
                                        [SL_TASK_PRETRAINING] = "embedding",
                                        [SL_TASK_TOKEN_CLASSIFICATION] = "token_classification",
                                        [SL_TASK_TRANSLATION] = "translation"};
    sl_json_add(json, "{'version':%s,'versions':", ref->version);
    add_versions(json, snapshot, ref->name);
    sl_json_add(json,
                "'architecture':%s,'paper':%s,'task':%s,'parameters':%lld,'buffers':%lld,"
                "'depth':%d,'width':%d,'vocab':%d,'gate':%s",
                info->architecture, info->paper, tasks[info->task], (long long)info->parameters,
                (long long)info->buffers, info->depth, info->width, info->vocab, info->gate);
    sv_model_write_abilities(sl_json_key(json, "abilities"), info);
    sl_json_add(json, "'takes_pairs':%i", info->takes_pairs);
    add_operating_points(json, info);
    sl_json_add(json, "'sha256':%s", info->sha256);
    if (info->dimensions > 0)
        sl_json_add(json, "'dimensions':%d,'pooling':%s", info->dimensions, info->pooling);
    add_prompts(json, info);
    if (info->chat_template)
        sl_json_add(json, "'chat_template':%s", info->chat_template);
    if (info->problem_type)
        sl_json_add(json, "'problem_type':%s", info->problem_type);
    if (info->classes > 0)
        sl_json_add_strings(sl_json_key(json, "labels"), info->labels, info->classes);
    if (whole && info->training)
        sl_json_add_raw(sl_json_key(json, "training"), info->training, strlen(info->training));
    sl_json_end_object(json);
}

static void add_model(struct sl_json_writer *json, const struct sv_model_ref *ref,
                      const struct sv_snapshot *snapshot, bool whole)
{
    const struct sl_model_info *info = sl_model_info(ref->model);
    sl_json_add(json,
                "{'id':%s,'object':'model','created':%lld,'owned_by':'local',"
                "'max_model_len':%d,'sluice':",
                ref->name, (long long)info->created, info->context);
    add_details(json, ref, snapshot, whole);
    sl_json_end_object(json);
}

enum sv_progress sv_handle_models(struct sv_request *request)
{
    struct sl_json_writer json = {.out = &request->response.body};
    struct sv_snapshot *snapshot = sv_registry_snapshot(request->server->registry);
    json.out->failed = !snapshot;
    sl_json_add(&json, "{'object':'list','data':[");
    for (int i = 0; snapshot && i < snapshot->count; i++)
        if (snapshot->items[i].ref && snapshot->items[i].is_stable)
            add_model(&json, snapshot->items[i].ref, snapshot, false);
    sl_json_add(&json, "]}");
    sv_snapshot_release(snapshot);
    return sv_request_respond(request, 200, "application/json");
}

static void write_model(struct sl_json_writer *json, const struct sv_request *request,
                        const struct sv_model_ref *ref)
{
    struct sv_snapshot *snapshot = sv_registry_snapshot(request->server->registry);
    json->out->failed = !snapshot;
    if (snapshot)
        add_model(json, ref, snapshot, true);
    sv_snapshot_release(snapshot);
}

enum sv_progress sv_handle_model(struct sv_request *request)
{
    return sv_respond_about_model(request, SV_WANTS_ANY, write_model);
}
