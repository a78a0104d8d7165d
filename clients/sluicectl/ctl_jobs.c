/* ctl_jobs.c - training jobs: train, jobs, job, events, cancel, pause, resume. */
#include "base/json_writer.h"
#include "common/sse_parser.h"
#include "sluicectl/ctl_connection.h"
#include "sluicectl/print.h"
#include "sluicectl/print_jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ---- following a job ------------------------------------------------------------------------- */

struct follower {
    struct print_follower print;
    struct sse_parser events;
    struct client_error *failure;
    bool done, failed; /* [DONE] has arrived; printing failed */
};

static bool on_event(void *context, const char *data, size_t count)
{
    struct follower *f = context;
    static const char last[] = "[DONE]";
    f->done = count == sizeof last - 1 && memcmp(data, last, count) == 0;
    if (!f->done)
        f->failed = !print_followed(&f->print, data, count, f->failure);
    return !f->failed;
}

static bool on_bytes(void *context, const char *data, size_t count)
{
    struct follower *f = context;
    return sse_parser_feed(&f->events, data, count);
}

static void stream_events(const struct ctl_options *ctl, const char *id, struct follower *f)
{
    struct client_response response = {0};
    struct client_error lost = {0};
    const struct client_request request = {
        .path = f->print.last[0] ? "/v1/fine_tuning/jobs/{}/"
                                   "events?stream=true&after={}"
                                 : "/v1/fine_tuning/jobs/{}/events?stream=true",
        .argument = id,
        .second = f->print.last[0] ? f->print.last : NULL,
        .on_body = on_bytes,
        .context = f,
        .no_retry = true};
    struct client *client = ctl_admin_client(ctl, &lost);
    if (client)
        (void)!client_send(client, &request, &response, &lost);
    client_response_release(&response);
    client_destroy(client);
    sse_parser_release(&f->events);
    f->events = (struct sse_parser){.on_event = on_event, .context = f};
}

static bool read_outcome(const struct ctl_options *ctl, const char *id,
                         struct print_outcome *outcome, struct client_error *failure)
{
    struct client_response response = {0};
    const struct client_request request = {.path = "/v1/fine_tuning/jobs/{}", .argument = id};
    struct client *client = ctl_admin_client(ctl, failure);
    bool good = client && ctl_send(client, &request, &response, failure) &&
                print_outcome(&response.body, outcome, failure);
    client_response_release(&response);
    client_destroy(client);
    return good;
}

/* Until the job has ended. A daemon that restarts is waited for. */
static bool follow(const struct ctl_options *ctl, const char *id, struct client_error *failure)
{
    enum { LOST_MAX = 60 };

    struct follower f = {.print = {.plots = !ctl->json && isatty(STDOUT_FILENO)},
                         .failure = failure};
    struct print_outcome outcome = {0};
    f.events = (struct sse_parser){.on_event = on_event, .context = &f};
    for (int lost = 0; !f.done && !f.failed && lost < LOST_MAX; lost++) {
        if (lost > 0)
            (void)sleep(1);
        char before[PRINT_ID_MAX];
        memcpy(before, f.print.last, sizeof before);
        stream_events(ctl, id, &f);
        if (strcmp(before, f.print.last) != 0)
            lost = 0;
    }
    if (f.failed || !read_outcome(ctl, id, &outcome, failure))
        return false;
    if (outcome.succeeded)
        return true;
    return client_error_set(failure, EXIT_FAILED,
                            outcome.ended ? "the job ended without a model: %s"
                                          : "the job has not ended: %s",
                            outcome.text);
}

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
        return follow(ctl, operand, failure);
    return on_job(ctl, operand, "/v1/fine_tuning/jobs/{}/events?limit=1000", NULL, print_events,
                  failure);
}

/* ---- train ----------------------------------------------------------------------------------- */

struct train_arguments {
    const char *model, *name, *validation;
    struct sl_given_int seed;
    bool detach;
};

static const struct sl_option train_rows[] = {
    {"model", "MODEL", "architecture to train from scratch, or served model to fine-tune",
     SL_OPTION_STRING, offsetof(struct train_arguments, model), 0, 0},
    {"name", "NAME", "name of the model to publish [that of --model]", SL_OPTION_STRING,
     offsetof(struct train_arguments, name), 0, 0},
    {"validation", "FILE", "labelled texts to validate on [a part of FILE]", SL_OPTION_STRING,
     offsetof(struct train_arguments, validation), 0, 0},
    {"seed", "N", "seed of the training [chosen by the daemon]", SL_OPTION_GIVEN_INT,
     offsetof(struct train_arguments, seed), 0, 2147483647},
    {"detach", NULL, "print the job's id and do not follow it", SL_OPTION_FLAG,
     offsetof(struct train_arguments, detach), 0, 0},
    {0}};

