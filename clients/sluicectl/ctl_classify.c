/* ctl_classify.c - `sluicectl classify`: classifies texts or lines. */
#include "sluicectl/ctl_connection.h"
#include "sluicectl/ctl_hints.h"
#include "sluicectl/ctl_model_choice.h"
#include "sluicectl/print.h"
#include "sluicectl/response_error.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ENVELOPE_BYTES: the largest size of a request without its texts. */
#define MODEL_SIDE "model"

enum { TEXTS_MAX = 64, LINE_BYTES_MAX = 1 << 20, PATH_BYTES = 512, ENVELOPE_BYTES = 512 };

struct arguments {
    const char *model;
    struct sl_given_int top;
    const char *truncate;
    bool replace;
};

#define AT(member) offsetof(struct arguments, member)

static const struct sl_option rows[] = {
    {"model", "NAME", "model to use [the daemon's default classifier]", SL_OPTION_STRING, AT(model),
     0, 0},
    {"top", "N", "number of most likely labels to print for each text [1]", SL_OPTION_GIVEN_INT,
     AT(top), 1, 4096},
    {"truncate", "SIDE",
     "cut texts that are too long, from this side: left, right, or model for the side that the "
     "model was trained with [reject them]",
     SL_OPTION_STRING, AT(truncate), 0, 0},
    {"replace", NULL, "replace characters that the model does not know", SL_OPTION_FLAG,
     AT(replace), 0, 0},
    {0}};

static const char notes[] =
    "Prints a table on a terminal. Elsewhere, prints a row for each label: label, score (at\n"
    "most 0.999999) and text, separated by tabs, as `sluice classify` does. With --json,\n"
    "prints an object for each text.\n"
    "Skips empty lines. Reports texts that cannot be classified on standard error, and\n"
    "classifies the others; the exit code is then 2, as that of `sluice classify`.\n";

/* The state of one command, over all its requests. */
struct job {
    const struct ctl_options *ctl;
    const struct arguments *arguments;
    struct client *client;
    char path[PATH_BYTES];            /* of the inference endpoint */
    int texts_max;                    /* per request; halved when the daemon cannot hold so many */
    size_t bytes_max;                 /* per request, of its texts as JSON */
    bool has_skipped;                 /* some text could not be classified */
    char code[CLIENT_ERROR_CODE_MAX]; /* the daemon's error code for the last of them */
    const char *what;                 /* "text" or "line", for messages */
    struct class_printer printer;

    char *texts[TEXTS_MAX];     /* not sent yet */
    int64_t numbers[TEXTS_MAX]; /* their positions in the input, from 1 */
    int count;
    size_t bytes; /* of the texts as JSON, with commas */
};

/* ---- requests -------------------------------------------------------------------------------- */

/* Finds the endpoint of the classifier to use, and the limits of one request. */
static bool find_model(struct job *job, struct client_error *failure)
{
    struct print_info info = {0};
    if (!ctl_classifier(job->client, job->arguments->model, &info, failure))
        return false;
    (void)snprintf(job->path, sizeof job->path, "/v2/models/%s/infer", info.model);
    job->texts_max = info.texts_max < TEXTS_MAX ? (int)info.texts_max : TEXTS_MAX;
    job->bytes_max = info.bytes_max > ENVELOPE_BYTES ? (size_t)info.bytes_max - ENVELOPE_BYTES : 0;
    print_info_release(&info);
    return true;
}

static bool check_side(const char *side, struct client_error *failure)
{
    return !side || strcmp(side, "left") == 0 || strcmp(side, "right") == 0 ||
           strcmp(side, MODEL_SIDE) == 0 ||
           client_error_set(failure, EXIT_BAD_INPUT,
                            "invalid --truncate '%.64s': expected left, right or " MODEL_SIDE,
                            side);
}

/* The body of a request for the most likely labels as value:class:label, the depth of each text,
 * and how many tokens were cut. To be freed; NULL: no memory. */
