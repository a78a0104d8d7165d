/* ctl_jobs.c - training jobs: jobs, job, events, cancel, pause, resume. */
#include "sluicectl/ctl_connection.h"
#include "sluicectl/ctl_job_follower.h"
#include "sluicectl/print.h"
#include "sluicectl/print_jobs.h"

/* ---- lists and actions ----------------------------------------------------------------------- */

static bool run_jobs(const struct ctl_options *ctl, struct client_error *failure)
{
    const struct client_request request = {.path = "/v1/fine_tuning/jobs?limit=100"};
    return ctl_request(ctl, ctl_admin_client(ctl, failure), &request, print_jobs, failure);
}

/* A body makes it a POST. */
static bool on_job(const struct ctl_options *ctl, const char *path, const char *body,
                   print_function *print, struct client_error *failure)
{
    const struct client_request request = {
        .path = path, .argument = ctl->operands[0], .body = body};
    if (!request.argument)
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "missing ID; `sluicectl jobs` lists the jobs");
    return ctl_request(ctl, ctl_admin_client(ctl, failure), &request, print, failure);
}

static bool run_job(const struct ctl_options *ctl, struct client_error *failure)
{
    return on_job(ctl, "/v1/fine_tuning/jobs/{}", NULL, print_jobs, failure);
}

static bool run_cancel(const struct ctl_options *ctl, struct client_error *failure)
{
    return on_job(ctl, "/v1/fine_tuning/jobs/{}/cancel", "", print_jobs, failure);
}

static bool run_pause(const struct ctl_options *ctl, struct client_error *failure)
{
    return on_job(ctl, "/v1/fine_tuning/jobs/{}/pause", "", print_jobs, failure);
}

static bool run_resume(const struct ctl_options *ctl, struct client_error *failure)
{
    return on_job(ctl, "/v1/fine_tuning/jobs/{}/resume", "", print_jobs, failure);
}

/* ---- events ---------------------------------------------------------------------------------- */

struct events_arguments {
    bool follow;
};

static const struct sl_option events_rows[] = {
    {"follow", NULL, "print new events until the job has ended", SL_OPTION_FLAG,
     offsetof(struct events_arguments, follow), 0, 0},
    {0}};

static bool run_events(const struct ctl_options *ctl, struct client_error *failure)
{
    const struct events_arguments *a = ctl->values;
    if (a->follow && ctl->operands[0])
        return ctl_follow_job(ctl, ctl->operands[0], failure);
    return on_job(ctl, "/v1/fine_tuning/jobs/{}/events?limit=1000", NULL, print_events, failure);
}

/* ---- the commands ---------------------------------------------------------------------------- */

const struct ctl_command ctl_jobs = {.name = "jobs", .help = "list training jobs", .run = run_jobs};

const struct ctl_command ctl_job = {.name = "job",
                                    .operand = "ID",
                                    .help = "print a training job",
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
                                       .run = run_cancel};

const struct ctl_command ctl_pause = {.name = "pause",
                                      .operand = "ID",
                                      .help = "save and stop a training job, to be resumed",
                                      .run = run_pause};

const struct ctl_command ctl_resume = {.name = "resume",
                                       .operand = "ID",
                                       .help = "resume a paused training job",
                                       .run = run_resume};
