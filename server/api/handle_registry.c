/* handle_registry.c - changes of models: versions loaded and unloaded, labels moved.
 *
 * The registry's thread makes them while the request waits, or after its response if it asked for
 * ?async=true. Each is recorded in the audit log, also if it failed. */
#include "api/deferred_response.h"
#include "api/handlers.h"
#include "api/ignored_list.h"
#include "base/json_writer.h"
#include "params/registry_params.h"
#include "registry/registry.h"
#include "state/audit_log.h"

#include <stdio.h>
#include <string.h>

/* One change of one request. Owned by the request, which the registry holds until it is made. */
struct model_change {
    struct sv_deferred response;
    void (*respond)(struct sl_json_writer *json, const struct model_change *m);
    struct sv_change change;
    struct sv_change_result result;
};

/* ---- waiting --------------------------------------------------------------------------------- */

static void add_detail(struct sl_json_writer *json, const struct model_change *m)
{
    const struct sv_change_result *result = &m->result;
    sl_json_begin_object(json);
    if (m->change.label[0])
        sl_json_add(json, "'label':%s", m->change.label);
    if (result->error.kind != SV_OK)
        sl_json_add(json, "'error':%s", result->error.message);
    else {
        sl_json_add(json, "'version':%lld,'previous_version':%lld", (long long)result->version,
                    (long long)result->before);
        if (m->change.kind == SV_CHANGE_LABEL)
            sl_json_add(json, "'canary_weight':%d", result->weight);
    }
    sl_json_end_object(json);
}

/* On the registry's thread. */
static void finish(void *context, const struct sv_change_result *result)
{
    struct model_change *m = context;
    struct sl_buffer detail = {0};
    m->result = *result;
    add_detail(&(struct sl_json_writer){.out = &detail}, m);
    sv_audit(m->response.request, m->change.model, detail.failed ? NULL : detail.data,
             result->error.kind == SV_OK ? NULL : sv_error_code(result->error.kind));
    sl_buffer_release(&detail);
    m->response.error = result->error;
    if (result->error.kind == SV_OK)
        m->respond(&(struct sl_json_writer){.out = &m->response.object}, m);
    sv_deferred_finish(&m->response);
}

static bool is_async(const struct sv_request *request)
{
    const char *value = request->transport->query(request->connection, "async");
    return value && strcmp(value, "true") == 0;
}

/* Hands the change to the registry. `what` is copied. */
static enum sv_progress begin(struct sv_request *request, const struct model_change *what)
{
    struct sv_error error = {0};
    struct model_change *m = sv_deferred_begin(request, sizeof *m, NULL, &error);
    if (!m || !sv_request_is_accepted(request, &error))
        return sv_request_fail(request, &error);
    m->respond = what->respond;
    m->change = what->change;
    (void)sv_request_acquire(request); /* the registry's */
    if (sv_registry_request(request->server->registry, &m->change, finish, m, &error))
        return SV_PENDING;
    sv_request_release(request);
    return sv_request_fail(request, &error);
}

/* ---- what a request is about ----------------------------------------------------------------- */

static bool take_model(struct model_change *m, const char *name, struct sv_error *error)
{
    if (!sl_model_name_is_valid(name))
        return sv_fail(error, SV_MODEL_NOT_FOUND, "model",
                       "The model '%s' does not exist: " SL_MODEL_NAME_RULE ".", name);
    memcpy(m->change.model, name, strlen(name) + 1);
    return true;
}

static bool fail_unknown_version(const struct model_change *m, const char *version,
                                 struct sv_error *error)
{
    if (!sl_version_label_is_valid(version))
        return sv_fail(error, SV_MODEL_NOT_FOUND, "version",
                       "The model '%s' has no version '%s': " SL_VERSION_RULE ".", m->change.model,
                       version);
    return sv_fail(error, SV_MODEL_NOT_FOUND, "version",
                   "The model '%s' has no version or label '%s'; `sluicectl versions %s` lists "
                   "both.",
                   m->change.model, version, m->change.model);
}

/* A version by its number, which need not be known yet, or by a label; "": none. */
static bool take_version(const struct sv_request *request, struct model_change *m,
                         const char *version, struct sv_error *error)
{
    char name[SV_PATH_MAX];
    struct sv_version_info info;
    m->change.version = sl_version_parse(version);
    if (!version[0] || m->change.version > 0)
        return true;
    (void)snprintf(name, sizeof name, "%s:%s", m->change.model, version);
    if (sl_version_label_is_valid(version) &&
        sv_registry_find(request->server->registry, name, &info) == SV_FOUND) {
        m->change.version = sl_version_parse(info.version);
        return true;
    }
    return fail_unknown_version(m, version, error);
}

/* `model`, `model@version` or `model:label`. A script whose variable is empty sends `model@`: that
 * is no version, and not all of them. */
static bool take_id(const struct sv_request *request, struct model_change *m, const char *id,
                    struct sv_error *error)
{
    char name[SV_PATH_MAX];
    size_t bytes = strcspn(id, "@:");
    const char *version = id[bytes] ? id + bytes + 1 : "";
    (void)snprintf(name, sizeof name, "%.*s", (int)bytes, id);
    if (!take_model(m, name, error))
        return false;
    if (id[bytes] && !version[0])
        return fail_unknown_version(m, version, error);
    if (id[bytes] == ':' && sl_version_parse(version) > 0)
        return sv_fail(error, SV_MODEL_NOT_FOUND, "version",
                       "':' is followed by a label; version %s of '%s' is '%s@%s'.", version, name,
                       name, version);
    return take_version(request, m, version, error);
}