/* An uploaded file's id: of a path, after uploading it; others are ids already. */
static bool upload(struct client *client, const char *file, char id[static PRINT_ID_MAX],
                   struct client_error *failure)
{
    struct client_response response = {0};
    const struct client_request request = {.path = "/v1/files", .file = file};
    if (strncmp(file, "local:", 6) == 0 || strncmp(file, "file-", 5) == 0) {
        (void)snprintf(id, PRINT_ID_MAX, "%s", file);
        return true;
    }
    if (access(file, R_OK) != 0)
        return client_error_set(failure, EXIT_BAD_INPUT, "cannot read '%s': %s", file,
                                strerrordesc_np(errno));
    bool good =
        ctl_send(client, &request, &response, failure) && print_id(&response.body, id, failure);
    client_response_release(&response);
    return good;
}

/* NAME=VALUE; numbers and booleans as they are. */
static bool add_setting(struct sl_json_writer *json, const char *setting,
                        struct client_error *failure)
{
    const char *equals = strchr(setting, '=');
    char *end;
    if (!equals || equals == setting)
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "invalid hyper-parameter '%s': expected NAME=VALUE", setting);
    const char *value = equals + 1;
    (void)strtod(value, &end);
    bool is_plain = (end > value && !*end && strspn(value, "0123456789.eE+-") == strlen(value)) ||
                    strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    (void)sl_json_key_bytes(json, setting, (size_t)(equals - setting));
    if (is_plain)
        sl_json_add_raw(json, value, strlen(value));
    else
        sl_json_add_string(json, value);
    return true;
}

static bool write_job(const struct ctl_options *ctl, const struct train_arguments *a,
                      const char *file, const char *validation, struct sl_buffer *body,
                      struct client_error *failure)
{
    struct sl_json_writer json = {.out = body};
    sl_json_begin_object(&json);
    sl_json_add_string(sl_json_key(&json, "model"), a->model);
    sl_json_add_string(sl_json_key(&json, "training_file"), file);
    if (validation[0])
        sl_json_add_string(sl_json_key(&json, "validation_file"), validation);
    if (a->name)
        sl_json_add_string(sl_json_key(&json, "suffix"), a->name);
    if (a->seed.given)
        sl_json_add_int(sl_json_key(&json, "seed"), a->seed.value);
    sl_json_begin_object(sl_json_key(&json, "hyperparameters"));
    for (int i = 1; i < ctl->operand_count; i++)
        if (!add_setting(&json, ctl->operands[i], failure))
            return false;
    sl_json_end_object(&json);
    sl_json_end_object(&json);
    return !body->failed || client_error_no_memory(failure);
}

/* Uploads the files and creates the job. */
static bool create(const struct ctl_options *ctl, const struct train_arguments *a,
                   struct client *client, struct client_response *response,
                   struct client_error *failure)
{
    char file[PRINT_ID_MAX], validation[PRINT_ID_MAX] = "";
    struct sl_buffer body = {0};
    bool good = upload(client, ctl->operands[0], file, failure) &&
                (!a->validation || upload(client, a->validation, validation, failure)) &&
                write_job(ctl, a, file, validation, &body, failure);
    const struct client_request request = {.path = "/v1/fine_tuning/jobs", .body = body.data};
    good = good && ctl_send(client, &request, response, failure);
    sl_buffer_release(&body);
    return good;
}

static bool run_train(const struct ctl_options *ctl, void *values, const char *operand,
                      struct client_error *failure)
{
    const struct train_arguments *a = values;
    struct client_response response = {0};
    char id[PRINT_ID_MAX] = "";
    if (!operand || !a->model)
        return client_error_set(failure, EXIT_BAD_INPUT, "missing %s",
                                operand ? "--model: an architecture, or a served model" : "FILE");
    struct client *client = ctl_admin_client(ctl, failure);
    bool good = client && create(ctl, a, client, &response, failure) &&
                print_id(&response.body, id, failure);
    if (good && a->detach)
        good = ctl->json ? print_raw(&response.body, failure) : puts(id) >= 0;
    client_response_release(&response);
    client_destroy(client);
    return good && (a->detach || follow(ctl, id, failure));
}

/* ---- the commands ---------------------------------------------------------------------------- */

const struct ctl_command ctl_train = {
    .name = "train",
    .operand = "FILE [NAME=VALUE...]",
    .help = "upload FILE, train a model on it in the daemon, and follow the job",
    .example = "reviews.jsonl --model encoder --name mood n_epochs=30 width=64",
    .notes =
        "FILE is a path, which is uploaded; the id of an uploaded file; or local:NAME, a file\n"
        "in the daemon's data_directory. Words after it, NAME=VALUE, say how to train:\n"
        "  label, text, format  how to read FILE, as in `sluice train`: label=1 text=2\n"
        "  n_epochs             passes over FILE\n"
        "  promotion            never, if_better or canary: when requests get the new model\n"
        "  promotion_margin     with if_better: by how much; accuracy from 0 to 1, or loss\n"
        "  promotion_weight     with canary: percentage of the requests\n"
        "  width, learning_rate and all other hyper-parameters of `sluice train MODEL --help`\n"
        "On a terminal the loss is plotted; elsewhere each event is a line of JSON.\n"
        "A job that fails or is cancelled fails the command.\n",
    .takes_many = true,
    .rows = train_rows,
    .values_bytes = sizeof(struct train_arguments),
    .run = run_train};

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
