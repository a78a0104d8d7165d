/* job.h - one job in memory, and what all jobs share. The lock of struct sv_jobs guards all
 * fields except `run`, which only the jobs' thread uses. */
#pragma once

#include "base/json_writer.h"
#include "core/server.h"
#include "jobs/child_process.h"
#include "jobs/file_checks.h"
#include "jobs/idempotency.h"
#include "jobs/job_phase.h"
#include "jobs/trainer_log_line.h"
#include "params/job_params.h"
#include "state/file_store.h"
#include "state/state_directory.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
    SV_JOB_ID_MAX = 32,
    SV_JOB_FILE_ID_MAX = 288, /* of a training file: its id or local:NAME */
    SV_JOB_CODE_MAX = 64
};

enum sv_promotion { SV_PROMOTE_NEVER, SV_PROMOTE_IF_BETTER, SV_PROMOTE_CANARY };

/* What a job was created with. Only `version` is set later. */
struct sv_job_spec {
    char id[SV_JOB_ID_MAX];
    int64_t created_ns;          /* since 1970; also the order of the queue */
    char model[SV_MODEL_ID_MAX]; /* the architecture, or the model to fine-tune: "mood@1" */
    char architecture[SV_NAME_BYTES_MAX];
    char base[SV_MODEL_ID_MAX]; /* its version in the store, "mood/1"; "": from scratch */
    bool classifies;
    char name[SV_MODEL_ID_MAX]; /* of the model to publish */
    int64_t version;            /* 0: not chosen yet */
    int64_t seed;
    char training_file[SV_JOB_FILE_ID_MAX], validation_file[SV_JOB_FILE_ID_MAX]; /* as named */
    /* What the trainer reads: a name in the job's directory, or an absolute path. "": none */
    char data[PATH_MAX], validation[PATH_MAX];
    enum sv_promotion promotion;
    double margin;
    int64_t weight; /* of the canary [percent] */
    struct sv_settings hyperparameters, metadata;
    struct sv_json_document *document; /* owns both */
    struct sv_idempotency_key key;     /* of the request */
};

/* The model of a job that trains without an architecture: `sluice train` chooses. */
#define SV_JOB_AUTO "auto"

bool sv_job_is_automatic(const struct sv_job_spec *spec);

/* The code of the error of a job whose model the registry refused. */
#define SV_JOB_LOAD_FAILED "model_load_failed"

struct sv_job_error {
    char code[SV_JOB_CODE_MAX], param[SV_JOB_CODE_MAX]; /* code "": there is no error */
    char message[SV_TRAINER_REASON_MAX + 256];
};

/* What the trainer's log says, read from its beginning. */
struct sv_job_progress {
    int64_t step, steps; /* step: the highest one reported */
    int64_t tokens;      /* trained on in all */
    int64_t saved_step, saved_at;
    int remarks; /* on the data, that were reported */
    double train_loss, validation_loss, validation_accuracy, tokens_per_second;
    int64_t ends_at;                 /* estimate [seconds since 1970]; 0: unknown */
    int64_t evaluated, saved, shown; /* the steps of the last events of each kind */
};

/* The present trainer or evaluation. */
struct sv_job_run {
    struct sv_child_process process;
    bool is_stopping;     /* it was asked to save and end */
    bool stop_reported;   /* that a signal has stopped it */
    int64_t log_offset;   /* of log.jsonl, up to which lines were read */
    int64_t event_offset; /* up to which they became events */
    int64_t try_after_ns; /* not started before */
    struct sv_job_failures failures;
    int measured;    /* evaluations that are done */
    double score[2]; /* of the new and of the serving version; higher is better */
    char serving[SV_MODEL_ID_MAX];
    bool pinned;          /* `stable` of an older version */
    bool asked;           /* a change of the registry is under way, */
    atomic_bool answered; /* and this is its result */
    struct sv_error answer;
    bool was_pinned; /* `stable` was, before the job */
};

/* The files that a job makes; of classifiers the last two. */
enum sv_job_result {
    SV_JOB_METRICS,     /* step_metrics.csv */
    SV_JOB_REPORT,      /* report.html */
    SV_JOB_PREDICTIONS, /* predictions.jsonl, of texts with one label */
    SV_JOB_RESULTS
};

struct sv_job {
    struct sv_job *next; /* in the order of creation */
    struct sv_job_spec spec;
    enum sv_job_phase phase;
    atomic_bool has_ended; /* and that is on the disk, as are all events */
    enum sv_job_desired_state desired;
    int64_t finished_at;
    struct sv_job_error error;
    bool has_result[SV_JOB_RESULTS]; /* which are among the files */
    bool pins_stable;                /* so that the model is not served before it may be */
    int saves_failed;                /* in a row; it is saved again at, and not forgotten before */
    int64_t save_again_ns;
    char pause_reason[SV_TRAINER_REASON_MAX]; /* of a pause that is an event once it is saved */
    int events;                               /* numbered so far */
    int messages, metrics;                    /* written: those without metrics, and with */
    int events_lost; /* events and checkpoints in a row that could not be recorded */
    int64_t indexed_ns;
    struct sv_job_progress progress;
    struct sv_job_run run;
};

struct sv_jobs {
    struct sv_server *server;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards everything below, except where it says otherwise */
    pthread_cond_t changed;
    bool stopping;
    struct sv_job *first; /* all that have not ended, or whose trainer still runs */
    /* The lock above is held while files are written. Who must not wait for that takes this one to
     * read the list, and of a job `has_ended` and the id. Changes of the list need both locks. */
    pthread_mutex_t list_lock;
    int ended; /* directories of jobs that have */
    struct sv_idempotency_keys keys;
    int cgroup_fd;                     /* cgroup.procs of the trainers; -1: none. Constant */
    char program[PATH_MAX];            /* sluice. Constant */
    struct sv_file_checks file_checks; /* has a lock of its own */
    atomic_uint_fast64_t revision;     /* changes with every event, and when a job has ended */
};

struct sv_job *sv_job_new(void); /* NULL: no memory */
void sv_job_free(struct sv_job *job);
/* Sets the key of the request; the spec has its id and its time. */
void sv_job_set_key(struct sv_job_spec *spec, const char *key, const char *body);
/* A member of an open object, unless it is NaN or infinite. */
void sv_job_add_measure(struct sl_json_writer *json, const char *name, double value);
/* An object of settings, as the request had it. */
void sv_job_add_settings(struct sl_json_writer *json, const struct sv_settings *settings);
