/* ctl_complete.c - `sluicectl complete`: goes on with a text. */
#include "common/events.h"
#include "sluicectl/ctl.h"
#include "sluicectl/print.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    const char *model;
    struct sl_given_int max_tokens, seed;
    struct sl_given_real temperature, top_p;
    struct sl_strings stop;
    bool stream, no_stream, truncate, replace, usage;
};

#define AT(member) offsetof(struct arguments, member)

static const struct sl_option rows[] = {
    {"model", "NAME", "who is asked [the only one that completes]", SL_OPTION_STRING, AT(model), 0,
     0},
    {"max-tokens", "N", "at most so many tokens [64]", SL_OPTION_GIVEN_INT, AT(max_tokens), 0, 1e6},
    {"temperature", "T", "0 takes the likeliest token always [1]", SL_OPTION_GIVEN_REAL,
     AT(temperature), 0, 2},
    {"top-p", "P", "only the likeliest tokens, together this likely [1]", SL_OPTION_GIVEN_REAL,
     AT(top_p), 0, 1},
    {"seed", "N", "the same number, the same text [drawn]", SL_OPTION_GIVEN_INT, AT(seed), -9.3e18,
     9.3e18},
    {"stop", "TEXT", "end before this text; up to 4 times", SL_OPTION_STRINGS, AT(stop), 0, 0},
    {"truncate", NULL, "use the end of a prompt that is too long (\"truncate\": true)",
     SL_OPTION_FLAG, AT(truncate), 0, 0},
    {"replace", NULL, "replace unknown characters (\"unknown_characters\": \"replace\")",
     SL_OPTION_FLAG, AT(replace), 0, 0},
    {"stream", NULL, "print text as it comes [on a terminal]", SL_OPTION_FLAG, AT(stream), 0, 0},
    {"no-stream", NULL, "print the text when it is complete", SL_OPTION_FLAG, AT(no_stream), 0, 0},
    {"usage", NULL, "say on standard error what it used", SL_OPTION_FLAG, AT(usage), 0, 0},
    {0}};

/* ---- the request ----------------------------------------------------------------------------- */

static bool read_input(const struct ctl *ctl, struct bytes *text, struct fault *fault)
{
    enum { INPUT_BYTES_MAX = 64 << 20 };

    char buffer[1 << 14];
    size_t count;
    if (ctl->operand_count == 0 && isatty(STDIN_FILENO))
        return fault_set(fault, EXIT_MISUSED, "what is to be completed? Give a text, or pipe one");
    while ((count = fread(buffer, 1, sizeof buffer, stdin)) > 0)
        if (text->count > INPUT_BYTES_MAX || !bytes_add(text, buffer, count))
            return fault_set(fault, EXIT_FAILED, "standard input is too long for a prompt");
    return !ferror(stdin) || fault_set(fault, EXIT_FAILED, "standard input cannot be read");
}

static void add_number(json_t *object, const char *name, const struct sl_given_real *number)
{
    if (number->given)
        (void)json_object_set_new(object, name, json_real(number->value));
}

static void add_stops(json_t *object, const struct sl_strings *stop)
{
    json_t *list = json_array();
    for (int i = 0; i < stop->count; i++)
        (void)json_array_append_new(list, json_string(stop->items[i]));
    if (stop->count > 0)
        (void)json_object_set(object, "stop", list);
    json_decref(list);
}

