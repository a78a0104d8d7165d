/* ctl_train.c - sluicectl train: uploads files, creates a training job and follows it. */
#include "base/json_writer.h"
#include "base/model_names.h"
#include "sluicectl/ctl_connection.h"
#include "sluicectl/ctl_job_follower.h"
#include "sluicectl/print.h"
#include "sluicectl/print_jobs.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct train_arguments {
    const char *model, *name, *validation;
    struct sl_given_int seed;
    bool detach;
};

static const struct sl_option train_rows[] = {
    {"model", "MODEL",
     "architecture to train from scratch, or served model to fine-tune [labelled texts are trained "
     "on without choosing one]",
     SL_OPTION_STRING, offsetof(struct train_arguments, model), 0, 0},
    {"name", "NAME", "name of the model to publish [that of --model; without it, required]",
     SL_OPTION_STRING, offsetof(struct train_arguments, name), 0, 0},
    {"validation", "FILE", "labelled texts to validate on [a part of FILE]", SL_OPTION_STRING,
     offsetof(struct train_arguments, validation), 0, 0},
    {"seed", "N", "seed of the training [chosen by the daemon]", SL_OPTION_GIVEN_INT,
     offsetof(struct train_arguments, seed), 0, 2147483647},
    {"detach", NULL, "print the job's id and do not follow it", SL_OPTION_FLAG,
     offsetof(struct train_arguments, detach), 0, 0},
    {0}};

/* ---- what is checked before anything is sent ------------------------------------------------- */

static bool check_name(const char *name, struct client_error *failure)
{
    return !name || sl_model_name_is_valid(name) ||
           client_error_set(failure, EXIT_BAD_INPUT, "invalid --name '%.64s': " SL_MODEL_NAME_RULE,
                            name);
}

/* A file of the daemon, by its id or its name; not one here. */
static bool is_remote(const char *file)
{
    return strncmp(file, "local:", 6) == 0 || strncmp(file, "file-", 5) == 0;
}

/* The length of the name in NAME=VALUE; 0: it is none. */
static size_t name_bytes(const char *setting)
{
    size_t bytes = strcspn(setting, "=");
    return setting[bytes] ? bytes : 0;
}

static bool check_setting(const struct ctl_options *ctl, int index, struct client_error *failure)
{
    const char *setting = ctl->operands[index];
    size_t bytes = name_bytes(setting);
    if (bytes == 0)
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "invalid hyper-parameter '%s': expected NAME=VALUE", setting);
    if (strncmp(setting, "seed=", 5) == 0)
        return client_error_set(failure, EXIT_BAD_INPUT, "give the seed as --seed %s", setting + 5);
    for (int i = 1; i < index; i++)
        if (strncmp(ctl->operands[i], setting, bytes + 1) == 0)
            return client_error_set(failure, EXIT_BAD_INPUT, "'%.*s' is given twice", (int)bytes,
                                    setting);
    return true;
}

static bool check(const struct ctl_options *ctl, const struct train_arguments *a,
                  struct client_error *failure)
{
    const char *file = ctl->operands[0];
    if (!file)
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "missing FILE: labelled texts, or a text, to train on");
    if (!a->model && !a->name)
        return client_error_set(
            failure, EXIT_BAD_INPUT,
            "missing --name NAME: the name of the model to publish; or --model: a served model to "
            "fine-tune, or an architecture (`sluice train --help` lists them)");
    if (!check_name(a->name, failure) || (!is_remote(file) && !ctl_check_file(file, failure)) ||
        (a->validation && !is_remote(a->validation) && !ctl_check_file(a->validation, failure)))
        return false;
    for (int i = 1; i < ctl->operand_count; i++)
        if (!check_setting(ctl, i, failure))
            return false;
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

struct training_file {
    const char *given;           /* a path, or what the daemon knows it by; NULL: none */
    char uploaded[PRINT_ID_MAX]; /* its id; "": not uploaded */
};

static bool upload(struct client *client, struct training_file *file, struct client_error *failure)
{
    struct client_response response = {0};
    const struct client_request request = {.path = "/v1/files", .file = file->given};
    if (!file->given || is_remote(file->given))
        return true;
    bool good = ctl_send(client, &request, &response, failure) &&
                print_id(&response.body, file->uploaded, failure);
    client_response_release(&response);
    return good;
}

static const char *id_of(const struct training_file *file)
{
    return file->uploaded[0] ? file->uploaded : file->given;
}

/* Nothing uses it: no job was created. */
static void delete_upload(struct client *client, const struct training_file *file)
{
    struct client_response response = {0};
    struct client_error failure = {0};
    const struct client_request request = {
        .method = "DELETE", .path = "/v1/files/{}", .argument = file->uploaded};
    if (file->uploaded[0] && !ctl_send(client, &request, &response, &failure))
        (void)fprintf(stderr, "sluicectl: the uploaded file %s was not deleted: %s\n",
                      file->uploaded, failure.err.text);
    client_response_release(&response);
}

