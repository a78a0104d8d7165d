/* job_client.h - training jobs of a test's daemon: tiny data, requests, and waiting. */
#pragma once

#include "support/daemon.h"
#include "support/json_query.h"

#include <limits.h>

enum { JOB_ID_MAX = 64, JOB_BODY_MAX = 2048 };

/* Hyper-parameters of a tiny encoder, for the braces of an object. */
#define JOB_TINY                                                                                   \
    "\"width\":16,\"depth\":1,\"heads\":2,\"ffn_width\":32,\"context_length\":16,"                 \
    "\"batch_size\":8,\"learning_rate\":0.01,\"save_every\":20,\"evaluate_every\":20"

/* The largest number of steps: a job that does not end by itself during a test. */
#define JOB_LONG JOB_TINY ",\"steps\":1000000"

/* A daemon with a state directory and these options besides; NULL ends them. */
void job_daemon_start(struct daemon *daemon, const char *const *options);
/* The same again, after it was stopped or killed. */
void job_daemon_restart(struct daemon *daemon, const char *const *options);
void job_daemon_kill(struct daemon *daemon);

/* Uploads labelled texts and returns the id of the file in id. `count` texts of two labels. */
void job_upload_reviews(const struct daemon *daemon, int count, char id[static JOB_ID_MAX]);

/* POST /v1/fine_tuning/jobs. The caller releases the response. key NULL: none. */
struct http_response job_post(const struct daemon *daemon, const char *body, const char *key);
/* The same without a key, of a job that must be accepted. id: its id. */
void job_submit(const struct daemon *daemon, const char *body, char id[static JOB_ID_MAX]);
/* A job that must be accepted: an encoder from scratch. `settings` are hyper-parameters. */
void job_create(const struct daemon *daemon, const char *file, const char *name,
                const char *settings, char id[static JOB_ID_MAX]);

/* GET /v1/fine_tuning/jobs/{id}/{what}, or the job itself if what is "". It must succeed. */
json_t *job_get(const struct daemon *daemon, const char *id, const char *what);
/* POST .../{id}/{action}; returns the status code. */
long job_act(const struct daemon *daemon, const char *id, const char *action);

/* Waits until the job has this status. Fails if it ends with another one. */
void job_wait(const struct daemon *daemon, const char *id, const char *status);
/* Waits until an event's message contains this text. */
void job_wait_event(const struct daemon *daemon, const char *id, const char *text);
/* Whether an event's message contains this text. */
bool job_has_event(const struct daemon *daemon, const char *id, const char *text);

/* The most likely label that a served model, "name" or "name@version", gives a text. */
void job_expect_label(const struct daemon *daemon, const char *model, const char *text,
                      const char *label);

/* The path of a file in the job's directory; returns path. */
const char *job_path(const struct daemon *daemon, const char *id, const char *name,
                     char path[static PATH_MAX]);
/* Which phase is on the disk. */
void job_expect_saved(const struct daemon *daemon, const char *id, const char *phase);

/* The trainer's process id; 0: none runs. */
pid_t job_trainer(const struct daemon *daemon);
/* The same; waits for one. */
pid_t job_wait_trainer(const struct daemon *daemon);
