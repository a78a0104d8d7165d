/* model_resolver.c - finds the model that a request means: the one it names, or the default. */
#include "api/model_resolver.h"
#include "core/options.h"
#include "json/tokenize_options.h"

#include "sluice/model.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool classifies(const struct sv_served *served)
{
    return sl_model_facts(sv_served_model(served)).task == SL_TASK_CLASSIFICATION;
}

static void name_call(struct sv_call *call, const struct sv_served *served)
{
    (void)snprintf(call->model, sizeof call->model, "%s", sv_served_name(served));
    (void)snprintf(call->version, sizeof call->version, "%s", sv_served_version(served));
}

const char *sv_versioned_name(const struct sv_call *call, char name[static SV_PATH_MAX])
{
    const char *version = call->arguments[1];
    int length =
        snprintf(name, SV_PATH_MAX, version[0] ? "%s@%s" : "%s", call->arguments[0], version);
    assert(length >= 0);
    assert(length < SV_PATH_MAX); /* both were in a path together with more */
    (void)length;
    return name;
}

/* No model is called so; one may be but for the version. */
static void refuse_unknown(const struct sv_call *call, const char *name, struct sv_problem *problem)
{
    struct sl_err err;
    char model[SV_PATH_MAX];
    (void)snprintf(model, sizeof model, "%.*s", (int)strcspn(name, "@"), name);
    struct sv_served *served = sv_registry_acquire(call->server->registry, model, &err);
    if (served)
        (void)sv_refuse(problem, SV_NO_MODEL, "model",
                        "The model '%s' does not exist: only version %s of '%s' is served.", name,
                        sv_served_version(served), model);
    else
        (void)sv_refuse(problem, SV_NO_MODEL, "model",
                        "The model '%s' does not exist; GET /v1/models lists those that do. Models "
                        "are loaded when the daemon starts.",
                        name);
    sv_served_release(served);
}

/* A model that did not load is there, but not ready: its caller may come again. */
static void refuse_name(const struct sv_call *call, const char *name, struct sv_problem *problem)
{
    struct sv_missing missing;
    if (!sv_registry_find_missing(call->server->registry, name, &missing)) {
        refuse_unknown(call, name, problem);
        return;
    }
    (void)sv_refuse(problem, SV_NOT_READY, "model", "The model '%s' could not be loaded: %s.", name,
                    missing.reason);
    problem->retry_ms = 1000;
}

struct sv_served *sv_select(struct sv_call *call, const char *name, struct sv_problem *problem)
{
    struct sl_err err;
    struct sv_served *served = sv_registry_acquire(call->server->registry, name, &err);
    if (served)
        name_call(call, served);
    else
        refuse_name(call, name, problem);
    return served;
}

/* ---- what goes without saying ---------------------------------------------------------------- */

/* The only model, or only classifier, there is; else NULL, and their names in the problem. */
static struct sv_served *select_only(struct sv_call *call, bool classifiers,
                                     struct sv_problem *problem)
{
    struct sv_served *found = NULL, *served;
    char names[512] = "";
    int count = 0;
    for (int i = 0; (served = sv_registry_acquire_at(call->server->registry, i)); i++) {
        if (!classifiers || classifies(served)) {
            sv_list_add(names, sizeof names, sv_served_name(served));
            if (count++ == 0)
                found = sv_served_acquire(served);
        }
        sv_served_release(served);
    }
    if (count == 1) {
        name_call(call, found);
        return found;
    }
    sv_served_release(found);
    if (count == 0)
        (void)sv_refuse(problem, SV_NO_MODEL, "model",
                        "No %s is served. Train one into the store with `sluice train ... %s FILE "
                        "--out <store>/<model>/1`, then restart the daemon.",
                        classifiers ? "classifier" : "model", classifiers ? "--data" : "--corpus");
    else
        (void)sv_refuse(problem, SV_MISSING, "model",
                        "Which model? There are: %s. %s The option default_classifier chooses for "
                        "those who do not say.",
                        names, sv_naming);
    return NULL;
}

/* The name in the path or the body, or else what ?model= or X-Model says; "" when nobody says. */
static bool find_name(const struct sv_call *call, const char *name, char wanted[static SV_PATH_MAX],
                      struct sv_problem *problem)
{
    static const char blanks[] = " \t"; /* around a header's value they mean nothing */
    const char *given = call->line->query(call->connection, "model");
    given = given ? given : call->line->header(call->connection, "X-Model");
    (void)snprintf(wanted, SV_PATH_MAX, "%s", name);
    if (name[0] || !given)
        return true;
    given += strspn(given, blanks);
    size_t length = strlen(given);
    while (length > 0 && strchr(blanks, given[length - 1]))
        length--;
    return sv_percent_decode(given, length, wanted, SV_PATH_MAX) ||
           sv_refuse(problem, SV_BAD_VALUE, "model",
                     "What ?model= or X-Model says is no name of a model.");
}

/* A name that is not the request's own is explained. */
static void blame_default(struct sv_problem *problem)
{
    const struct sv_problem cause = *problem;
    (void)sv_refuse(problem, cause.kind, "model",
                    "The request names no model, so the option default_classifier decides: %s",
                    cause.message);
    problem->retry_ms = cause.retry_ms;
}

static struct sv_served *select_named(struct sv_call *call, const char *wanted,
                                      struct sv_problem *problem)
{
    struct sv_served *served = sv_select(call, wanted, problem);
    if (!served || classifies(served))
        return served;
    (void)sv_refuse(problem, SV_NO_CLASSIFIER, "model",
                    "The model '%s' completes texts, it does not classify them: ask POST "
                    "/v1/completions.",
                    wanted);
    sv_served_release(served);
    return NULL;
}

static struct sv_served *select_classifier(struct sv_call *call, const char *wanted,
                                           struct sv_problem *problem)
{
    const char *otherwise = call->server->options->default_classifier;
    if (wanted[0])
        return select_named(call, wanted, problem);
    if (!otherwise[0])
        return select_only(call, true, problem);
    struct sv_served *served = select_named(call, otherwise, problem);
    if (!served)
        blame_default(problem);
    return served;
}

struct sv_served *sv_select_classifier(struct sv_call *call, const char *name,
                                       struct sv_problem *problem)
{
    char wanted[SV_PATH_MAX];
    return find_name(call, name, wanted, problem) ? select_classifier(call, wanted, problem) : NULL;
}

struct sv_served *sv_select_any(struct sv_call *call, const char *name, struct sv_problem *problem)
{
    char wanted[SV_PATH_MAX];
    if (!find_name(call, name, wanted, problem))
        return NULL;
    if (wanted[0])
        return sv_select(call, wanted, problem);
    struct sv_served *served = select_classifier(call, "", problem);
    if (served || problem->kind != SV_NO_MODEL || call->server->options->default_classifier[0])
        return served;
    return select_only(call, false, problem); /* there is no classifier */
}