/* The request's body, to be freed. NULL: the texts are not UTF-8. */
static char *write_body(const struct arguments *a, const char *model, const struct bytes *prompt,
                        bool stream)
{
    json_t *body =
        json_pack("{s:s, s:s%, s:I, s:b}", "model", model, "prompt",
                  prompt->data ? prompt->data : "", prompt->count, "max_tokens",
                  (json_int_t)(a->max_tokens.given ? a->max_tokens.value : 64), "stream", stream);
    if (!body)
        return NULL;
    add_number(body, "temperature", &a->temperature);
    add_number(body, "top_p", &a->top_p);
    add_stops(body, &a->stop);
    if (a->seed.given)
        (void)json_object_set_new(body, "seed", json_integer(a->seed.value));
    if (a->truncate)
        (void)json_object_set_new(body, "truncate", json_true());
    if (a->replace)
        (void)json_object_set_new(body, "unknown_characters", json_string("replace"));
    if (stream)
        (void)json_object_set_new(body, "stream_options", json_pack("{s:b}", "include_usage", 1));
    char *text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    return text;
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* A stream on its way to standard output. */
struct show {
    bool json, usage;
    bool ended, failed; /* [DONE] has come; the fault is set */
    struct fault *fault;
    struct events events;
};

static bool show_event(void *context, const char *data, size_t count)
{
    struct show *show = context;
    static const char last[] = "[DONE]";
    if (count == sizeof last - 1 && memcmp(data, last, count) == 0) {
        show->ended = true;
        return true;
    }
    show->failed |= show->json ? !print_event(data, count, show->fault)
                               : !print_texts(data, count, show->usage, show->fault);
    return !show->failed && fflush(stdout) == 0;
}

static bool show_bytes(void *context, const char *data, size_t count)
{
    struct show *show = context;
    return events_feed(&show->events, data, count);
}

static bool ask_stream(const struct ctl *ctl, struct client *client, const char *body, bool usage,
                       struct fault *fault)
{
    struct show show = {.json = ctl->json, .usage = usage, .fault = fault};
    struct client_answer answer = {0};
    show.events = (struct events){.take = show_event, .context = &show};
    const struct client_request request = {
        .path = "/v1/completions", .body = body, .take = show_bytes, .context = &show};
    bool asked = ctl_ask(client, &request, &answer, fault);
    client_answer_release(&answer);
    events_release(&show.events);
    if (!asked || show.failed)
        return false;
    return show.ended || fault_set(fault, EXIT_FAILED, "the stream broke off before its end");
}

static bool ask_whole(const struct ctl *ctl, struct client *client, const char *body, bool usage,
                      struct fault *fault)
{
    const struct client_request request = {.path = "/v1/completions", .body = body};
    struct client_answer answer = {0};
    bool good = ctl_ask(client, &request, &answer, fault) &&
                (ctl->json ? print_raw(&answer.body, fault)
                           : print_texts(answer.body.data, answer.body.count, usage, fault));
    client_answer_release(&answer);
    return good;
}

static bool complete(const struct ctl *ctl, const struct arguments *a, struct client *client,
                     const struct bytes *prompt, struct fault *fault)
{
    bool stream = a->stream || (!a->no_stream && !ctl->json && isatty(STDOUT_FILENO));
    char *model = ctl_model(client, a->model, fault);
    if (!model)
        return false;
    char *body = write_body(a, model, prompt, stream);
    bool good = body ? (stream ? ask_stream : ask_whole)(ctl, client, body, a->usage, fault)
                     : fault_set(fault, EXIT_MISUSED, "the prompt, or another text, is not UTF-8");
    if (good && !ctl->json && isatty(STDOUT_FILENO))
        (void)putchar('\n');
    free(body);
    free(model);
    return good;
}

static bool run(const struct ctl *ctl, void *values, const char *operand, struct fault *fault)
{
    const struct arguments *a = values;
    struct bytes prompt = {0};
    if (a->stream && a->no_stream)
        return fault_set(fault, EXIT_MISUSED, "--stream and --no-stream: which?");
    struct client *client = ctl_client(ctl, fault);
    bool read = ctl_reads_input(ctl)
                    ? read_input(ctl, &prompt, fault)
                    : bytes_add(&prompt, operand, strlen(operand)) || fault_no_memory(fault);
    bool good = client && read && complete(ctl, a, client, &prompt, fault);
    client_destroy(client);
    bytes_release(&prompt);
    return good;
}

const struct ctl_command ctl_complete = {.name = "complete",
                                         .operand = "[TEXT]",
                                         .help = "goes on with TEXT, or with standard input (-)",
                                         .example = "\"ROMEO:\" --max-tokens 200 --seed 1",
                                         .rows = rows,
                                         .values_bytes = sizeof(struct arguments),
                                         .run = run};
