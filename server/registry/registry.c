/* registry.c - the models being served, by name. */
#include "registry/registry.h"
#include "base/clock.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/metrics.h"
#include "core/request.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DIRECTORY_MAX = 4096 };

struct sv_model_ref {
    atomic_int references;
    struct sl_model *model;
    char name[SV_MODEL_ID_MAX], version[SV_VERSION_MAX], id[SV_MODEL_ID_MAX], fingerprint[16];
};

struct sv_registry {
    struct sl_engine *engine;
    struct sv_metrics *metrics;
    pthread_mutex_t lock; /* guards what follows */
    struct sv_model_ref *slots[SV_MODELS_MAX];
    int count;
    struct sv_load_failure *failures; /* sorted by name, as the store is read */
    int failure_count;
    bool complete; /* no model failed to load; also false if a failure could not be recorded */
};

struct sv_registry *sv_registry_create(struct sl_engine *engine, struct sv_metrics *metrics,
                                       struct sl_err *err)
{
    struct sv_registry *registry = calloc(1, sizeof *registry);
    if (!registry) {
        (void)sl_fail(err, SL_NO_MEMORY, "registry");
        return NULL;
    }
    registry->complete = true;
    registry->engine = engine;
    registry->metrics = metrics;
    pthread_mutex_init(&registry->lock, NULL);
    return registry;
}

void sv_registry_destroy(struct sv_registry *registry)
{
    if (!registry)
        return;
    for (int i = 0; i < registry->count; i++)
        sv_model_ref_release(registry->slots[i]);
    pthread_mutex_destroy(&registry->lock);
    free(registry->failures);
    free(registry);
}

