/* ctl_jobs.c - training jobs: jobs, job, events, cancel, pause, resume. */
#include "sluicectl/ctl_connection.h"
#include "sluicectl/ctl_job_follower.h"
#include "sluicectl/print.h"
#include "sluicectl/print_jobs.h"

static const struct sl_option no_rows[] = {{0}};

typedef bool print_body(const struct sl_buffer *body, struct client_error *failure);

/* Sends one request to the admin listener and prints the response. */
static bool send_and_print(const struct ctl_options *ctl, const struct client_request *request,
                           print_body *print, struct client_error *failure)
{
    struct client_response response = {0};
    struct client *client = ctl_admin_client(ctl, failure);
    bool good = client && ctl_send(client, request, &response, failure) &&
                (ctl->json ? print_raw : print)(&response.body, failure);
    client_response_release(&response);
    client_destroy(client);
    return good;
}

/* ---- lists and actions ----------------------------------------------------------------------- */

static bool run_jobs(const struct ctl_options *ctl, void *values, const char *operand,
                     struct client_error *failure)
{
    const struct client_request request = {.path = "/v1/fine_tuning/jobs?limit=100"};
    (void)values;
    (void)operand;
    return send_and_print(ctl, &request, print_jobs, failure);
}

/* What a job's path ends with; a body makes it a POST. */
static bool on_job(const struct ctl_options *ctl, const char *operand, const char *path,
                   const char *body, print_body *print, struct client_error *failure)
{
    const struct client_request request = {.path = path, .argument = operand, .body = body};
    if (!operand)
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "missing ID; `sluicectl jobs` lists the jobs");
    return send_and_print(ctl, &request, print, failure);
}

static bool run_job(const struct ctl_options *ctl, void *values, const char *operand,
                    struct client_error *failure)
{
    (void)values;
    return on_job(ctl, operand, "/v1/fine_tuning/jobs/{}", NULL, print_jobs, failure);
}

static bool run_cancel(const struct ctl_options *ctl, void *values, const char *operand,
                       struct client_error *failure)
{
    (void)values;
    return on_job(ctl, operand, "/v1/fine_tuning/jobs/{}/cancel", "", print_jobs, failure);
}

static bool run_pause(const struct ctl_options *ctl, void *values, const char *operand,
                      struct client_error *failure)
{
    (void)values;
    return on_job(ctl, operand, "/v1/fine_tuning/jobs/{}/pause", "", print_jobs, failure);
}

static bool run_resume(const struct ctl_options *ctl, void *values, const char *operand,
                       struct client_error *failure)
{
    (void)values;
    return on_job(ctl, operand, "/v1/fine_tuning/jobs/{}/resume", "", print_jobs, failure);
}

/* ---- events ---------------------------------------------------------------------------------- */

struct events_arguments {
    bool follow;
};

static const struct sl_option events_rows[] = {
    {"follow", NULL, "print new events until the job has ended", SL_OPTION_FLAG,
     offsetof(struct events_arguments, follow), 0, 0},
    {0}};

static bool run_events(const struct ctl_options *ctl, void *values, const char *operand,
                       struct client_error *failure)
{
    const struct events_arguments *a = values;
    if (a->follow && operand)
        return ctl_follow_job(ctl, operand, failure);
    return on_job(ctl, operand, "/v1/fine_tuning/jobs/{}/events?limit=1000", NULL, print_events,
                  failure);
}

/* ---- the commands ---------------------------------------------------------------------------- */

const struct ctl_command ctl_jobs = {.name = "jobs",
                                     .help = "list training jobs",
                                     .rows = no_rows,
                                     .run = run_jobs};

const struct ctl_command ctl_job = {.name = "job",
                                    .operand = "ID",
                                    .help = "print a training job",
                                    .rows = no_rows,
                                    .run = run_job};

const struct ctl_command ctl_events = {.name = "events",
                                       .operand = "ID",
                                       .help = "print what happened in a training job",
                                       .rows = events_rows,
                                       .values_bytes = sizeof(struct events_arguments),
                                       .run = run_events};

const struct ctl_command ctl_cancel = {.name = "cancel",
                                       .operand = "ID",
                                       .help = "cancel a training job",
                                       .rows = no_rows,
                                       .run = run_cancel};

const struct ctl_command ctl_pause = {.name = "pause",
                                      .operand = "ID",
                                      .help = "save and stop a training job, to be resumed",
                                      .rows = no_rows,
                                      .run = run_pause};

const struct ctl_command ctl_resume = {.name = "resume",
                                       .operand = "ID",
                                       .help = "resume a paused training job",
                                       .rows = no_rows,
                                       .run = run_resume};
