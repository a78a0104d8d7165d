/* model_resolver.c - finds the model that a request means: the one it names, or the default. */
#include "api/model_resolver.h"
#include "api/model_abilities.h"
#include "base/comma_list.h"
#include "base/model_names.h"
#include "core/options.h"
#include "core/percent_encoding.h"
#include "http/request_router.h"
#include "params/tokenize_options.h"

#include "sluice/model.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SV_ANY_ABILITY (~0u)

/* What a request needs of its model, with words for messages. */
struct wanted {
    unsigned abilities; /* one of these bits, by enum sv_ability */
    bool has_default;   /* the option default_classifier names one */
    const char *name;
    enum sv_error_kind error;
    const char *lacks;    /* of a model that is not it */
    const char *training; /* how to make one */
};

static const struct wanted rows[SV_WANTED_MODELS] = {
    [SV_WANTS_CLASSIFIER] =
        {
            .abilities = 1u << SV_CLASSIFIES,
            .has_default = true,
            .name = "classifier",
            .error = SV_NOT_A_CLASSIFIER,
            .lacks = "is not a classifier",
            .training = "Train one into the store with `sluice train ... --data FILE --output "
                        "<store>/<model>/1`, then load it with `sluicectl load <model>`.",
        },
    [SV_WANTS_EMBEDDINGS] =
        {
            .abilities = 1u << SV_EMBEDS,
            .name = "model that gives embeddings",
            .error = SV_NO_EMBEDDINGS,
            .lacks = "gives no embeddings",
            .training = "Copy one into the store, such as models/base of Sluice, then load it with "
                        "`sluicectl load <model>`.",
        },
    [SV_WANTS_RERANKER] =
        {
            .abilities = 1u << SV_RANKS,
            .name = "reranker",
            .error = SV_NOT_A_RERANKER,
            .lacks = "is not a reranker",
            .training = "Copy one into the store, a cross-encoder of Hugging Face's with one "
                        "label, then load it with `sluicectl load <model>`.",
        },
    [SV_WANTS_SPARSE_EMBEDDINGS] =
        {
            .abilities = 1u << SV_EMBEDS_SPARSELY,
            .name = "model that gives sparse embeddings",
            .error = SV_NO_EMBEDDINGS,
            .lacks = "gives no sparse embeddings",
            .training = "Copy one into the store, a masked language model such as SPLADE of "
                        "Hugging Face's, then load it with `sluicectl load <model>`.",
        },
    [SV_WANTS_TOKEN_EMBEDDINGS] =
        {
            .abilities = 1u << SV_EMBEDS_TOKENS,
            .name = "model that gives embeddings of tokens",
            .error = SV_NO_EMBEDDINGS,
            .lacks = "gives no embeddings of tokens",
            .training = "Copy one into the store, an encoder of Hugging Face's, then load it with "
                        "`sluicectl load <model>`.",
        },
    [SV_WANTS_TEI_MODEL] =
        {
            .abilities = 1u << SV_CLASSIFIES | 1u << SV_RANKS | 1u << SV_EMBEDS,
            .has_default = true,
            .name = "model that classifies, ranks or embeds texts",
            .error = SV_NOT_A_CLASSIFIER,
            .lacks = "does not classify, rank or embed texts",
            .training = "Copy one into the store, then load it with `sluicectl load <model>`.",
        },
    [SV_WANTS_READER] =
        {
            .abilities = ~(1u << SV_COMPLETES | 1u << SV_TRANSLATES),
            .name = "model that reads texts",
            .error = SV_NOT_A_CLASSIFIER,
            .lacks = "is not a classifier",
        },
    [SV_WANTS_ANY] =
        {
            .abilities = SV_ANY_ABILITY,
            .has_default = true,
            .name = "model",
            .training = "Train one into the store with `sluice train ... --corpus FILE --output "
                        "<store>/<model>/1`, then load it with `sluicectl load <model>`.",
        },
};

static bool is_wanted(const struct wanted *wanted, const struct sv_model_ref *ref)
{
    const struct sl_model_info *info = sl_model_info(ref->model);
    if (wanted->abilities == SV_ANY_ABILITY)
        return true;
    for (int i = 0; i < SV_ABILITIES; i++)
        if ((wanted->abilities & 1u << i) && sv_model_can(info, (enum sv_ability)i))
            return true;
    return false;
}