static char *write_body(const struct arguments *a, char *const *texts, int count)
{
    json_t *data = json_array();
    for (int i = 0; i < count; i++)
        if (json_array_append_new(data, json_string(texts[i])) != 0) {
            json_decref(data);
            return NULL;
        }
    bool names_side = a->truncate && strcmp(a->truncate, MODEL_SIDE) != 0;
    json_t *body = json_pack(
        "{s:[{s:s, s:s, s:[i], s:o}], s:{s:b, s:s*, s:s}, s:[{s:s, s:{s:I}}, {s:s}, {s:s}]}",
        "inputs", "name", "text", "datatype", "BYTES", "shape", count, "data", data, "parameters",
        "truncate", a->truncate != NULL, "truncation_direction", names_side ? a->truncate : NULL,
        "unknown_characters", a->replace ? "replace" : "error", "outputs", "name", "probs",
        "parameters", "classification", (json_int_t)(a->top.given ? a->top.value : 1), "name",
        "depth", "name", "truncated");
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    return text;
}

/* Reports a text that cannot be classified; the others are still classified. `why` goes on after
 * the text's number, as "is empty" does, or is a sentence. */
static void report(struct job *job, int64_t number, const char *why)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "sluicectl: %s %lld%s %s\n", job->what, (long long)number,
                  islower((unsigned char)why[0]) ? "" : ":", why);
    job->has_skipped = true;
}

/* Which of the first `count` texts an error is about; -1: not about a single text. */
static int rejected_text(int count, int status, const struct client_error *rejection)
{
    if (status == 413 && count == 1)
        return 0;
    return status / 100 == 4 && rejection->err.index < count ? (int)rejection->err.index : -1;
}

/* Removes `count` texts from `first` on. */
static void drop_texts(struct job *job, int first, int count)
{
    for (int i = first; i < first + count; i++)
        free(job->texts[i]);
    for (int i = first; i + count < job->count; i++) {
        job->texts[i] = job->texts[i + count];
        job->numbers[i] = job->numbers[i + count];
    }
    job->count -= count;
}

/* An error about one text drops that text. One about several together, such as too many tokens,
 * may not hold for half of them: the next request is smaller. Any other error fails the command. */
static bool handle_error(struct job *job, int count, const struct client_response *response,
                         struct client_error *failure)
{
    struct client_error rejection = {0};
    (void)response_error(response, &rejection);
    int index = rejected_text(count, response->status, &rejection);
    if (index < 0 && count > 1 && (response->status == 400 || response->status == 413)) {
        job->texts_max = count / 2;
        return true;
    }
    if (index < 0) {
        *failure = rejection;
        return false;
    }
    ctl_remove_advice(&rejection); /* the hint comes once, at the end */
    report(job, job->numbers[index], rejection.err.text);
    memcpy(job->code, rejection.code, sizeof job->code);
    drop_texts(job, index, 1);
    return true;
}

/* Sends the first texts in one request. Afterwards fewer texts are left, or the next request is
 * smaller, or it failed. */
static bool send_batch(struct job *job, struct client_error *failure)
{
    struct client_response response = {0};
    int count = job->count < job->texts_max ? job->count : job->texts_max;
    char *body = write_body(job->arguments, job->texts, count);
    const struct client_request request = {.path = job->path, .body = body};
    bool good = (body || client_error_no_memory(failure)) &&
                client_send(job->client, &request, &response, failure);
    if (good && response.status != 200)
        good = handle_error(job, count, &response, failure);
    else if (good) {
        good = print_classes(&job->printer, &response.body, (const char *const *)job->texts, count,
                             failure);
        drop_texts(job, 0, count);
    }
    client_response_release(&response);
    free(body);
    return good;
}

static void drop_all(struct job *job)
{
    drop_texts(job, 0, job->count);
    job->bytes = 0;
}

/* Classifies all texts that were added. Sends a request for as many texts as the daemon holds, and
 * at most one more for each text that is rejected. */