/* ---- the job --------------------------------------------------------------------------------- */

/* Whether JSON has it as a number or a boolean. */
static bool is_plain(const char *value)
{
    json_t *json = json_loads(value, JSON_DECODE_ANY, NULL);
    bool plain = json_is_number(json) || json_is_boolean(json);
    json_decref(json);
    return plain;
}

/* NAME=VALUE. The names of columns are strings: a number would lose its last zeros. */
static void add_setting(struct sl_json_writer *json, const char *setting)
{
    size_t bytes = name_bytes(setting);
    const char *value = setting + bytes + 1;
    bool is_column = strncmp(setting, "label=", 6) == 0 || strncmp(setting, "text=", 5) == 0;
    (void)sl_json_key_bytes(json, setting, bytes);
    if (!is_column && is_plain(value))
        sl_json_add_raw(json, value, strlen(value));
    else
        sl_json_add_string(json, value);
}

static void write_job(const struct ctl_options *ctl, const struct train_arguments *a,
                      const struct training_file *files, struct sl_buffer *body)
{
    struct sl_json_writer json = {.out = body};
    sl_json_begin_object(&json);
    if (a->model)
        sl_json_add(&json, "'model':%s", a->model);
    sl_json_add(&json, "'training_file':%s", id_of(&files[0]));
    if (files[1].given)
        sl_json_add(&json, "'validation_file':%s", id_of(&files[1]));
    if (a->name)
        sl_json_add(&json, "'suffix':%s", a->name);
    if (a->seed.given)
        sl_json_add(&json, "'seed':%lld", (long long)a->seed.value);
    sl_json_add(&json, "'hyperparameters':{");
    for (int i = 1; i < ctl->operand_count; i++)
        add_setting(&json, ctl->operands[i]);
    sl_json_add(&json, "}}");
}

/* Uploads the files and creates the job. */
static bool create(const struct ctl_options *ctl, const struct train_arguments *a,
                   struct client *client, struct client_response *response,
                   struct client_error *failure)
{
    struct training_file files[2] = {{.given = ctl->operands[0]}, {.given = a->validation}};
    struct sl_buffer body = {0};
    bool uploaded = upload(client, &files[0], failure) && upload(client, &files[1], failure);
    if (uploaded)
        write_job(ctl, a, files, &body);
    const struct client_request request = {.path = "/v1/fine_tuning/jobs", .body = body.data};
    bool good = uploaded && (!body.failed || client_error_no_memory(failure)) &&
                ctl_send(client, &request, response, failure);
    for (int i = 0; !good && i < 2; i++)
        delete_upload(client, &files[i]);
    sl_buffer_release(&body);
    return good;
}

static bool run_train(const struct ctl_options *ctl, struct client_error *failure)
{
    const struct train_arguments *a = ctl->values;
    struct client_response response = {0};
    char id[PRINT_ID_MAX] = "";
    if (!check(ctl, a, failure))
        return false;
    struct client *client = ctl_admin_client(ctl, failure);
    bool good = client && create(ctl, a, client, &response, failure) &&
                print_id(&response.body, id, failure);
    if (good && a->detach)
        good = ctl->json ? print_response(&response.body, NULL, failure) : puts(id) >= 0;
    client_response_release(&response);
    client_destroy(client);
    return good && (a->detach || ctl_follow_job(ctl, id, failure));
}

const struct ctl_command ctl_train = {
    .name = "train",
    .operand = "FILE [NAME=VALUE...]",
    .help = "upload FILE, train a model on it in the daemon, and follow the job",
    .example = "reviews.jsonl --name mood",
    .notes =
        "FILE is a path, which is uploaded; the id of an uploaded file; or local:NAME, a file\n"
        "in the daemon's data_directory. Words after it, NAME=VALUE, say how to train:\n"
        "  label, text, format  how to read FILE, as in `sluice train`: label=1 text=2\n"
        "  n_epochs             passes over FILE\n"
        "  promotion            whether the new model serves: never, if_better, or canary\n"
        "  promotion_margin     with if_better: how much better, in accuracy (0 to 1);\n"
        "                       for language models, in loss\n"
        "  promotion_weight     with canary: percentage of the requests\n"
        "  width, learning_rate and all other hyper-parameters of `sluice train MODEL --help`\n"
        "On a terminal the loss is plotted; elsewhere each event is a line of JSON.\n"
        "A job that fails or is cancelled fails the command.\n",
    .takes_many = true,
    .rows = train_rows,
    .values_bytes = sizeof(struct train_arguments),
    .run = run_train};
