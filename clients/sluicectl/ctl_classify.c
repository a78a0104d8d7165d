/* ctl_classify.c - `sluicectl classify`: what a classifier makes of texts. */
#include "sluicectl/ctl.h"
#include "sluicectl/print.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ENVELOPE_BYTES: of a request, at most, beside its texts. */
enum { TEXTS_MAX = 64, LINE_BYTES_MAX = 1 << 20, PATH_BYTES = 512, ENVELOPE_BYTES = 512 };

struct arguments {
    const char *model;
    struct sl_given_int top;
    bool truncate, replace;
};

#define AT(member) offsetof(struct arguments, member)

static const struct sl_option rows[] = {
    {"model", "NAME", "who is asked [the daemon's default classifier]", SL_OPTION_STRING, AT(model),
     0, 0},
    {"top", "N", "the so many likeliest labels of each text [1]", SL_OPTION_GIVEN_INT, AT(top), 1,
     4096},
    {"truncate", NULL, "cut the end of texts that are too long (\"truncate\": true)",
     SL_OPTION_FLAG, AT(truncate), 0, 0},
    {"replace", NULL, "replace unknown characters (\"unknown_characters\": \"replace\")",
     SL_OPTION_FLAG, AT(replace), 0, 0},
    {0}};

static const char notes[] =
    "Prints a table on a terminal, and elsewhere a row for each label: label, score (0.999999\n"
    "at most) and text, separated by tabs, as `sluice classify` does; with --json an object\n"
    "for each text.\n"
    "Empty lines are passed over. A text that cannot be classified has no row: standard error\n"
    "says which it is, and why, and the others go on.\n"
    "Exit codes: 0 done; 1 some text was not classified, or the daemon refused or was not\n"
    "reached; 2 misused.\n";

/* What goes through all requests of one command. */
struct job {
    const struct ctl *ctl;
    const struct arguments *arguments;
    struct client *client;
    char path[PATH_BYTES];     /* of inference */
    int texts_max;             /* of one request, fewer once the daemon could not hold so many, */
    size_t bytes_max;          /* and of its texts as JSON */
    bool has_skipped;          /* a text that cannot be classified, */
    char code[FAULT_CODE_MAX]; /* the last for this */
    const char *what;          /* a text is: "text" or "line" */
    struct print_sheet sheet;

    char *texts[TEXTS_MAX];     /* that wait for a request, */
    int64_t numbers[TEXTS_MAX]; /* and their places among all, from 1 */
    int count;
    size_t bytes; /* of them as JSON, commas included */
};

/* ---- requests -------------------------------------------------------------------------------- */

/* Where the wanted classifier, or the default one, infers, and what fits into one request. */
static bool find_model(struct job *job, struct fault *fault)
{
    struct print_info info = {0};
    if (!ctl_classifier(job->client, job->arguments->model, &info, fault))
        return false;
    (void)snprintf(job->path, sizeof job->path, "/v2/models/%s/infer", info.model);
    job->texts_max = info.texts_max < TEXTS_MAX ? (int)info.texts_max : TEXTS_MAX;
    job->bytes_max = info.bytes_max > ENVELOPE_BYTES ? (size_t)info.bytes_max - ENVELOPE_BYTES : 0;
    print_info_release(&info);
    return true;
}

/* The labels of the highest probability as value:class:label, how deep each text went, and what it
 * lost. To be freed; NULL: no memory. */
static char *write_body(const struct arguments *a, char *const *texts, int count)
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

/* Reports a text that cannot be classified with its place; the others go on.
 */
static void report(struct job *job, int64_t number, const char *why)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "sluicectl: %s %lld: %s\n", job->what, (long long)number, why);
    job->has_skipped = true;
}

/* Of the first `count` texts that wait, the one that a refusal is about; -1: it is about more than
 * one text. */
static int refused_text(int count, int status, const struct fault *refusal)
{
    if (status == 413 && count == 1)
        return 0;
    return status / 100 == 4 && refusal->index < count ? refusal->index : -1;
}

/* So many texts from the first on wait no longer. */
static void forget(struct job *job, int first, int count)
{
    for (int i = first; i < first + count; i++)
        free(job->texts[i]);
    for (int i = first; i + count < job->count; i++) {
        job->texts[i] = job->texts[i + count];
        job->numbers[i] = job->numbers[i + count];
    }
    job->count -= count;
}

/* After a refusal for one text the others wait on. What was said of several together, such as that
 * they have too many tokens, need not hold for half of them. Any other is a fault. */
static bool take_refusal(struct job *job, int count, const struct client_answer *answer,
                         struct fault *fault)
{
    struct fault refusal = {0};
    (void)print_refusal(answer, &refusal);
    int index = refused_text(count, answer->status, &refusal);
    if (index < 0 && count > 1 && (answer->status == 400 || answer->status == 413)) {
        job->texts_max = count / 2;
        return true;
    }
    if (index < 0) {
        *fault = refusal;
        return false;
    }
    report(job, job->numbers[index], refusal.text);
    memcpy(job->code, refusal.code, sizeof job->code);
    forget(job, index, 1);
    return true;
}

/* One request about the first texts that wait. Afterwards fewer of them do, or the next is about
 * fewer, or it is a fault. */
static bool ask(struct job *job, struct fault *fault)
{
    struct client_answer answer = {0};
    int count = job->count < job->texts_max ? job->count : job->texts_max;
    char *body = write_body(job->arguments, job->texts, count);
    const struct client_request request = {.path = job->path, .body = body};
    bool good =
        (body || fault_no_memory(fault)) && client_ask(job->client, &request, &answer, fault);
    if (good && answer.status != 200)
        good = take_refusal(job, count, &answer, fault);
    else if (good) {
        good =
            print_classes(&job->sheet, &answer.body, (const char *const *)job->texts, count, fault);
        forget(job, 0, count);
    }
    client_answer_release(&answer);
    free(body);
    return good;
}