static bool flush(struct job *job, struct client_error *failure)
{
    bool good = true;
    while (good && job->count > 0)
        good = send_batch(job, failure);
    drop_all(job);
    return good;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* The length of a text as JSON; 0: not UTF-8. */
static size_t json_bytes(const char *text)
{
    json_t *string = json_string(text);
    size_t bytes = string ? json_dumpb(string, NULL, 0, JSON_ENCODE_ANY) : 0;
    json_decref(string);
    return bytes;
}

/* Copies the text. One that is too long for any request is sent alone, so that the daemon reports
 * it. */
static bool add(struct job *job, const char *text, int64_t number, struct client_error *failure)
{
    size_t bytes = json_bytes(text) + 1;
    if (bytes == 1) {
        report(job, number, "is not UTF-8");
        return true;
    }
    if ((job->count == job->texts_max || job->bytes + bytes > job->bytes_max) &&
        !flush(job, failure))
        return false;
    char *copy = strdup(text);
    if (!copy)
        return client_error_no_memory(failure);
    job->numbers[job->count] = number;
    job->texts[job->count++] = copy;
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the copy is the job's, flush frees it
    job->bytes += bytes;
    return true;
}

static bool add_words(struct job *job, struct client_error *failure)
{
    bool good = true;
    for (int i = 0; i < job->ctl->operand_count && good; i++)
        good = add(job, job->ctl->operands[i], i + 1, failure);
    return good;
}

/* Reads the next line without its end and keeps the first `capacity` bytes. Returns its length; -1:
 * no more lines. */
static int64_t read_line(char *line, size_t capacity)
{
    int64_t length = 0;
    int byte;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
    while ((byte = getc_unlocked(stdin)) != EOF && byte != '\n')
        if ((size_t)length++ < capacity)
            line[length - 1] = (char)byte;
    return byte == EOF && length == 0 ? -1 : length;
}

static bool add_line(struct job *job, char *line, int64_t length, int64_t number,
                     struct client_error *failure)
{
    while (length > 0 && length <= LINE_BYTES_MAX + 1 && line[length - 1] == '\r')
        length--;
    if (length > LINE_BYTES_MAX) {
        report(job, number, "is longer than 1 MiB");
        return true;
    }
    line[length] = '\0';
    if (strlen(line) == (size_t)length)
        return length == 0 || add(job, line, number, failure);
    report(job, number, "contains a NUL byte");
    return true;
}

/* Skips empty lines. */
static bool add_lines(struct job *job, struct client_error *failure)
{
    if (job->ctl->operand_count == 0 && isatty(STDIN_FILENO))
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "missing text: give TEXT, or pipe lines to standard input");
    char *line = malloc(LINE_BYTES_MAX + 1);
    bool good = true;
    int64_t length;
    if (!line)
        return client_error_no_memory(failure);
    for (int64_t number = 1; good && (length = read_line(line, LINE_BYTES_MAX + 1)) >= 0; number++)
        good = add_line(job, line, length, number, failure);
    free(line);
    return good;
}

/* Rows, unlike the other formats, do not show which texts were truncated. */
static void report_truncated(const struct class_printer *printer)
{
    (void)fflush(stdout);
    if (printer->format == PRINT_ROWS && printer->truncated > 0)
        (void)fprintf(stderr, "sluicectl: %lld of %lld texts were truncated\n",
                      (long long)printer->truncated, (long long)printer->texts);
}

/* The texts were reported already: sets only the exit code, and the daemon's last error code. */
static bool fail_silently(const struct job *job, struct client_error *failure)
{
    (void)client_error_set(failure, EXIT_BAD_INPUT, "%s", "");
    memcpy(failure->code, job->code, sizeof failure->code);
    return false;
}

static bool classify(struct job *job, struct client_error *failure)
{
    bool words = !ctl_reads_input(job->ctl);
    job->what = words ? "text" : "line";
    bool good = words ? add_words(job, failure) : add_lines(job, failure);
    if (!good) {
        drop_all(job);
        return false;
    }
    if (!flush(job, failure))
        return false;
    report_truncated(&job->printer);
    return !job->has_skipped || fail_silently(job, failure);
}

static enum print_format format_of(const struct ctl_options *ctl)
{
    if (ctl->json)
        return PRINT_OBJECTS;
    return isatty(STDOUT_FILENO) ? PRINT_TABLE : PRINT_ROWS;
}

static bool run(const struct ctl_options *ctl, void *values, const char *operand,
                struct client_error *failure)
{
    struct job job = {.ctl = ctl,
                      .arguments = values,
                      .client = ctl_client(ctl, failure),
                      .printer.format = format_of(ctl)};
    (void)operand;
    bool good = check_side(job.arguments->truncate, failure) && job.client &&
                find_model(&job, failure) && classify(&job, failure);
    client_destroy(job.client);
    return good;
}

const struct ctl_command ctl_classify = {.name = "classify",
                                         .operand = "[TEXT...]",
                                         .help = "classify TEXTs, or lines of standard input (-)",
                                         .example = "--top 2 \"What a lovely day.\"",
                                         .notes = notes,
                                         .takes_many = true,
                                         .rows = rows,
                                         .values_bytes = sizeof(struct arguments),
                                         .run = run};
