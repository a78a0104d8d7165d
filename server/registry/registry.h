/* registry.h - the models being served: their versions, and the labels that name versions.
 *
 * A model is a directory of the store, a version a directory in it (base/model_names.h). A version
 * that is loaded never changes: a reader borrows it (struct sv_model_ref) while it computes, and
 * the last release frees it. Loading opens a version beside the one being served and then moves one
 * pointer, so no request sees two versions and none waits.
 *
 * Any thread may acquire, release and look up. The registry's own thread makes all changes, one
 * after another: other threads submit a struct sv_change and are called back. */
#pragma once

#include "core/limits.h"
#include "core/request_error.h"
#include "sluice/err.h"
#include "sluice/model.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sv_registry;
struct sv_metrics;
struct sv_executor;
struct sv_change;
struct sv_change_result;
struct sv_model_ref;

/* Runs what is loaded; serve implements it. Called by the thread that makes changes. */
struct sv_model_host {
    void *context;
    /* Makes the executor of a version and runs a first batch. NULL: see err. */
    struct sv_executor *(*attach)(void *context, struct sv_model_ref *ref, struct sl_err *err);
    /* Destroys it. There are no references to the version any more. */
    void (*detach)(void *context, struct sv_executor *executor);
    /* Ends the requests that are still running on it, with an error. */
    void (*expire)(void *context, struct sv_executor *executor);
};

struct sv_registry_options {
    const char *store; /* must outlive the registry, as must the rest */
    struct sl_engine *engine;
    struct sv_metrics *metrics;
    struct sv_model_host host; /* empty: versions are loaded and not run */
    int64_t drain_seconds; /* requests still running on a retired version end then; 0: no limit */
    int64_t poll_seconds;  /* how often to look for new versions in the store; 0: never */
    /* A version that no request without a version gets is unloaded after this time without
     * requests; 0: never. */
    int64_t idle_seconds;
    /* Called by the registry's thread after a change that no client requested. May be NULL. */
    void (*on_change)(void *context, const struct sv_change *change,
                      const struct sv_change_result *result);
    /* Called before a version is opened, by the thread that opens it. May be NULL. */
    void (*on_open)(void *context, const char *model);
    void *context;
};

/* Also starts its thread. */
struct sv_registry *sv_registry_create(const struct sv_registry_options *options,
                                       struct sl_err *err) SL_MUST_CHECK;
/* Ends the thread. Changes that wait fail, and further ones. NULL is fine. */
void sv_registry_stop(struct sv_registry *registry);
/* Stops it and frees. All references must be released, and the host must still exist. NULL is
 * fine. */
void sv_registry_destroy(struct sv_registry *registry);

/* Checks that the store is a directory that can be read. */
bool sv_registry_check_store(const char *store, struct sl_err *err) SL_MUST_CHECK;
/* Checks that the store has the model of an id such as "name@version", and that it is a classifier
 * as far as its config.json says. An empty store, or version, may be filled later. */
bool sv_registry_check_classifier(const char *store, const char *id, struct sl_err *err)
    SL_MUST_CHECK;
/* At start: for every model, loads the version that its label `stable` is pinned to, else the
 * highest one that can be loaded; and the versions that have other labels. What fails is logged and
 * recorded: then the next lower version is stable, but the pin stays. Fails only if the store
 * cannot be read. */
bool sv_registry_load(struct sv_registry *registry, struct sl_err *err) SL_MUST_CHECK;
/* Looks for new versions in the store soon. A complete one that is higher than all known before is
 * loaded and becomes stable, or if it is bad the next lower one, unless `stable` is pinned. A model
 * that is neither in the store nor in use is forgotten. */
void sv_registry_rescan(struct sv_registry *registry);
/* There is a model, and every model has a version that is served. */
bool sv_registry_is_complete(struct sv_registry *registry);

/* ---- versions being used --------------------------------------------------------------------- */

/* Requests that name no version are split by a number from 0 to 99: those below the canary's weight
 * get the canary, the others the stable version. SV_SHARE_NEXT takes the next number: of a hundred
 * such requests for a model in a row, exactly `weight` get the canary, evenly spread. */
enum { SV_SHARE_NEXT = -1, SV_SHARE_MAX = 99 };

/* One version of one model, loaded. */
struct sv_model_ref {
    struct sl_model *model;
    struct sv_executor *executor;                    /* NULL without a host */
    char name[SV_MODEL_ID_MAX], id[SV_MODEL_ID_MAX]; /* "shakespeare", "shakespeare@1" */
    char version[SV_VERSION_MAX];                    /* "1" */
    char fingerprint[16];                            /* "fp_0123456789ab" */

    /* The registry's. */
    struct sv_registry *registry;
    atomic_int references;
    long number;
    /* Under its lock, once the version is no longer published: */
    int64_t used_ns;           /* when a request last took it; set while it is published, too */
    struct sv_model_ref *next; /* in `retired` */
    int64_t deadline_ns;       /* when its requests are ended; 0: never, or it was done */
    bool unused;               /* there are no references */
};

/* A reference to what `model`, `model@version` or `model:label` means, to be released. NULL: it is
 * not loaded; sv_registry_find says more. */
struct sv_model_ref *sv_registry_acquire(struct sv_registry *registry, const char *name, int share);
struct sv_model_ref *sv_model_ref_acquire(struct sv_model_ref *ref); /* one more reference */
void sv_model_ref_release(struct sv_model_ref *ref);                 /* NULL is fine */

