/* registry.h - the models being served, by name.
 *
 * A loaded model never changes. A reader holds a reference while it computes, and the last release
 * closes the model, so a request never sees two versions.
 *
 * Any thread may acquire and release. */
#pragma once

#include "core/limits.h"
#include "sluice/err.h"
#include "sluice/model.h"

#include <stdbool.h>

struct sv_registry;
struct sv_metrics;
struct sv_model_ref; /* one version of one model */

/* The engine and the metrics must outlive it. */
struct sv_registry *sv_registry_create(struct sl_engine *engine, struct sv_metrics *metrics,
                                       struct sl_err *err) SL_MUST_CHECK;
void sv_registry_destroy(struct sv_registry *registry); /* NULL is fine */

/* Checks that the store is a directory that can be read. */
bool sv_registry_check_store(const char *store, struct sl_err *err) SL_MUST_CHECK;
/* Loads the highest version of every model in the store. A model that fails to load, or has an
 * invalid name, is logged and recorded as a load failure; the registry is then not complete. A
 * directory without a version is logged and skipped. Fails if the store cannot be read. */
bool sv_registry_load(struct sv_registry *registry, const char *store, struct sl_err *err)
    SL_MUST_CHECK;
/* At least one model is loaded, and none failed. */
bool sv_registry_is_complete(struct sv_registry *registry);

/* A model of the store that is not loaded. */
struct sv_load_failure {
    char name[SV_MODEL_ID_MAX], version[SV_VERSION_MAX]; /* a longer name is truncated */
    char reason[SV_REASON_MAX];
};

/* By position, to list them all; false past the last. */
bool sv_registry_load_failure_at(struct sv_registry *registry, int index,
                                 struct sv_load_failure *failures);
/* By `name` or `name@version`; false when there is none. */
bool sv_registry_find_load_failure(struct sv_registry *registry, const char *name,
                                   struct sv_load_failure *failures);

/* A reference to the model `name` or `name@version`, to be released. NULL with SL_NOT_FOUND. */
struct sv_model_ref *sv_registry_acquire(struct sv_registry *registry, const char *name,
                                         struct sl_err *err) SL_MUST_CHECK;
/* The same by position, to list them all; NULL past the last. */
struct sv_model_ref *sv_registry_acquire_at(struct sv_registry *registry, int index) SL_MUST_CHECK;
struct sv_model_ref *sv_model_ref_acquire(struct sv_model_ref *ref); /* one more reference */
void sv_model_ref_release(struct sv_model_ref *ref);                 /* NULL is fine */

const struct sl_model *sv_model_ref_model(const struct sv_model_ref *ref);
const char *sv_model_ref_name(const struct sv_model_ref *ref);        /* "shakespeare" */
const char *sv_model_ref_version(const struct sv_model_ref *ref);     /* "1" */
const char *sv_model_ref_id(const struct sv_model_ref *ref);          /* "shakespeare@1" */
const char *sv_model_ref_fingerprint(const struct sv_model_ref *ref); /* "fp_0123456789ab" */
