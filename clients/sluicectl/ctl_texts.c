/* ctl_texts.c - sends the texts of a command in requests of as many as the daemon takes. */
#include "sluicectl/ctl_texts.h"
#include "sluicectl/ctl_connection.h"
#include "sluicectl/ctl_hints.h"
#include "sluicectl/ctl_model_choice.h"
#include "sluicectl/response_error.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ENVELOPE_BYTES: the largest size of a request without its texts. */
enum { LINE_BYTES_MAX = 1 << 20, ENVELOPE_BYTES = 512 };

/* ---- requests -------------------------------------------------------------------------------- */

/* The length of a text as JSON; 0: not UTF-8. */
static size_t json_bytes(const char *text)
{
    json_t *string = json_string(text);
    size_t bytes = string ? json_dumpb(string, NULL, 0, JSON_ENCODE_ANY) : 0;
    json_decref(string);
    return bytes;
}

/* Reports a text that the daemon does not take; the others are still sent. `why` goes on after
 * the text's number, as "is empty" does, or is a sentence. */
static void report(struct ctl_texts *job, int64_t number, const char *why)
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
static void drop_texts(struct ctl_texts *job, int first, int count)
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
static bool handle_error(struct ctl_texts *job, int count, const struct client_response *response,
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

/* How they become tokens: members of an object. */
static void add_parameters(const struct ctl_texts *job, struct sl_json_writer *json)
{
    const struct ctl_text_arguments *a = job->arguments;
    sl_json_add(json, "'truncate':%i,'unknown_characters':%s", a->truncate != NULL,
                a->replace ? "replace" : "error");
    if (a->truncate && strcmp(a->truncate, CTL_MODEL_SIDE) != 0)
        sl_json_add(json, "'truncation_direction':%s", a->truncate);
    if (a->prompt_name)
        sl_json_add(json, "'prompt_name':%s", a->prompt_name);
}

static void write_sparse(const struct ctl_texts *job, int count, struct sl_buffer *body)
{
    struct sl_json_writer json = {.out = body};
    sl_json_add(&json, "{'inputs':");
    sl_json_add_strings(&json, (const char *const *)job->texts, count);
    add_parameters(job, &json);
    if (job->arguments->budget.given)
        sl_json_add(&json, "'sluice':{'budget':%f}", job->arguments->budget.value);
    sl_json_end_object(&json);
}

static void write_masked(const struct ctl_texts *job, int count, struct sl_buffer *body)
{
    const struct sl_given_int *top = &job->arguments->top;
    struct sl_json_writer json = {.out = body};
    sl_json_add(&json, "{'inputs':");
    sl_json_add_strings(&json, (const char *const *)job->texts, count);
    sl_json_add(&json, "'parameters':{");
    add_parameters(job, &json);
    if (top->given)
        sl_json_add(&json, "'top_k':%lld", (long long)top->value);
    sl_json_add(&json, "}}");
}

static void write_translation(const struct ctl_texts *job, int count, struct sl_buffer *body)
{
    const struct ctl_text_arguments *a = job->arguments;
    struct sl_json_writer json = {.out = body};
    sl_json_add(&json, "{'model':%s,'truncate':%i,'unknown_characters':%s,'prompt':", job->model,
                a->truncate != NULL, a->replace ? "replace" : "error");
    sl_json_add_strings(&json, (const char *const *)job->texts, count);
    sl_json_end_object(&json);
}

static void write_ranking(const struct ctl_texts *job, int count, struct sl_buffer *body)
{
    struct sl_json_writer json = {.out = body};
    sl_json_add(&json, "{'query':%s,'texts':", job->query);
    sl_json_add_strings(&json, (const char *const *)job->texts, count);
    add_parameters(job, &json);
    sl_json_end_object(&json);
}

static void write_inference(const struct ctl_texts *job, int count, struct sl_buffer *body)
{
    const struct ctl_text_arguments *a = job->arguments;
    struct sl_json_writer json = {.out = body};
    sl_json_add(&json, "{'inputs':[{'name':'text','datatype':'BYTES','shape':[%d],'data':", count);
    sl_json_add_strings(&json, (const char *const *)job->texts, count);
    sl_json_add(&json, "}],'parameters':{");
    add_parameters(job, &json);
    if (a->explain.given)
        sl_json_add(&json, "'explain':%lld", (long long)a->explain.value);
    if (job->tags)
        sl_json_add(&json, "'aggregation_strategy':%s", a->aggregation ? a->aggregation : "simple");
    if (a->budget.given)
        sl_json_add_real(sl_json_key(&json, "budget"), a->budget.value);
    sl_json_add(&json, "},'outputs':[");
    job->add_outputs(job, &json);
    sl_json_add(&json, "]}");
}

/* By enum ctl_request. `after` NULL: the body names the model. The response about masks is that of
 * one text. */
static const struct request_kind {
    const char *before, *after; /* of the path, around the model's name */
    int texts_max;
    void (*write)(const struct ctl_texts *job, int count, struct sl_buffer *body);
} request_kinds[CTL_REQUESTS] = {
    [CTL_INFER] = {"/v2/models/", "/infer", CTL_TEXTS_MAX, write_inference},
    [CTL_RANK] = {"/models/", "/rerank", CTL_TEXTS_MAX, write_ranking},
    [CTL_EMBED_SPARSE] = {"/models/", "/embed_sparse", CTL_TEXTS_MAX, write_sparse},
    [CTL_FILL_MASK] = {"/hf/", "/pipeline/fill-mask", 1, write_masked},
    [CTL_TRANSLATE] = {"/v1/completions", NULL, CTL_TEXTS_MAX, write_translation}};

/* Checks the options, and takes the endpoint and the limits of one request from /info. */
static bool begin(struct ctl_texts *job, const struct print_info *info,
                  struct client_error *failure)
{
    const char *side = job->arguments->truncate;
    const struct request_kind *kind = &request_kinds[job->request];
    job->multi_label = info->multi_label;
    job->tags = info->tags;
    job->model = info->model;
    (void)snprintf(job->path, sizeof job->path, "%s%s%s", kind->before,
                   kind->after ? info->model : "", kind->after ? kind->after : "");
    job->texts_max = info->texts_max < kind->texts_max ? (int)info->texts_max : kind->texts_max;
    const size_t max = (size_t)info->bytes_max, query = job->query ? json_bytes(job->query) : 0;
    job->bytes_max = max > ENVELOPE_BYTES + query ? max - ENVELOPE_BYTES - query : 0;
    if (job->query && query == 0)
        return client_error_set(failure, EXIT_BAD_INPUT, "the query is not UTF-8");
    return !side || strcmp(side, "left") == 0 || strcmp(side, "right") == 0 ||
           strcmp(side, CTL_MODEL_SIDE) == 0 ||
           client_error_set(failure, EXIT_BAD_INPUT,
                            "invalid --truncate '%.64s': expected left, right or " CTL_MODEL_SIDE,
                            side);
}

/* Sends the first texts in one request. Afterwards fewer texts are left, or the next request is
 * smaller, or it failed. */
static bool send_batch(struct ctl_texts *job, struct client_error *failure)
{
    struct client_response response = {0};
    int count = job->count < job->texts_max ? job->count : job->texts_max;
    struct sl_buffer body = {0};
    request_kinds[job->request].write(job, count, &body);
    const struct client_request request = {.path = job->path, .body = body.data};
    bool good = (!body.failed || client_error_no_memory(failure)) &&
                client_send(job->client, &request, &response, failure);
    if (good && response.status != 200)
        good = handle_error(job, count, &response, failure);
    else if (good) {
        good = job->print(&job->printer, &response.body, (const char *const *)job->texts, count,
                          failure);
        drop_texts(job, 0, count);
    }
    client_response_release(&response);
    sl_buffer_release(&body);
    return good;
}

static void drop_all(struct ctl_texts *job)
{
    drop_texts(job, 0, job->count);
    job->bytes = 0;
}

/* Sends all texts that were added: a request for as many texts as the daemon holds, and at most one
 * more for each text that is rejected. */
static bool flush(struct ctl_texts *job, struct client_error *failure)
{
    bool good = true;
    while (good && job->count > 0)
        good = send_batch(job, failure);
    drop_all(job);
    return good;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Copies the text. One that is too long for any request is sent alone, so that the daemon reports
 * it. */
static bool add(struct ctl_texts *job, const char *text, int64_t number,
                struct client_error *failure)
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

static bool add_words(struct ctl_texts *job, struct client_error *failure)
{
    bool good = true;
    for (int i = 0; i < job->ctl->operand_count && good; i++)
        good = add(job, job->ctl->operands[i], i + 1, failure);
    return good;
}

/* Reads the next line without its end and keeps the first `capacity` bytes. Returns its length; -1:
 * no more lines. */
static int64_t read_line(FILE *file, char *line, size_t capacity)
{
    int64_t length = 0;
    int byte;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
    while ((byte = getc_unlocked(file)) != EOF && byte != '\n')
        if ((size_t)length++ < capacity)
            line[length - 1] = (char)byte;
    return byte == EOF && length == 0 ? -1 : length;
}

static bool add_line(struct ctl_texts *job, char *line, int64_t length, int64_t number,
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
static bool add_lines(struct ctl_texts *job, struct client_error *failure)
{
    FILE *file = job->lines ? job->lines : stdin;
    if (!job->lines && job->ctl->operand_count == 0 && isatty(STDIN_FILENO))
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "missing text: give TEXT, or pipe lines to standard input");
    char *line = malloc(LINE_BYTES_MAX + 1);
    bool good = true;
    int64_t length;
    if (!line)
        return client_error_no_memory(failure);
    for (int64_t number = 1; good && (length = read_line(file, line, LINE_BYTES_MAX + 1)) >= 0;
         number++)
        good = add_line(job, line, length, number, failure);
    free(line);
    return good;
}

/* The texts were reported already: sets only the exit code, and the daemon's last error code. */
static bool fail_silently(const struct ctl_texts *job, struct client_error *failure)
{
    (void)client_error_set(failure, EXIT_BAD_INPUT, "%s", "");
    memcpy(failure->code, job->code, sizeof failure->code);
    return false;
}

static bool send_all(struct ctl_texts *job, struct client_error *failure)
{
    bool words = !job->lines && !ctl_reads_input(job->ctl);
    job->what = words ? "text" : "line";
    bool good = words ? add_words(job, failure) : add_lines(job, failure);
    if (!good) {
        drop_all(job);
        return false;
    }
    return flush(job, failure);
}

static bool end(const struct ctl_texts *job, struct client_error *failure)
{
    const struct class_printer *printer = &job->printer;
    (void)fflush(stdout);
    if (printer->format == PRINT_ROWS && printer->truncated > 0)
        (void)fprintf(stderr, "sluicectl: %lld of %lld texts were truncated\n",
                      (long long)printer->truncated, (long long)printer->texts);
    return !job->has_skipped || fail_silently(job, failure);
}

static enum print_format format_of(const struct ctl_options *ctl)
{
    if (ctl->json)
        return PRINT_OBJECTS;
    return isatty(STDOUT_FILENO) ? PRINT_TABLE : PRINT_ROWS;
}

static bool work(struct ctl_texts *job, struct client_error *failure)
{
    struct print_info info = {0};
    const char *named = job->arguments->model;
    char *chosen = job->choose ? job->choose(job->client, named, failure) : NULL;
    bool good = (chosen || !job->choose) &&
                ctl_classifier(job->client, chosen ? chosen : named, &info, failure) &&
                job->check(job, &info, failure) && begin(job, &info, failure) &&
                send_all(job, failure);
    if (job->query)
        print_ranks(&job->printer);
    print_info_release(&info);
    free(chosen);
    return good && end(job, failure);
}

bool ctl_texts_run(struct ctl_texts *job, struct client_error *failure)
{
    job->printer.format = format_of(job->ctl);
    job->client = ctl_client(job->ctl, failure);
    bool good = job->client && work(job, failure);
    client_destroy(job->client);
    return good;
}
