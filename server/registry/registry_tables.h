/* registry_tables.h - what the files of this folder share: the tables of models and versions.
 *
 * `lock` guards everything below it, and is held for a few instructions. Only the thread that makes
 * changes adds models and versions, so it may read these lists without the lock. */
#pragma once

#include "base/file.h"
#include "registry/registry.h"
#include "registry/version_labels.h"

#include <pthread.h>
#include <stdatomic.h>

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

struct sv_model {
    char name[SV_MODEL_ID_MAX];
    struct sv_version *versions; /* by number */
    int count;
    struct sv_labels labels;
    unsigned next_share; /* counts the requests that are split */
};

struct sv_queued_change {
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
    struct sv_model_ref *retired;                    /* no longer published, and not yet freed */
    struct sv_queued_change changes[SV_CHANGES_MAX]; /* a ring */
    int first_change, change_count;
    bool stop;

    atomic_bool is_loaded, rescan;
    int64_t scanned_ns; /* the thread's own */
};

/* With the lock, or on the thread that makes changes; NULL: there is none. */
struct sv_model *sv_find_model(struct sv_registry *registry, const char *name);
struct sv_version *sv_find_version(struct sv_model *model, long number);
/* Found or added; NULL: there are too many, or no memory. With the lock. */
struct sv_model *sv_add_model(struct sv_registry *registry, const char *name);
struct sv_version *sv_add_version(struct sv_registry *registry, struct sv_model *model,
                                  long number);
/* With the lock. */
void sv_forget_version(struct sv_registry *registry, struct sv_model *model, int index);
void sv_forget_model(struct sv_registry *registry, struct sv_model *model);

/* Whether any version of it is given to requests. With the lock, or as above. */
bool sv_model_is_served(const struct sv_model *model);
/* Sets and records the state of a version. With the lock. */
void sv_set_version_state(struct sv_registry *registry, const struct sv_model *model,
                          struct sv_version *version, enum sv_version_state state);
/* Requests no longer get this version. Call it with the lock, and release the result after
 * unlocking. */
struct sv_model_ref *sv_retire(struct sv_registry *registry, struct sv_version *version);
/* The same, and the version drains. */
struct sv_model_ref *sv_drain(struct sv_registry *registry, const struct sv_model *model,
                              struct sv_version *version);