static bool take_label(struct model_change *m, const char *label, struct sv_error *error)
{
    if (!sl_version_label_is_valid(label))
        return sv_fail(error, SV_INVALID_VALUE, "label",
                       "Invalid label '%.64s': " SL_VERSION_LABEL_RULE ".", label);
    memcpy(m->change.label, label, strlen(label) + 1);
    return true;
}

/* ---- the Open Inference Protocol: load and unload -------------------------------------------- */

static void respond_repository(struct sl_json_writer *json, const struct model_change *m)
{
    char version[24];
    sl_json_add(json, "{'name':%s", m->change.model);
    if (m->result.version > 0) {
        (void)snprintf(version, sizeof version, "%ld", m->result.version);
        sl_json_add(json, "'version':%s", version);
    }
    sl_json_add(json, "'state':%s", m->change.kind == SV_CHANGE_LOAD ? "READY" : "UNAVAILABLE");
    if (m->result.removed_canary)
        sl_json_add(json, "'removed_canary':true");
    struct sv_snapshot *snapshot = sv_registry_snapshot(m->response.request->server->registry);
    (void)sv_ignored_write(json, snapshot, m->change.model);
    sv_snapshot_release(snapshot);
    sl_json_end_object(json);
}

/* 202: the index says what became of it. */
static enum sv_progress respond_accepted(struct sv_request *request, const struct model_change *m)
{
    struct sl_json_writer json = {.out = &request->response.body};
    sl_json_add(&json, "{'name':%s,'state':%s}", m->change.model,
                m->change.kind == SV_CHANGE_LOAD ? "LOADING" : "UNLOADING");
    return sv_request_respond(request, 202, "application/json");
}

static enum sv_progress change_repository(struct sv_request *request, struct model_change *m)
{
    struct sv_error error = {0};
    struct sv_repository_params body = {0};
    m->respond = respond_repository;
    if (!sv_registry_params_read(&request->body, sv_repository_fields, &body, &error) ||
        !take_model(m, request->path_params[0], &error) ||
        !take_version(request, m, request->path_params[1], &error))
        return sv_request_fail(request, &error);
    enum sv_progress next = begin(request, m);
    return next == SV_PENDING && is_async(request) ? respond_accepted(request, m) : next;
}

enum sv_progress sv_handle_repository_load(struct sv_request *request)
{
    return change_repository(request, &(struct model_change){.change.kind = SV_CHANGE_LOAD});
}

enum sv_progress sv_handle_repository_unload(struct sv_request *request)
{
    return change_repository(request, &(struct model_change){.change.kind = SV_CHANGE_UNLOAD});
}

/* ---- DELETE /v1/models/{id} ------------------------------------------------------------------ */

static void respond_deleted_model(struct sl_json_writer *json, const struct model_change *m)
{
    sl_json_add(json, "{'id':%s,'object':'model','deleted':true}",
                m->response.request->path_params[0]);
}

enum sv_progress sv_handle_model_delete(struct sv_request *request)
{
    struct sv_error error = {0};
    struct model_change m = {.respond = respond_deleted_model, .change.kind = SV_CHANGE_UNLOAD};
    if (!take_id(request, &m, request->path_params[0], &error))
        return sv_request_fail(request, &error);
    return begin(request, &m);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static void respond_label(struct sl_json_writer *json, const struct model_change *m)
{
    bool is_rollback = m->change.kind == SV_CHANGE_ROLL_BACK;
    const char *label = is_rollback ? "stable" : m->change.label;
    sl_json_add(json, "{'object':'model.label','model':%s,'label':%s", m->change.model, label);
    sl_json_add_positive(sl_json_key(json, "version"), m->result.version);
    sl_json_add_positive(sl_json_key(json, "previous_version"), m->result.before);
    if (strcmp(label, "canary") == 0)
        sl_json_add(json, "'weight':%d", m->result.weight);
    if (strcmp(label, "stable") == 0)
        sl_json_add(json, "'removed_canary':%i", m->result.removed_canary);
    sl_json_end_object(json);
}

/* PUT /v1/models/{id}/labels/{label} */
enum sv_progress sv_handle_label_set(struct sv_request *request)
{
    struct sv_error error = {0};
    struct sv_label_params body = {0};
    struct model_change m = {.respond = respond_label, .change.kind = SV_CHANGE_LABEL};
    if (!sv_registry_params_read(&request->body, sv_label_fields, &body, &error) ||
        !take_model(&m, request->path_params[0], &error) ||
        !take_label(&m, request->path_params[1], &error))
        return sv_request_fail(request, &error);
    m.change.version = (long)body.version;
    m.change.weight = body.has_weight ? (int)body.weight : SV_WEIGHT_KEPT;
    return begin(request, &m);
}

static void respond_deleted_label(struct sl_json_writer *json, const struct model_change *m)
{
    sl_json_add(json, "{'id':%s,'object':'model.label','deleted':true}", m->change.label);
}

/* DELETE /v1/models/{id}/labels/{label} */
enum sv_progress sv_handle_label_delete(struct sv_request *request)
{
    struct sv_error error = {0};
    struct model_change m = {.respond = respond_deleted_label, .change.kind = SV_CHANGE_UNLABEL};
    if (!take_model(&m, request->path_params[0], &error) ||
        !take_label(&m, request->path_params[1], &error))
        return sv_request_fail(request, &error);
    return begin(request, &m);
}

/* POST /v1/models/{id}/rollback */
enum sv_progress sv_handle_rollback(struct sv_request *request)
{
    struct sv_error error = {0};
    struct model_change m = {.respond = respond_label, .change.kind = SV_CHANGE_ROLL_BACK};
    if (!take_model(&m, request->path_params[0], &error))
        return sv_request_fail(request, &error);
    return begin(request, &m);
}
