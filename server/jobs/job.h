/* job.h - one job, and what the files of this layer share. The lock of struct sv_jobs guards all
 * fields except `run`, which only the jobs' thread uses. */
#pragma once

#include "core/server.h"
#include "jobs/child_process.h"
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
    SV_JOB_CODE_MAX = 64,
    SV_JOB_HASH_MAX = 65
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
    /* SHA-256 of the key and of the body it came with; "": none. */
    char key[SV_JOB_HASH_MAX], body[SV_JOB_HASH_MAX];
};

/* The model of a job that trains without an architecture: `sluice train` chooses. */
#define SV_JOB_AUTO "auto"

bool sv_job_is_automatic(const struct sv_job_spec *spec);

struct sv_job_error {
    char code[SV_JOB_CODE_MAX], param[SV_JOB_CODE_MAX]; /* code "": there is no error */
    char message[SV_TRAINER_REASON_MAX + 256];
};

/* What the trainer's log says, read from its beginning. */
struct sv_job_progress {
    int64_t step, steps;   /* step: the highest one reported */
    int64_t resumed;       /* the step at which the present trainer started */
    int64_t tokens;        /* trained on in all */
    int64_t tokens_before; /* by earlier trainers, up to `resumed` */
    int64_t saved_step, saved_tokens, saved_at;
    int warnings; /* of the data, that were reported */
    double train_loss, validation_loss, validation_accuracy, tokens_per_second;
    int64_t ends_at;                 /* estimate [seconds since 1970]; 0: unknown */
    int64_t evaluated, saved, shown; /* the steps of the last events of each kind */
};

/* The present trainer or evaluation. */
struct sv_job_run {
    struct sv_child_process process;
    bool is_stopping;     /* it was asked to save and end */
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
};

struct sv_job {
    struct sv_job *next; /* in the order of creation */
    struct sv_job_spec spec;
    enum sv_job_phase phase;
    atomic_bool has_ended; /* and that is on the disk, as are all events */
    enum sv_job_desired_state desired;
    int64_t finished_at;
    struct sv_job_error error;
    bool has_results, has_report; /* step_metrics.csv, report.html: they are among the files */
    int saves_failed;             /* in a row; it is saved again at, and not forgotten before */
    int64_t save_again_ns;
    char pause_reason[SV_TRAINER_REASON_MAX]; /* of a pause that is an event once it is saved */
    int events;                               /* numbered so far */
    int messages, metrics;                    /* written: those without metrics, and with */
    int events_lost; /* events and checkpoints in a row that could not be recorded */
    int64_t indexed_ns;
    struct sv_job_progress progress;
    struct sv_job_run run;
};

/* An idempotency key, and the job that it made. */
struct sv_idempotency {
    char key[SV_JOB_HASH_MAX], body[SV_JOB_HASH_MAX], id[SV_JOB_ID_MAX];
    int64_t created_at;
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
    int ended;                                           /* directories of jobs that have */
    struct sv_idempotency keys[SV_IDEMPOTENCY_KEYS_MAX]; /* a ring */
    unsigned next_key;
    int cgroup_fd;                 /* cgroup.procs of the trainers; -1: none. Constant */
    char program[PATH_MAX];        /* sluice. Constant */
    atomic_uint_fast64_t revision; /* changes with every event, and when a job has ended */
};

/* The job's directory, or a file in it unless the name is "". */
void sv_job_path(const struct sv_jobs *jobs, const struct sv_job *job, const char *name,
                 char path[static PATH_MAX]);
/* An absolute path as it is, another one in the job's directory. */
void sv_job_data_path(const struct sv_jobs *jobs, const struct sv_job *job, const char *data,
                      char path[static PATH_MAX]);

/* ---- job_json.c ------------------------------------------------------------------------------ */

enum { SV_JOB_RESULT_ID_MAX = SV_JOB_ID_MAX + 8 };

/* The ids of the files that a job makes: its CSV, and its report. */
void sv_job_result_id(const struct sv_job *job, bool is_report,
                      char id[static SV_JOB_RESULT_ID_MAX]);
/* Writes job.json, synced, and the object in the index; or has the jobs' thread try again until it
 * is done: the disk may be full for a while. */
void sv_job_keep(struct sv_jobs *jobs, struct sv_job *job);
/* The same once, for a job that there is only if it can be saved. */
bool sv_job_save(struct sv_jobs *jobs, const struct sv_job *job, struct sl_err *err) SL_MUST_CHECK;
/* The object in the index alone, for changes that are not worth a sync. */
void sv_job_index(struct sv_jobs *jobs, const struct sv_job *job);
/* The object that clients see. */
void sv_job_write(const struct sv_job *job, struct sl_buffer *out);
/* Reads job.json of a directory; NULL: see err. */
struct sv_job *sv_job_load(struct sv_jobs *jobs, const char *id, struct sl_err *err) SL_MUST_CHECK;
struct sv_job *sv_job_new(void); /* NULL: no memory */
void sv_job_free(struct sv_job *job);

/* ---- job_events.c ---------------------------------------------------------------------------- */

/* Appends an event. level: info, warn or error. data: a JSON object, or NULL for a message. */
void sv_job_event(struct sv_jobs *jobs, struct sv_job *job, const char *level, const char *data,
                  const char *format, ...) SL_PRINTF(5, 6);