static void forget_all(struct job *job)
{
    forget(job, 0, job->count);
    job->bytes = 0;
}

/* Asks about the texts that wait, if any; then none waits. A request for as many as the daemon
 * holds, and at most one more for each that is refused. */
static bool flush(struct job *job, struct fault *fault)
{
    bool good = true;
    while (good && job->count > 0)
        good = ask(job, fault);
    forget_all(job);
    return good;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* How long a text is as JSON; 0: it is not UTF-8. */
static size_t json_bytes(const char *text)
{
    json_t *string = json_string(text);
    size_t bytes = string ? json_dumpb(string, NULL, 0, JSON_ENCODE_ANY) : 0;
    json_decref(string);
    return bytes;
}

/* The text is copied. One that is too long for any request goes by itself, for the daemon to say
 * so. */
static bool add(struct job *job, const char *text, int64_t number, struct fault *fault)
{
    size_t bytes = json_bytes(text) + 1;
    if (bytes == 1) {
        report(job, number, "is not UTF-8");
        return true;
    }
    if ((job->count == job->texts_max || job->bytes + bytes > job->bytes_max) && !flush(job, fault))
        return false;
    char *copy = strdup(text);
    if (!copy)
        return fault_no_memory(fault);
    job->numbers[job->count] = number;
    job->texts[job->count++] = copy;
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the copy is the job's, flush frees it
    job->bytes += bytes;
    return true;
}

static bool add_words(struct job *job, struct fault *fault)
{
    bool good = true;
    for (int i = 0; i < job->ctl->operand_count && good; i++)
        good = add(job, job->ctl->operands[i], i + 1, fault);
    return good;
}

/* The next line, without its end, of which the first `room` bytes are kept. Returns how long it is;
 * -1: there is none. */
static int64_t read_line(char *line, size_t room)
{
    int64_t length = 0;
    int byte;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
    while ((byte = getc_unlocked(stdin)) != EOF && byte != '\n')
        if ((size_t)length++ < room)
            line[length - 1] = (char)byte;
    return byte == EOF && length == 0 ? -1 : length;
}

static bool add_line(struct job *job, char *line, int64_t length, int64_t number,
                     struct fault *fault)
{
    while (length > 0 && length <= LINE_BYTES_MAX + 1 && line[length - 1] == '\r')
        length--;
    if (length > LINE_BYTES_MAX) {
        report(job, number, "is longer than 1 MiB");
        return true;
    }
    line[length] = '\0';
    if (strlen(line) == (size_t)length)
        return length == 0 || add(job, line, number, fault);
    report(job, number, "holds a NUL");
    return true;
}

/* Those that are empty are passed over. */
static bool add_lines(struct job *job, struct fault *fault)
{
    if (job->ctl->operand_count == 0 && isatty(STDIN_FILENO))
        return fault_set(fault, EXIT_MISUSED,
                         "what is to be classified? Give texts, or pipe lines");
    char *line = malloc(LINE_BYTES_MAX + 1);
    bool good = true;
    int64_t length;
    if (!line)
        return fault_no_memory(fault);
    for (int64_t number = 1; good && (length = read_line(line, LINE_BYTES_MAX + 1)) >= 0; number++)
        good = add_line(job, line, length, number, fault);
    free(line);
    return good;
}

/* Rows do not show it. */
static void report_truncated(const struct print_sheet *sheet)
{
    (void)fflush(stdout);
    if (sheet->form == PRINT_ROWS && sheet->cut > 0)
        (void)fprintf(stderr, "sluicectl: %lld of %lld texts were cut\n", (long long)sheet->cut,
                      (long long)sheet->texts);
}

/* The texts were reported already: what is left is an exit code, and the daemon's for the last. */
static bool leave(const struct job *job, struct fault *fault)
{
    (void)fault_set(fault, EXIT_FAILED, "%s", "");
    memcpy(fault->code, job->code, sizeof fault->code);
    return false;
}

static bool classify(struct job *job, struct fault *fault)
{
    bool words = !ctl_reads_input(job->ctl);
    job->what = words ? "text" : "line";
    bool good = words ? add_words(job, fault) : add_lines(job, fault);
    if (!good) {
        forget_all(job);
        return false;
    }
    if (!flush(job, fault))
        return false;
    report_truncated(&job->sheet);
    return !job->has_skipped || leave(job, fault);
}

static enum print_form form_of(const struct ctl *ctl)
{
    if (ctl->json)
        return PRINT_OBJECTS;
    return isatty(STDOUT_FILENO) ? PRINT_TABLE : PRINT_ROWS;
}

static bool run(const struct ctl *ctl, void *values, const char *operand, struct fault *fault)
{
    struct job job = {.ctl = ctl,
                      .arguments = values,
                      .client = ctl_client(ctl, fault),
                      .sheet.form = form_of(ctl)};
    (void)operand;
    bool good = job.client && find_model(&job, fault) && classify(&job, fault);
    client_destroy(job.client);
    return good;
}

const struct ctl_command ctl_classify = {.name = "classify",
                                         .operand = "[TEXT...]",
                                         .help =
                                             "what a classifier makes of TEXTs, or of the lines "
                                             "of standard input (-)",
                                         .example = "--top 2 \"What a lovely day.\"",
                                         .notes = notes,
                                         .takes_many = true,
                                         .rows = rows,
                                         .values_bytes = sizeof(struct arguments),
                                         .run = run};