struct sv_model_ref *sv_model_ref_acquire(struct sv_model_ref *ref)
{
    int before = atomic_fetch_add_explicit(&ref->references, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
    return ref;
}

void sv_model_ref_release(struct sv_model_ref *ref)
{
    if (!ref || atomic_fetch_sub_explicit(&ref->references, 1, memory_order_acq_rel) > 1)
        return;
    sl_model_close(ref->model);
    free(ref);
}

static struct sv_model_ref *served_create(struct sl_engine *engine, const char *directory,
                                          const char *name, const char *version, struct sl_err *err)
{
    struct sv_model_ref *ref = calloc(1, sizeof *ref);
    if (!ref) {
        (void)sl_fail(err, SL_NO_MEMORY, "model");
        return NULL;
    }
    atomic_init(&ref->references, 1);
    ref->model = sl_model_open(engine, directory, err);
    if (!ref->model) {
        free(ref);
        return NULL;
    }
    (void)snprintf(ref->name, sizeof ref->name, "%s", name);
    (void)snprintf(ref->version, sizeof ref->version, "%s", version);
    (void)snprintf(ref->id, sizeof ref->id, "%.*s@%s", SV_MODEL_NAME_BYTES_MAX, name, version);
    (void)snprintf(ref->fingerprint, sizeof ref->fingerprint, "fp_%.12s",
                   sl_model_info(ref->model)->sha256);
    return ref;
}

static void record_metrics(struct sv_metrics *metrics, const char *name, const char *version,
                           const struct sv_model_ref *ref, double seconds)
{
    sv_metric_set(
        sv_metrics_series(metrics, SV_METRIC_MODEL_READY, (const char *const[]){name, version}),
        ref != NULL);
    if (!ref)
        return;
    const char *sha256 = sl_model_info(ref->model)->sha256;
    sv_metric_set(sv_metrics_series(metrics, SV_METRIC_MODEL_INFO,
                                    (const char *const[]){name, version, sha256}),
                  1);
    sv_metric_set(
        sv_metrics_series(metrics, SV_METRIC_LOAD_SECONDS, (const char *const[]){name, version}),
        seconds);
}

/* Takes the reference. */
static bool publish(struct sv_registry *registry, struct sv_model_ref *ref)
{
    pthread_mutex_lock(&registry->lock);
    bool fits = ref && registry->count < SV_MODELS_MAX;
    if (fits)
        registry->slots[registry->count++] = ref;
    pthread_mutex_unlock(&registry->lock);
    if (!fits)
        sv_model_ref_release(ref);
    return fits;
}

/* Clients see paths relative to the store, not where the store is. */
static void describe(const char *store, const struct sl_err *err, char reason[static SV_REASON_MAX])
{
    size_t bytes = strlen(store);
    bool inside = strncmp(err->path, store, bytes) == 0 && err->path[bytes] == '/';
    (void)snprintf(reason, SV_REASON_MAX, "%s%s%s", inside ? err->path + bytes + 1 : "",
                   inside ? ": " : "", sl_err_reason(err));
}

/* reason: for clients; detail: for the log. */
static void record_load_failure(struct sv_registry *registry, const char *name, const char *version,
                                const char *reason, const char *detail)
{
    pthread_mutex_lock(&registry->lock);
    size_t count = (size_t)registry->failure_count;
    struct sv_load_failure *more = realloc(registry->failures, (count + 1) * sizeof *more);
    registry->complete = false;
    if (more) {
        registry->failures = more;
        registry->failure_count++;
        (void)snprintf(more[count].name, sizeof more->name, "%s", name);
        (void)snprintf(more[count].version, sizeof more->version, "%s", version);
        (void)snprintf(more[count].reason, sizeof more->reason, "%s", reason);
    }
    pthread_mutex_unlock(&registry->lock);
    SV_LOG(SV_LOG_ERROR, "model not loaded", sv_str("model", name), sv_str("version", version),
           sv_str("reason", detail));
}

/* What is wrong with a model's name, or NULL. Names are used in URLs, labels and paths. */
static const char *check_name(const char *name, char reason[static SV_REASON_MAX])
{
    static const char accepted[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "-_.";
    if (name[0] == '.' || name[strspn(name, accepted)] != '\0')
        return "a model name may hold only letters, digits, '-', '_' and '.'";
    (void)snprintf(reason, SV_REASON_MAX, "a model name has at most %d characters",
                   SV_MODEL_NAME_BYTES_MAX);
    return strlen(name) > SV_MODEL_NAME_BYTES_MAX ? reason : NULL;
}

static void load_version(struct sv_registry *registry, const char *store, const char *name,
                         const char *found)
{
    char directory[DIRECTORY_MAX], version[SV_VERSION_MAX], reason[SV_REASON_MAX];
    (void)snprintf(directory, sizeof directory, "%s/%s/%s", store, name, found);
    (void)snprintf(version, sizeof version, "%ld", sl_version_parse(found));
    const char *fault = check_name(name, reason);
    if (fault) {
        record_load_failure(registry, name, version, fault, fault);
        return;
    }
    struct sl_err err = {.text = "too many models"};
    int64_t began = sl_now_ns();
    struct sv_model_ref *ref = served_create(registry->engine, directory, name, version, &err);
    double seconds = 1e-9 * (double)(sl_now_ns() - began);
    record_metrics(registry->metrics, name, version, ref, seconds);
    if (publish(registry, ref))
        SV_LOG(SV_LOG_INFO, "model loaded", sv_str("model", name), sv_str("version", version),
               sv_int("parameters", sl_model_info(ref->model)->parameters),
               sv_int("ms", (int64_t)(seconds * 1e3)));
    else {
        describe(store, &err, reason);
        record_load_failure(registry, name, version, reason, err.text);
    }
}

/* Files in the store are ignored; a directory was probably meant to be a model. */
static void warn_no_version(const char *directory)
{
    struct stat status;
    if (stat(directory, &status) == 0 && S_ISDIR(status.st_mode))
        SV_LOG(SV_LOG_WARN, "directory without a model version", sv_str("directory", directory),
               sv_str("accepted", "<store>/<model>/<number from 1>"));
}

static void load_model(struct sv_registry *registry, const char *store, const char *name)
{
    char directory[DIRECTORY_MAX], found[SL_VERSION_DIGITS_MAX + 1] = "";
    (void)snprintf(directory, sizeof directory, "%s/%s", store, name);
    if (sl_version_latest(directory, found) > 0)
        load_version(registry, store, name, found);
    else
        warn_no_version(directory);
}

static bool fail_store(const char *store, struct sl_err *err)
{
    return sl_fail(err, SL_IO,
                   "cannot read the model store '%s': %s; set another with --store or SLUICE_STORE",
                   store, strerrordesc_np(errno));
}

bool sv_registry_check_store(const char *store, struct sl_err *err)
{
    DIR *entries = opendir(store);
    if (!entries)
        return fail_store(store, err);
    (void)closedir(entries);
    return true;
}

bool sv_registry_load(struct sv_registry *registry, const char *store, struct sl_err *err)
{
    struct dirent **entries;
    int count = scandir(store, &entries, NULL, alphasort);
    if (count < 0)
        return fail_store(store, err);
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.')
            load_model(registry, store, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (registry->count == 0)
        SV_LOG(SV_LOG_WARN, "no model in the store", sv_str("store", store));
    return true;
}

bool sv_registry_is_complete(struct sv_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    bool complete = registry->count > 0 && registry->complete;
    pthread_mutex_unlock(&registry->lock);
    return complete;
}

bool sv_registry_load_failure_at(struct sv_registry *registry, int index,
                                 struct sv_load_failure *failures)
{
    pthread_mutex_lock(&registry->lock);
    bool found = index < registry->failure_count;
    if (found)
        *failures = registry->failures[index];
    pthread_mutex_unlock(&registry->lock);
    return found;
}

bool sv_registry_find_load_failure(struct sv_registry *registry, const char *name,
                                   struct sv_load_failure *failures)
{
    char id[sizeof failures->name + sizeof failures->version + 1];
    for (int i = 0; sv_registry_load_failure_at(registry, i, failures); i++) {
        (void)snprintf(id, sizeof id, "%s@%s", failures->name, failures->version);
        if (strcmp(failures->name, name) == 0 || strcmp(id, name) == 0)
            return true;
    }
    return false;
}

struct sv_model_ref *sv_registry_acquire(struct sv_registry *registry, const char *name,
                                         struct sl_err *err)
{
    struct sv_model_ref *found = NULL;
    pthread_mutex_lock(&registry->lock);
    for (int i = 0; i < registry->count && !found; i++) {
        const struct sv_model_ref *ref = registry->slots[i];
        if (strcmp(ref->name, name) == 0 || strcmp(ref->id, name) == 0)
            found = sv_model_ref_acquire(registry->slots[i]);
    }
    pthread_mutex_unlock(&registry->lock);
    if (!found)
        (void)sl_fail(err, SL_NOT_FOUND, "no model '%.*s'", SV_MODEL_ID_MAX, name);
    return found;
}

struct sv_model_ref *sv_registry_acquire_at(struct sv_registry *registry, int index)
{
    pthread_mutex_lock(&registry->lock);
    struct sv_model_ref *ref =
        index < registry->count ? sv_model_ref_acquire(registry->slots[index]) : NULL;
    pthread_mutex_unlock(&registry->lock);
    return ref;
}

const struct sl_model *sv_model_ref_model(const struct sv_model_ref *ref)
{
    return ref->model;
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
