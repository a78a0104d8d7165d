/* registry_internal.h - what the files of this folder share.
 *
 * `lock` guards everything below it, and is held for a few instructions. Only the thread that makes
 * changes adds models and versions, so it may read these lists without the lock. */
#pragma once

#include "core/metrics.h"
#include "registry/registry.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SV_STORE_PATH_MAX = 4096 }; /* of a directory or file in the store, with its NUL */

struct sv_model_ref {
    atomic_int references;
    struct sv_registry *registry;
    struct sl_model *model;
    struct sv_executor *executor; /* NULL without a host */
    char name[SV_MODEL_ID_MAX], version[SV_VERSION_MAX], id[SV_MODEL_ID_MAX], fingerprint[16];
    long number;

    /* Under the registry's lock, once it is no longer published: */
    int64_t used_ns;           /* when a request last took it; set while it is published, too */
    struct sv_model_ref *next; /* in `retired` */
    int64_t deadline_ns;       /* when its requests are ended; 0: never, or it was done */
    bool unused;               /* there are no references */
};

struct sv_version {
    long number;
    enum sv_version_state state;
    struct sv_model_ref *ref; /* the reference that requests share, or NULL */
    bool is_candidate;        /* see struct sv_change */
    int retired;              /* earlier ones that are still in use */
    bool is_known;            /* it was complete when the store was looked at */
    bool is_of_other_task;    /* than the stable one, so it was refused */
    char reason[SV_REASON_MAX];
};

/* A label other than `stable`. Its version need not be loaded, or even be in the store. */
struct sv_label {
    char name[SL_VERSION_LABEL_BYTES_MAX + 1];
    long version;
};

/* The labels of one model. */
struct sv_labels {
    long stable, previous; /* versions, or 0 */
    bool pinned;           /* `stable` does not follow the highest version */
    int weight;            /* of `canary` */
    int count;
    struct sv_label items[SV_LABELS_MAX - 1];
};

struct sv_model {
    char name[SV_MODEL_ID_MAX];
    struct sv_version *versions; /* by number */
    int count;
    struct sv_labels labels;
    unsigned next_share; /* counts the requests that are split */
};

struct sv_job {
    struct sv_change change;
    sv_change_done *done;
    void *context;
};

struct sv_registry {
    struct sv_registry_options options;
    pthread_t thread;
    bool started;

    pthread_mutex_t lock;
    pthread_cond_t wakeup;
    struct sv_model models[SV_MODELS_MAX]; /* by name */
    int count;
    struct sv_ignored ignored[SV_IGNORED_MAX]; /* by name */
    int ignored_count;
    struct sv_model_ref *retired; /* no longer published, and not yet freed */
    struct sv_job jobs[SV_CHANGES_MAX];
    int first_job, job_count;
    bool stop;

    atomic_bool is_loaded, rescan;
    int64_t scanned_ns; /* the thread's own */
};

/* ---- the tables; with the lock, or on the thread that makes changes -------------------------- */

struct sv_model *sv_find_model(struct sv_registry *registry, const char *name);
struct sv_version *sv_find_version(struct sv_model *model, long number);
/* Found or added; NULL: there are too many, or no memory. With the lock. */
struct sv_model *sv_add_model(struct sv_registry *registry, const char *name);
struct sv_version *sv_add_version(struct sv_registry *registry, struct sv_model *model,
                                  long number);
void sv_forget_version(struct sv_registry *registry, struct sv_model *model, int index);

/* ---- one version loaded (model_version.c)
 * ---------------------------------------------------------- */

/* Opens a version and has its executor made. NULL: see err, and reason, which is for clients. */
struct sv_model_ref *sv_version_open(struct sv_registry *registry, const char *name, long version,
                                     struct sl_err *err, char reason[static SV_REASON_MAX]);
/* Frees one that is not used. */
void sv_version_close(struct sv_model_ref *ref);

/* ---- changes (version_loader.c)
 * ---------------------------------------------------------------------- */

/* Loads one version and publishes it in place of what was there. */
bool sv_load_version(struct sv_registry *registry, struct sv_model *model,
                     struct sv_version *version, struct sv_error *error);