static void set_request_model(struct sv_request *request, const struct sv_model_ref *ref)
{
    (void)snprintf(request->model, sizeof request->model, "%s", ref->name);
    (void)snprintf(request->version, sizeof request->version, "%s", ref->version);
    sv_request_add_header(request, "x-sluice-model", "%s", ref->id);
}

const char *sv_path_model_id(const struct sv_request *request, char name[static SV_PATH_MAX])
{
    const char *version = request->path_params[1];
    const bool is_named = version[0] && strstr(request->route->path, "{version}");
    const char *separator = !is_named ? "" : sl_version_parse(version) > 0 ? "@" : ":";
    int length = snprintf(name, SV_PATH_MAX, "%s%s%s", request->path_params[0], separator,
                          is_named ? version : "");
    assert(length >= 0);
    assert(length < SV_PATH_MAX); /* both come from one path */
    (void)length;
    return name;
}

/* No such model, version or label. */
static void fail_unknown(struct sv_registry *registry, enum sv_found found,
                         const struct sv_version_info *info, const char *name,
                         struct sv_error *error)
{
    char list[512];
    const char *label = found == SV_NO_LABEL ? strchr(name, ':') + 1 : "";
    if (found == SV_NO_VERSION && info->state == SV_VERSION_READY)
        (void)sv_fail(error, SV_MODEL_NOT_FOUND, "model",
                      "The model '%s' does not exist; version %s of '%s' is loaded.", name,
                      info->version, info->name);
    else if (sl_version_parse(label) > 0)
        (void)sv_fail(error, SV_MODEL_NOT_FOUND, "model",
                      "The model '%s' does not exist: ':' is followed by a label; version %s of "
                      "'%s' is '%s@%s'.",
                      name, label, info->name, info->name, label);
    else if (found == SV_NO_LABEL)
        (void)sv_fail(error, SV_MODEL_NOT_FOUND, "model",
                      "The model '%s' does not exist: '%s' has no such label.", name, info->name);
    else
        (void)sv_fail(error, SV_MODEL_NOT_FOUND, "model",
                      "The model '%s' does not exist; loaded models: %s.", name,
                      sv_registry_list_models(registry, true, list, sizeof list));
}

/* It is in the store, but not ready. The client may retry what may become ready by itself. */
static void fail_state(const struct sv_version_info *info, const char *name, struct sv_error *error)
{
    switch (info->state) {
    case SV_VERSION_FAILED:
        (void)sv_fail(error, SV_NOT_READY, "model", "The model '%s' could not be loaded: %s.", name,
                      info->reason);
        break;
    case SV_VERSION_LOADING:
        (void)sv_fail(error, SV_NOT_READY, "model", "The model '%s' is being loaded.", name);
        break;
    case SV_VERSION_READY: /* it has just become ready */
    case SV_VERSION_DRAINING:
    case SV_VERSION_UNLOADED:
    case SV_VERSION_STATES:
        (void)sv_fail(
            error, SV_MODEL_NOT_FOUND, "model",
            "The model '%s' is not loaded; an administrator can load it: `sluicectl load %s@%s`.",
            name, info->name, info->version);
        break;
    }
}

/* Only what models compute is split. What is asked about a model is about its stable version. */
static int share_of(const struct sv_request *request)
{
    return strcmp(request->route->method, "POST") == 0 ? SV_SHARE_NEXT : SV_SHARE_MAX;
}

struct sv_model_ref *sv_resolve_model(struct sv_request *request, const char *name,
                                      struct sv_error *error)
{
    struct sv_registry *registry = request->server->registry;
    struct sv_version_info info;
    struct sv_model_ref *ref = sv_registry_acquire(registry, name, share_of(request));
    if (ref) {
        set_request_model(request, ref);
        return ref;
    }
    enum sv_found found = sv_registry_find(registry, name, &info);
    if (found == SV_FOUND)
        fail_state(&info, name, error);
    else
        fail_unknown(registry, found, &info, name, error);
    return NULL;
}

/* ---- what goes without saying ---------------------------------------------------------------- */

struct candidates {
    int count;
    char first[SV_MODEL_ID_MAX], names[512];
};

