/* model_resolver.c - finds the model that a request means: the one it names, or the default. */
#include "api/model_resolver.h"
#include "base/list.h"
#include "core/options.h"
#include "core/percent.h"
#include "json/tokenize_options.h"

#include "sluice/model.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool classifies(const struct sv_model_ref *ref)
{
    return sl_model_info(sv_model_ref_model(ref))->task == SL_TASK_CLASSIFICATION;
}

static void set_request_model(struct sv_request *request, const struct sv_model_ref *ref)
{
    (void)snprintf(request->model, sizeof request->model, "%s", sv_model_ref_name(ref));
    (void)snprintf(request->version, sizeof request->version, "%s", sv_model_ref_version(ref));
}

const char *sv_path_model_id(const struct sv_request *request, char name[static SV_PATH_MAX])
{
    const char *version = request->path_params[1];
    int length =
        snprintf(name, SV_PATH_MAX, version[0] ? "%s@%s" : "%s", request->path_params[0], version);
    assert(length >= 0);
    assert(length < SV_PATH_MAX); /* both come from one path */
    (void)length;
    return name;
}

/* No such model; perhaps another version of it is loaded. */
static void fail_unknown(const struct sv_request *request, const char *name, struct sv_error *error)
{
    struct sl_err err;
    char model[SV_PATH_MAX];
    (void)snprintf(model, sizeof model, "%.*s", (int)strcspn(name, "@"), name);
    struct sv_model_ref *ref = sv_registry_acquire(request->server->registry, model, &err);
    if (ref)
        (void)sv_fail(error, SV_MODEL_NOT_FOUND, "model",
                      "The model '%s' does not exist; version %s of '%s' is loaded.", name,
                      sv_model_ref_version(ref), model);
    else
        (void)sv_fail(
            error, SV_MODEL_NOT_FOUND, "model",
            "The model '%s' does not exist; GET /v1/models lists the loaded models. Models are "
            "loaded when the daemon starts.",
            name);
    sv_model_ref_release(ref);
}

/* A model that failed to load is not ready; the client may retry. */
static void fail_name(const struct sv_request *request, const char *name, struct sv_error *error)
{
    struct sv_load_failure failure;
    if (!sv_registry_find_load_failure(request->server->registry, name, &failure)) {
        fail_unknown(request, name, error);
        return;
    }
    (void)sv_fail(error, SV_NOT_READY, "model", "The model '%s' could not be loaded: %s.", name,
                  failure.reason);
    error->retry_ms = 1000;
}

struct sv_model_ref *sv_resolve_model(struct sv_request *request, const char *name,
                                      struct sv_error *error)
{
    struct sl_err err;
    struct sv_model_ref *ref = sv_registry_acquire(request->server->registry, name, &err);
    if (ref)
        set_request_model(request, ref);
    else
        fail_name(request, name, error);
    return ref;
}

/* ---- what goes without saying ---------------------------------------------------------------- */

/* The only loaded model or classifier; else NULL with the candidates in the error. */
static struct sv_model_ref *resolve_only(struct sv_request *request, bool classifiers,
                                         struct sv_error *error)
{
    struct sv_model_ref *found = NULL, *ref;
    char names[512] = "";
    int count = 0;
    for (int i = 0; (ref = sv_registry_acquire_at(request->server->registry, i)); i++) {
        if (!classifiers || classifies(ref)) {
            sl_list_add(names, sizeof names, sv_model_ref_name(ref));
            if (count++ == 0)
                found = sv_model_ref_acquire(ref);
        }
        sv_model_ref_release(ref);
    }
    if (count == 1) {
        set_request_model(request, found);
        return found;
    }
    sv_model_ref_release(found);
    if (count == 0)
        (void)sv_fail(
            error, SV_MODEL_NOT_FOUND, "model",
            "No %s is loaded. Train one into the store with `sluice train ... %s FILE --output "
            "<store>/<model>/1`, then restart the daemon.",
            classifiers ? "classifier" : "model", classifiers ? "--data" : "--corpus");
    else
        (void)sv_fail(error, SV_MISSING_PARAMETER, "model",
                      "The request names no model and several are loaded: %s. %s Or set the option "
                      "default_classifier.",
                      names, sv_model_naming_hint);
    return NULL;
}

/* The name in the path or body, else that of ?model= or X-Model, else "". */
static bool requested_name(const struct sv_request *request, const char *name,
                           char requested[static SV_PATH_MAX], struct sv_error *error)
{
    static const char blanks[] = " \t"; /* ignored around a header's value */
    const char *given = request->transport->query(request->connection, "model");
    given = given ? given : request->transport->header(request->connection, "X-Model");
    (void)snprintf(requested, SV_PATH_MAX, "%s", name);
    if (name[0] || !given)
        return true;
    given += strspn(given, blanks);
    size_t length = strlen(given);
    while (length > 0 && strchr(blanks, given[length - 1]))
        length--;
    return sv_percent_decode(given, length, requested, SV_PATH_MAX) ||
           sv_fail(error, SV_INVALID_VALUE, "model", "Invalid model name in ?model= or X-Model.");
}

/* Says where the name comes from if it is not in the request. */
static void explain_default(struct sv_error *error)
{
    const struct sv_error cause = *error;
    (void)sv_fail(error, cause.kind, "model",
                  "The request names no model, so default_classifier applies: %s", cause.message);
    error->retry_ms = cause.retry_ms;
}

static struct sv_model_ref *resolve_named(struct sv_request *request, const char *requested,
                                          struct sv_error *error)
{
    struct sv_model_ref *ref = sv_resolve_model(request, requested, error);
    if (!ref || classifies(ref))
        return ref;
    (void)sv_fail(error, SV_NOT_A_CLASSIFIER, "model",
                  "The model '%s' is not a classifier; use POST /v1/completions.", requested);
    sv_model_ref_release(ref);
    return NULL;
}

static struct sv_model_ref *resolve_classifier(struct sv_request *request, const char *requested,
                                               struct sv_error *error)
{
    const char *default_name = request->server->options->default_classifier;
    if (requested[0])
        return resolve_named(request, requested, error);
    if (!default_name[0])
        return resolve_only(request, true, error);
    struct sv_model_ref *ref = resolve_named(request, default_name, error);
    if (!ref)
        explain_default(error);
    return ref;
}

struct sv_model_ref *sv_resolve_classifier(struct sv_request *request, const char *name,
                                           struct sv_error *error)
{
    char requested[SV_PATH_MAX];
    return requested_name(request, name, requested, error)
               ? resolve_classifier(request, requested, error)
               : NULL;
}

struct sv_model_ref *sv_resolve_any_model(struct sv_request *request, const char *name,
                                          struct sv_error *error)
{
    char requested[SV_PATH_MAX];
    if (!requested_name(request, name, requested, error))
        return NULL;
    if (requested[0])
        return sv_resolve_model(request, requested, error);
    struct sv_model_ref *ref = resolve_classifier(request, "", error);
    if (ref || error->kind != SV_MODEL_NOT_FOUND || request->server->options->default_classifier[0])
        return ref;
    return resolve_only(request, false, error); /* no classifier is loaded */
}