/* Loads the highest version, or if the model has none that is ready the highest one that is good.
 * is_found: as in struct sv_change. `loaded`: which. */
bool sv_load_highest(struct sv_registry *registry, struct sv_model *model, bool is_found,
                     long *loaded, struct sv_error *error);
/* Publishes new labels, and unloads what they no longer name. */
void sv_set_labels(struct sv_registry *registry, struct sv_model *model,
                   const struct sv_labels *labels);
/* Requests no longer get this version. Call it with the lock, and release the result after
 * unlocking. */
struct sv_model_ref *sv_retire(struct sv_registry *registry, struct sv_version *version);
void sv_record_state(const struct sv_registry *registry, const struct sv_model *model,
                     const struct sv_version *version);
/* Removes the metrics of a version that was unloaded, except its state; and all of them when it
 * is forgotten. Otherwise a daemon that loads a version a day would keep the metrics of all. */
void sv_record_unloaded(const struct sv_registry *registry, const struct sv_model *model,
                        const struct sv_version *version);
void sv_record_forgotten(const struct sv_registry *registry, const struct sv_model *model,
                         const struct sv_version *version);
void sv_record_model_forgotten(const struct sv_registry *registry, const struct sv_model *model);

/* ---- changes (registry_changes.c)
 * --------------------------------------------------------------------- */

/* Makes one change. On the registry's thread. */
void sv_make_change(struct sv_registry *registry, const struct sv_change *change,
                    struct sv_change_result *result);

/* ---- labels (version_labels.c, labels_file.c) ------------------------------------------------ */

extern const char sv_stable[], sv_canary[]; /* "stable", "canary" */

/* The version of a label; 0: there is no such label. */
long sv_labels_find(const struct sv_labels *labels, const char *label);
/* Adds or moves a label. False: there are too many. */
bool sv_labels_set(struct sv_labels *labels, const char *label, long version);
bool sv_labels_remove(struct sv_labels *labels, const char *label); /* false: there is none */
/* Whether a label other than `stable` names that version. */
bool sv_labels_name(const struct sv_labels *labels, long version);

/* A model's labels.json. A missing file is one without labels. */
bool sv_labels_read(const struct sv_registry *registry, const char *model, struct sv_labels *labels,
                    struct sl_err *err) SL_MUST_CHECK;
bool sv_labels_write(const struct sv_registry *registry, const char *model,
                     const struct sv_labels *labels, struct sl_err *err) SL_MUST_CHECK;

/* ---- the store (store_scan.c) ---------------------------------------------------------------- */

/* Adds the versions that a model's directory has, and forgets those that are gone; the number of
 * them. */
int sv_scan_model(struct sv_registry *registry, const char *name);
/* Calls `visit` for each entry of the store that has a model's name; directories with other names
 * are ignored (ignored_directories.h). The number of calls that returned true. */
int sv_scan_store(struct sv_registry *registry,
                  bool (*visit)(struct sv_registry *registry, const char *name));
/* Whether a version is whole: its manifest is there. */
bool sv_version_is_complete(const struct sv_registry *registry, const struct sv_model *model,
                            const struct sv_version *version);
/* Remembers which versions are complete. The highest of those that were not before; 0: there is
 * none that is higher than all that were. */
long sv_note_complete(const struct sv_registry *registry, struct sv_model *model);
/* Forgets the models whose directories are gone and of which nothing is in use: others need their
 * places. On the thread that makes changes. */
void sv_forget_models(struct sv_registry *registry);
/* Clients see paths relative to the store, not where the store is. */
void sv_describe_failure(const struct sv_registry *registry, const struct sl_err *err,
                         char reason[static SV_REASON_MAX]);

/* ---- periodic upkeep (upkeep.c) -------------------------------------------------------------- */

/* Looks for new versions and unloads idle ones, when it is time. On the registry's thread. */
void sv_upkeep(struct sv_registry *registry);

/* ---- the thread (registry_thread.c)
 * ------------------------------------------------------------------- */

bool sv_keeper_start(struct sv_registry *registry, struct sl_err *err);
void sv_keeper_stop(struct sv_registry *registry);
/* Frees what was retired and is unused. */
void sv_keeper_reap(struct sv_registry *registry);
