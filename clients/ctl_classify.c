/* ctl_classify.c - `sluicectl classify`: what a classifier makes of texts. */
#include "ctl.h"
#include "print.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXTS_MAX = 64, LINE_BYTES_MAX = 1 << 20, PATH_BYTES = 512 };

struct arguments {
    const char *model;
    struct switch_whole top;
    bool truncate, replace;
};

#define AT(member) offsetof(struct arguments, member)

static const struct switch_row rows[] = {
    {"model", "NAME", "who is asked [the daemon's default classifier]", SWITCH_TEXT, AT(model), 0,
     0},
    {"top", "N", "the so many likeliest labels of each text [1]", SWITCH_WHOLE, AT(top), 1, 4096},
    {"truncate", NULL, "cut the end of texts that are too long", SWITCH_ON, AT(truncate), 0, 0},
    {"replace", NULL, "replace characters out of the vocabulary", SWITCH_ON, AT(replace), 0, 0},
    {0}};

/* What goes through all requests of one command. */
struct job {
    const struct ctl *ctl;
    const struct arguments *arguments;
    struct client *client;
    char path[PATH_BYTES]; /* of inference */
    int shown;             /* texts so far */
};

/* ---- requests -------------------------------------------------------------------------------- */

/* The path at which the wanted classifier, or the default one, infers. */
static bool find_model(struct job *job, struct fault *fault)
{
    char *model = ctl_classifier(job->client, job->arguments->model, fault);
    if (model)
        (void)snprintf(job->path, sizeof job->path, "/v2/models/%s/infer", model);
    free(model);
    return model;
}

/* The labels of the highest probability as value:class:label, how deep each text went, and what it
 * lost. To be freed; NULL: a text is not UTF-8. */
static char *write_body(const struct arguments *a, const char *const *texts, int count)
{
    json_t *data = json_array();
    for (int i = 0; i < count; i++)
        if (json_array_append_new(data, json_string(texts[i])) != 0) {
            json_decref(data);
            return NULL;
        }
    json_t *body = json_pack(
        "{s:[{s:s, s:s, s:[i], s:o}], s:{s:b, s:s}, s:[{s:s, s:{s:I}}, {s:s}, {s:s}]}", "inputs",
        "name", "text", "datatype", "BYTES", "shape", count, "data", data, "parameters", "truncate",
        a->truncate, "unknown_characters", a->replace ? "replace" : "error", "outputs", "name",
        "probs", "parameters", "classification", (json_int_t)(a->top.given ? a->top.value : 1),
        "name", "depth", "name", "truncated");
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    return text;
}

static bool classify(struct job *job, const char *const *texts, int count, struct fault *fault)
{
    struct client_answer answer = {0};
    char *body = write_body(job->arguments, texts, count);
    const struct client_request request = {.path = job->path, .body = body};
    if (!body)
        return fault_set(fault, EXIT_MISUSED, "a text is not UTF-8");
    bool good = ctl_ask(job->client, &request, &answer, fault) &&
                print_classes(&answer.body, texts, count, job->shown == 0, job->ctl->json, fault);
    job->shown += count;
    client_answer_release(&answer);
    free(body);
    return good;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static bool classify_words(struct job *job, struct fault *fault)
{
    bool good = true;
    for (int i = 0; i < job->ctl->operand_count && good; i += TEXTS_MAX) {
        int left = job->ctl->operand_count - i;
        good = classify(job, job->ctl->operands + i, left < TEXTS_MAX ? left : TEXTS_MAX, fault);
    }
    return good;
}

/* The next line that is not empty, to be freed; NULL at the end, or with a fault. */
static char *next_line(struct fault *fault)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    while ((length = getline(&line, &room, stdin)) >= 0) {
        while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
            line[--length] = '\0';
        if (length > LINE_BYTES_MAX || strlen(line) != (size_t)length) {
            (void)fault_set(fault, EXIT_FAILED, "a line is longer than %d bytes, or holds a NUL",
                            LINE_BYTES_MAX);
            break;
        }
        if (length > 0)
            return line;
    }
    free(line);
    return NULL;
}

static bool classify_lines(struct job *job, struct fault *fault)
{
    char *lines[TEXTS_MAX];
    bool good = true;
    if (isatty(STDIN_FILENO))
        return fault_set(fault, EXIT_MISUSED,
                         "what is to be classified? Give texts, or pipe lines");
    for (int count = TEXTS_MAX; good && count == TEXTS_MAX;) {
        for (count = 0; count < TEXTS_MAX && (lines[count] = next_line(fault));)
            count++;
        good = fault->exit_code == EXIT_DONE;
        if (good && count > 0)
            good = classify(job, (const char *const *)lines, count, fault);
        for (int i = 0; i < count; i++)
            free(lines[i]);
    }
    return good;
}

static bool run(const struct ctl *ctl, void *values, const char *operand, struct fault *fault)
{
    struct job job = {.ctl = ctl, .arguments = values, .client = ctl_client(ctl, fault)};
    bool good = job.client && find_model(&job, fault) &&
                (operand ? classify_words(&job, fault) : classify_lines(&job, fault));
    client_destroy(job.client);
    return good;
}

const struct ctl_command ctl_classify = {.name = "classify",
                                         .operand = "[TEXT...]",
                                         .help =
                                             "what a classifier makes of TEXTs, or of the lines "
                                             "of standard input",
                                         .takes_many = true,
                                         .rows = rows,
                                         .values_bytes = sizeof(struct arguments),
                                         .run = run};