/* ---- what there is --------------------------------------------------------------------------- */

enum sv_version_state {
    SV_VERSION_UNLOADED, /* in the store only */
    SV_VERSION_LOADING,
    SV_VERSION_READY,
    SV_VERSION_DRAINING, /* not given to new requests; some still run on it */
    SV_VERSION_FAILED,   /* it could not be loaded */
    SV_VERSION_STATES
};

const char *sv_version_state_name(enum sv_version_state state); /* "ready" */

struct sv_version_info {
    char name[SV_MODEL_ID_MAX], version[SV_VERSION_MAX]; /* a longer name is truncated */
    enum sv_version_state state;
    char reason[SV_REASON_MAX]; /* why the last attempt to load it failed, or "" */
    char labels[SV_LABELS_MAX][SL_VERSION_LABEL_BYTES_MAX + 1];
    int label_count;
    bool is_stable, is_pinned; /* pinned: `stable` stays here when a higher version comes */
    int weight;                /* of the canary, if it is that */
    struct sv_model_ref *ref;  /* a reference while it is ready, else NULL */
};

/* A directory of the store that is served as no version because of its name, or of its contents:
 * <model> or, if `version` is not "", <model>/<version>. */
struct sv_ignored {
    char model[NAME_MAX + 1], version[NAME_MAX + 1];
    const char *reason;
};

/* All versions, by model and number; and the first SV_IGNORED_MAX directories that are ignored. */
struct sv_snapshot {
    int count, ignored_count;
    const struct sv_ignored *ignored; /* behind the items */
    struct sv_version_info items[];
};

struct sv_snapshot *sv_registry_snapshot(struct sv_registry *registry); /* NULL: no memory */
void sv_snapshot_release(struct sv_snapshot *snapshot);                 /* NULL is fine */

enum sv_found { SV_FOUND, SV_NO_MODEL, SV_NO_VERSION, SV_NO_LABEL };

/* What `model`, `model@version` or `model:label` means, whatever its state, without a reference. If
 * there is no such version or label, the version that `model` means. */
enum sv_found sv_registry_find(struct sv_registry *registry, const char *name,
                               struct sv_version_info *info);

/* Lists for messages: the names of all models, or of those that a request can name because they are
 * loaded; "none" if there are none. Returns the list. */
const char *sv_registry_list_models(struct sv_registry *registry, bool loaded, char *list,
                                    size_t bytes);

/* ---- changes --------------------------------------------------------------------------------- */

/* A label names one version of a model, as in `model:blue`. Two of them mean more:
 *
 *     stable   what `model` alone means. It follows the highest version: at the start, and when a
 *              load names no version. Once it was set or rolled back, or a version was loaded by
 *              its number beside it, or a higher one was refused because it is for another task,
 *              it is pinned: it stays until it is moved again, or a load names no version.
 *     canary   gets a percentage of the requests that name no version
 *
 * Labels are kept in <store>/<model>/labels.json, which is replaced before a change takes effect.
 * The version that `stable` left last stays loaded, to be rolled back to. Any other version is
 * unloaded when its last label leaves it. */

enum sv_change_kind {
    /* Loads, or loads again, one version: nothing else moves, except that a model without a stable
     * version gets one. Version 0: loads the highest version and moves `stable` to it. */
    SV_CHANGE_LOAD,
    SV_CHANGE_UNLOAD, /* version 0: all versions; else one without labels. Labels stay */
    /* Moves a label to a version, which is loaded first if it is not. Version 0: the label stays
     * where it is; that pins `stable`, if it is not yet, or changes the weight of `canary`. When
     * `stable` moves to the canary's version, the label `canary` goes. */
    SV_CHANGE_LABEL,
    SV_CHANGE_UNLABEL,   /* removes a label; not `stable` */
    SV_CHANGE_ROLL_BACK, /* moves `stable` to the version that it left last */
    SV_CHANGE_UNPIN,     /* `stable` stays where it is, and follows the highest version again */
    SV_CHANGE_KINDS
};

enum { SV_WEIGHT_KEPT = -1 };

struct sv_change {
    enum sv_change_kind kind;
    char model[SV_MODEL_ID_MAX];
    long version;
    bool is_candidate; /* of a load: it is unloaded when the next candidate of the model is loaded,
                        * unless it has a label, was left by `stable` last, or was loaded again */
    char label[SL_VERSION_LABEL_BYTES_MAX + 1]; /* of the two changes of labels */
    bool is_found; /* of a load without a version: the store was looked at, and any version that is
                    * complete and higher than `stable` is better than none */
    int weight;    /* of `canary`, in percent; or SV_WEIGHT_KEPT, which is 0 for a new one */
};

struct sv_change_result {
    struct sv_error error; /* its kind is SV_OK if the change was made */
    long version;          /* that was loaded, unloaded or labelled; 0: several, or none */
    long before;           /* the version that the label, or `stable`, was on; 0: none */
    int weight;            /* of the canary now */
    bool was_pinned;       /* `stable` was, before its label was set */
    bool removed_canary;   /* `stable` moved to the canary's version, so that label went */
};

/* Called once, by the registry's thread, unless the request was refused. */
typedef void sv_change_done(void *context, const struct sv_change_result *result);

/* Hands a change to the registry's thread. False: too many wait, or the registry is ending. */
bool sv_registry_request(struct sv_registry *registry, const struct sv_change *change,
                         sv_change_done *done, void *context, struct sv_error *error);