/* Reads events.jsonl: indexes events unless the index has them, and finds where to go on. */
bool sv_job_events_load(struct sv_jobs *jobs, struct sv_job *job, struct sl_err *err) SL_MUST_CHECK;
/* Records a checkpoint, the state saved last. */
void sv_job_checkpoint(struct sv_jobs *jobs, struct sv_job *job);

/* ---- job_log_reader.c
 * ------------------------------------------------------------------------------- */

/* Reads new lines of the trainer's log; they become progress, events and metrics. */
void sv_job_read_log(struct sv_jobs *jobs, struct sv_job *job);
/* Writes the step metrics as CSV. */
bool sv_job_write_csv(struct sv_jobs *jobs, const struct sv_job *job, struct sl_buffer *out);
/* Drops the job's series. */
void sv_job_drop_metrics(struct sv_jobs *jobs, const struct sv_job *job);
/* Counts a job that ended in this phase. */
void sv_job_count_end(struct sv_jobs *jobs, enum sv_job_phase phase);

/* ---- job_request.c --------------------------------------------------------------------------- */

/* Fills the spec of a new job from a request. */
bool sv_job_spec_make(struct sv_jobs *jobs, const struct sv_job_params *params,
                      struct sv_job_spec *spec, struct sv_error *error) SL_MUST_CHECK;
/* OpenAI's hyper-parameters, which alone may be "auto": as if they were not given. NULL ends
 * them. */
extern const char *const sv_openai_settings[];
bool sv_setting_is_auto(const struct sv_setting *setting);

/* The promotion and the checks of settings, for a spec whose hyper-parameters are read. */
bool sv_job_spec_settings(struct sv_job_spec *spec, struct sv_error *error) SL_MUST_CHECK;

/* ---- job_data.c ------------------------------------------------------------------------------ */

/* Finds what a training file's name means, and the name under which the job will have it. */
bool sv_job_data_find(struct sv_jobs *jobs, const char *name, const char *param, const char *as,
                      struct sv_job_spec *spec, char data[static PATH_MAX], struct sv_error *error)
    SL_MUST_CHECK;
/* What the client calls a file of a job, by its id. */
void sv_job_file_name(const struct sv_jobs *jobs, const char *id,
                      char name[static SV_FILE_NAME_MAX]);
/* Links uploaded files into the job's directory, so that they may be deleted meanwhile. */
bool sv_job_data_link(struct sv_jobs *jobs, const struct sv_job *job, struct sv_error *error)
    SL_MUST_CHECK;
/* Converts files in OpenAI's formats. Slow; without the lock. */
bool sv_job_data_prepare(struct sv_jobs *jobs, const struct sv_job_spec *spec,
                         struct sv_error *error) SL_MUST_CHECK;

/* ---- trainer_command.c ----------------------------------------------------------------------- */

/* Its standard output and errors, in the job's directory. */
#define SV_TRAINER_OUTPUT "trainer.out"
#define SV_TRAINER_ERRORS "trainer.err"

bool sv_trainer_start(struct sv_jobs *jobs, struct sv_job *job, struct sl_err *err) SL_MUST_CHECK;
/* Evaluates the new version (0) or the serving one (1). */
bool sv_evaluation_start(struct sv_jobs *jobs, struct sv_job *job, int which, struct sl_err *err)
    SL_MUST_CHECK;
/* Whether another process still trains in the job's directory. */
bool sv_trainer_is_locked(const struct sv_jobs *jobs, const struct sv_job *job);
/* Whether the trainer has finished the model. */
bool sv_trainer_has_model(const struct sv_jobs *jobs, const struct sv_job *job);

/* ---- publish_model.c
 * ------------------------------------------------------------------------------- */

/* Copies the model into the store as the spec's version, whole or not at all; again is fine. Slow;
 * without the lock. SL_BUSY: another model has this version. */
bool sv_job_publish(struct sv_jobs *jobs, const struct sv_job_spec *spec, struct sl_err *err)
    SL_MUST_CHECK;
/* The highest version of a model in the store; 0: there is none. */

/* ---- promote_model.c
 * ------------------------------------------------------------------------------- */

/* Asks the registry to pin `stable` of an older version, so that the new one is not served when the
 * daemon starts in between; to load the new version; to move a label to it. False: it could not be
 * asked now. */
bool sv_job_ask_pin(struct sv_jobs *jobs, struct sv_job *job);
bool sv_job_ask_load(struct sv_jobs *jobs, struct sv_job *job);
bool sv_job_ask_promotion(struct sv_jobs *jobs, struct sv_job *job);
/* The version that serves requests for the job's model, "mood@3". False: none, or the new one. */
bool sv_job_find_serving(struct sv_jobs *jobs, const struct sv_job *job,
                         char serving[static SV_MODEL_ID_MAX]);
/* Records a promotion by the job's rule in the audit log. */
void sv_job_audit_promotion(struct sv_jobs *jobs, const struct sv_job *job);

/* ---- job_state_machine.c
 * ----------------------------------------------------------------------------- */

/* Advances a job as far as possible without waiting. Call it with the lock, which it releases
 * during slow work. True: call it again at once. */
bool sv_job_step(struct sv_jobs *jobs, struct sv_job *job);
/* Starts a waiting job. */
void sv_job_begin(struct sv_jobs *jobs, struct sv_job *job);
/* Removes what only a job that has not ended needs. */
void sv_job_clean_up(const struct sv_jobs *jobs, const struct sv_job *job);
void sv_job_fail(struct sv_jobs *jobs, struct sv_job *job, const char *code, const char *param,
                 const char *message);
