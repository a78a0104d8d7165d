/* version.c - one version of a model, loaded: opened, given an executor, counted, closed. */
#include "registry/registry_state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIRECTORY_MAX = 4096 };

static bool attach(struct sv_model_ref *ref, struct sl_err *err)
{
    const struct sv_model_host *host = &ref->registry->options.host;
    if (!host->attach)
        return true;
    ref->executor = host->attach(host->context, ref, err);
    return ref->executor != NULL;
}

static void set_names(struct sv_model_ref *ref, const char *name, long number)
{
    ref->number = number;
    (void)snprintf(ref->name, sizeof ref->name, "%s", name);
    (void)snprintf(ref->version, sizeof ref->version, "%ld", number);
    (void)snprintf(ref->id, sizeof ref->id, "%.*s@%s", SV_MODEL_NAME_BYTES_MAX, name, ref->version);
    (void)snprintf(ref->fingerprint, sizeof ref->fingerprint, "fp_%.12s",
                   sl_model_info(ref->model)->sha256);
}

struct sv_model_ref *sv_version_open(struct sv_registry *registry, const char *name,
                                     const struct sv_version *version, struct sl_err *err)
{
    char directory[DIRECTORY_MAX];
    struct sv_model_ref *ref = calloc(1, sizeof *ref);
    if (!ref) {
        (void)sl_fail(err, SL_NO_MEMORY, "model");
        return NULL;
    }
    ref->registry = registry;
    atomic_init(&ref->references, 1);
    (void)snprintf(directory, sizeof directory, "%s/%s/%s", registry->options.store, name,
                   version->directory);
    ref->model = sl_model_open(registry->options.engine, directory, err);
    if (ref->model) {
        set_names(ref, name, version->number);
        if (attach(ref, err))
            return ref;
    }
    sv_version_close(ref);
    return NULL;
}

void sv_version_close(struct sv_model_ref *ref)
{
    const struct sv_model_host *host = &ref->registry->options.host;
    if (ref->executor)
        host->detach(host->context, ref->executor);
    sl_model_close(ref->model);
    free(ref);
}

struct sv_model_ref *sv_model_ref_acquire(struct sv_model_ref *ref)
{
    int before = atomic_fetch_add_explicit(&ref->references, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
    return ref;
}

/* The last reference goes only after the version was retired. Its executor may still be in a batch
 * that others share, so the registry's thread frees it. */
void sv_model_ref_release(struct sv_model_ref *ref)
{
    if (!ref || atomic_fetch_sub_explicit(&ref->references, 1, memory_order_acq_rel) > 1)
        return;
    struct sv_registry *registry = ref->registry;
    pthread_mutex_lock(&registry->lock);
    ref->unused = true;
    pthread_cond_signal(&registry->wakeup);
    pthread_mutex_unlock(&registry->lock);
}

const struct sl_model *sv_model_ref_model(const struct sv_model_ref *ref)
{
    return ref->model;
}

struct sv_executor *sv_model_ref_executor(const struct sv_model_ref *ref)
{
    return ref->executor;
}

const char *sv_model_ref_name(const struct sv_model_ref *ref)
{
    return ref->name;
}

const char *sv_model_ref_version(const struct sv_model_ref *ref)
{
    return ref->version;
}

const char *sv_model_ref_id(const struct sv_model_ref *ref)
{
    return ref->id;
}

const char *sv_model_ref_fingerprint(const struct sv_model_ref *ref)
{
    return ref->fingerprint;
}

const char *sv_version_state_name(enum sv_version_state state)
{
    static const char *const names[SV_VERSION_STATES] = {
        [SV_VERSION_UNLOADED] = "unloaded", [SV_VERSION_LOADING] = "loading",
        [SV_VERSION_READY] = "ready",       [SV_VERSION_DRAINING] = "draining",
        [SV_VERSION_FAILED] = "failed",
    };
    return names[state];
}