static struct sv_model_ref *fail_only(int count, const struct wanted *wanted, const char *names,
                                      struct sv_error *error)
{
    if (count == 0)
        (void)sv_fail(error, SV_MODEL_NOT_FOUND, "model", "No %s is loaded. %s", wanted->name,
                      wanted->training);
    else
        (void)sv_fail(error, SV_MISSING_PARAMETER, "model",
                      "The request names no model and several are loaded: %s. %s%s", names,
                      sv_model_naming_hint,
                      wanted->has_default ? " Or set the option default_classifier." : "");
    return NULL;
}

/* Lists the served models of that kind, or only those that are for it above all. Returns how many
 * there are. */
static int list_wanted(const struct sv_snapshot *snapshot, const struct wanted *wanted,
                       bool above_all, struct candidates *found)
{
    *found = (struct candidates){0};
    for (int i = 0; i < snapshot->count; i++) {
        const struct sv_version_info *info = &snapshot->items[i];
        if (!info->ref || !info->is_stable || !is_wanted(wanted, info->ref))
            continue;
        const enum sv_ability main = sv_model_main_ability(sl_model_info(info->ref->model));
        if (above_all && !(wanted->abilities & 1u << main))
            continue;
        sl_list_add(found->names, sizeof found->names, info->name);
        if (found->count++ == 0)
            memcpy(found->first, info->name, sizeof found->first);
    }
    return found->count;
}

/* The only loaded model of that kind, preferably one that is for it above all; else NULL with the
 * candidates in the error. */
static struct sv_model_ref *resolve_only(struct sv_request *request, const struct wanted *wanted,
                                         struct sv_error *error)
{
    struct candidates found;
    struct sv_snapshot *snapshot = sv_registry_snapshot(request->server->registry);
    if (!snapshot) {
        (void)sv_fail_no_memory(error);
        return NULL;
    }
    if (list_wanted(snapshot, wanted, true, &found) == 0)
        (void)list_wanted(snapshot, wanted, false, &found);
    sv_snapshot_release(snapshot);
    return found.count == 1 ? sv_resolve_model(request, found.first, error)
                            : fail_only(found.count, wanted, found.names, error);
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
}

static struct sv_model_ref *resolve_named(struct sv_request *request, const char *requested,
                                          const struct wanted *wanted, struct sv_error *error)
{
    struct sv_model_ref *ref = sv_resolve_model(request, requested, error);
    if (!ref || is_wanted(wanted, ref))
        return ref;
    (void)sv_fail(error, wanted->error, "model", "The model '%s' %s; %s.", requested, wanted->lacks,
                  sv_model_use(sl_model_info(ref->model)));
    sv_model_ref_release(ref);
    return NULL;
}

static struct sv_model_ref *resolve_default(struct sv_request *request, const struct wanted *wanted,
                                            struct sv_error *error)
{
    const char *name = request->server->options->default_classifier;
    struct sv_model_ref *ref = resolve_named(request, name, wanted, error);
    if (!ref)
        explain_default(error);
    return ref;
}

struct sv_model_ref *sv_resolve(struct sv_request *request, const char *name,
                                enum sv_wanted_model wants, struct sv_error *error)
{
    const struct wanted *wanted = &rows[wants];
    char requested[SV_PATH_MAX];
    if (!requested_name(request, name, requested, error))
        return NULL;
    if (requested[0])
        return resolve_named(request, requested, wanted, error);
    if (wanted->has_default && request->server->options->default_classifier[0])
        return resolve_default(request, &rows[SV_WANTS_CLASSIFIER], error);
    struct sv_model_ref *ref =
        wanted->has_default ? resolve_only(request, &rows[SV_WANTS_CLASSIFIER], error) : NULL;
    if (ref || (wanted->has_default && error->kind != SV_MODEL_NOT_FOUND))
        return ref;
    return resolve_only(request, wanted, error);
}

enum sv_progress sv_respond_about_model(struct sv_request *request, enum sv_wanted_model wants,
                                        void (*write)(struct sl_json_writer *json,
                                                      const struct sv_request *request,
                                                      const struct sv_model_ref *ref))
{
    struct sv_error error;
    char name[SV_PATH_MAX];
    struct sv_model_ref *ref = sv_resolve(request, sv_path_model_id(request, name), wants, &error);
    if (!ref)
        return sv_request_fail(request, &error);
    write(&(struct sl_json_writer){.out = &request->response.body}, request, ref);
    sv_model_ref_release(ref);
    return sv_request_respond(request, 200, "application/json");
}
