/* ctl_complete.c - `sluicectl complete`: continues a text. */
#include "base/json_writer.h"
#include "base/utf8.h"
#include "common/sse_parser.h"
#include "sluicectl/ctl_connection.h"
#include "sluicectl/ctl_model_choice.h"
#include "sluicectl/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    const char *model;
    struct sl_given_int max_tokens, seed;
    struct sl_given_real temperature, top_p, budget;
    struct sl_strings stop;
    const char *truncate, *system;
    bool chat, stream, no_stream, replace, usage, depth;
};

#define AT(member) offsetof(struct arguments, member)

static const struct sl_option rows[] = {
    {"model", "NAME", "model to use [the only language model loaded]", SL_OPTION_STRING, AT(model),
     0, 0},
    {"max-tokens", "N",
     "maximum number of tokens to generate [64; with --chat what the context has room for]",
     SL_OPTION_GIVEN_INT, AT(max_tokens), 0, 1e6},
    {"temperature", "T", "sampling temperature; 0: always the most likely token [1]",
     SL_OPTION_GIVEN_REAL, AT(temperature), 0, 2},
    {"top-p", "P", "sample from the most likely tokens with this total probability [1]",
     SL_OPTION_GIVEN_REAL, AT(top_p), 0, 1},
    {"seed", "N", "random seed; the same seed gives the same text [random]", SL_OPTION_GIVEN_INT,
     AT(seed), -9.3e18, 9.3e18},
    CTL_BUDGET_ROW(AT(budget)),
    {"stop", "TEXT", "stop before this text; can be given up to 16 times", SL_OPTION_STRINGS,
     AT(stop), 0, 0},
    {"chat", NULL, "the text is a user's message: print the model's answer", SL_OPTION_FLAG,
     AT(chat), 0, 0},
    {"system", "TEXT", "with --chat: message of the system [as the model says]", SL_OPTION_STRING,
     AT(system), 0, 0},
    {"truncate", "SIDE", "left: drop the beginning of a prompt that is too long [reject it]",
     SL_OPTION_STRING, AT(truncate), 0, 0},
    {"replace", NULL,
     "replace characters that the model does not know by its unknown character, if it has one",
     SL_OPTION_FLAG, AT(replace), 0, 0},
    {"stream", NULL, "print the text while it is generated [on a terminal]", SL_OPTION_FLAG,
     AT(stream), 0, 0},
    {"no-stream", NULL, "print the text when it is complete", SL_OPTION_FLAG, AT(no_stream), 0, 0},
    {"depth", NULL,
     "show how many layers computed each token: by color on a terminal, else as a line of each",
     SL_OPTION_FLAG, AT(depth), 0, 0},
    {"usage", NULL, "print token counts to standard error", SL_OPTION_FLAG, AT(usage), 0, 0},
    {0}};

/* ---- the request ----------------------------------------------------------------------------- */

static bool read_input(const struct ctl_options *ctl, struct sl_buffer *text,
                       struct client_error *failure)
{
    enum { INPUT_BYTES_MAX = 64 << 20 };

    char buffer[1 << 14];
    size_t count;
    if (ctl->operand_count == 0 && isatty(STDIN_FILENO))
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "missing text: give TEXT, or pipe one to standard input");
    text->bytes_max = INPUT_BYTES_MAX;
    while (!text->failed && (count = fread(buffer, 1, sizeof buffer, stdin)) > 0)
        sl_buffer_append(text, buffer, count);
    if (ferror(stdin))
        return client_error_set(failure, EXIT_FAILED, "cannot read standard input");
    if (text->is_full)
        return client_error_set(failure, EXIT_BAD_INPUT, "standard input is longer than 64 MiB");
    return !text->failed || client_error_no_memory(failure);
}

static void add_number(struct sl_json_writer *json, const char *name,
                       const struct sl_given_real *number)
{
    if (number->given)
        sl_json_add_real(sl_json_key(json, name), number->value);
}

/* The writer would replace what is not UTF-8. */
static bool is_valid(const struct arguments *a, const struct sl_buffer *prompt)
{
    for (int i = 0; i < a->stop.count; i++)
        if (!sl_utf8_is_valid(a->stop.items[i], strlen(a->stop.items[i])))
            return false;
    if (a->system && !sl_utf8_is_valid(a->system, strlen(a->system)))
        return false;
    return prompt->bytes == 0 || sl_utf8_is_valid(prompt->data, prompt->bytes);
}

/* How the text is to be read and computed. */
static void add_handling(struct sl_json_writer *json, const struct arguments *a)
{
    if (a->budget.given || a->depth) {
        sl_json_add(json, "'sluice':{");
        add_number(json, "budget", &a->budget);
        if (a->depth)
            sl_json_add(json, "'depth':'tokens'");
        sl_json_end_object(json);
    }
    if (a->seed.given)
        sl_json_add(json, "'seed':%lld", (long long)a->seed.value);
    if (a->truncate)
        sl_json_add(json, "'truncate':true");
    if (a->replace)
        sl_json_add(json, "'unknown_characters':'replace'");
}

static void add_prompt(struct sl_json_writer *json, const struct arguments *a,
                       const struct sl_buffer *prompt)
{
    const char *text = prompt->data ? prompt->data : "";
    if (!a->chat) {
        sl_json_add(json, "'prompt':%.*s", (int)prompt->bytes, text);
        return;
    }
    sl_json_add(json, "'messages':[");
    if (a->system)
        sl_json_add(json, "{'role':'system','content':%s}", a->system);
    sl_json_add(json, "{'role':'user','content':%.*s}]", (int)prompt->bytes, text);
}

/* The body of the request, to be freed. NULL: a text is not UTF-8. */
static char *write_body(const struct arguments *a, const char *model,
                        const struct sl_buffer *prompt, bool stream)
{
    struct sl_buffer body = {0};
    struct sl_json_writer json = {.out = &body};
    if (!is_valid(a, prompt))
        return NULL;
    sl_json_add(&json, "{'model':%s,'stream':%i", model, stream);
    add_prompt(&json, a, prompt);
    if (a->max_tokens.given || !a->chat)
        sl_json_add(&json, "'max_tokens':%lld",
                    (long long)(a->max_tokens.given ? a->max_tokens.value : 64));
    add_number(&json, "temperature", &a->temperature);
    add_number(&json, "top_p", &a->top_p);
    if (a->stop.count > 0)
        sl_json_add_strings(sl_json_key(&json, "stop"), a->stop.items, a->stop.count);
    add_handling(&json, a);
    if (stream)
        sl_json_add(&json, "'stream_options':{'include_usage':true}");
    sl_json_end_object(&json);
    return sl_buffer_take(&body);
}

/* ---- the response ---------------------------------------------------------------------------- */

/* Prints a stream to standard output. */
struct stream_printer {
    bool json;
    struct text_style style;
    bool failed; /* the failure is set */
    struct client_error *failure;
    struct sse_parser events;
};

static bool on_event(void *context, const char *data, size_t count)
{
    struct stream_printer *printer = context;
    printer->failed |= printer->json ? !print_event(data, count, printer->failure)
                                     : !print_texts(data, count, printer->style, printer->failure);
    return !printer->failed && fflush(stdout) == 0;
}

static const char *path_of(const struct ctl_options *ctl)
{
    const struct arguments *a = ctl->values;
    return a->chat ? "/v1/chat/completions" : "/v1/completions";
}

static bool send_streaming(const struct ctl_options *ctl, struct client *client, const char *body,
                           struct text_style style, struct client_error *failure)
{
    struct stream_printer printer = {.json = ctl->json, .style = style, .failure = failure};
    struct client_response response = {0};
    printer.events = (struct sse_parser){.on_event = on_event, .context = &printer};
    const struct client_request request = {
        .path = path_of(ctl), .body = body, .on_body = sse_parser_feed, .context = &printer.events};
    bool sent = ctl_send(client, &request, &response, failure);
    client_response_release(&response);
    sse_parser_release(&printer.events);
    if (!sent || printer.failed)
        return false;
    return printer.events.ended || client_error_set(failure, EXIT_FAILED, "the stream ended early");
}

static bool send_whole(const struct ctl_options *ctl, struct client *client, const char *body,
                       struct text_style style, struct client_error *failure)
{
    const struct client_request request = {.path = path_of(ctl), .body = body};
    struct client_response response = {0};
    bool good = ctl_send(client, &request, &response, failure) &&
                (ctl->json ? print_response(&response.body, NULL, failure)
                           : print_texts(response.body.data, response.body.bytes, style, failure));
    client_response_release(&response);
    return good;
}

static bool complete(const struct ctl_options *ctl, const struct arguments *a,
                     struct client *client, const struct sl_buffer *prompt,
                     struct client_error *failure)
{
    bool stream = a->stream || (!a->no_stream && !ctl->json && isatty(STDOUT_FILENO));
    char *model = ctl_model(client, a->model, failure);
    if (!model)
        return false;
    char *body = write_body(a, model, prompt, stream);
    const struct text_style style = {.usage = a->usage, .depths = a->depth};
    bool good =
        body ? (stream ? send_streaming : send_whole)(ctl, client, body, style, failure)
             : client_error_set(failure, EXIT_BAD_INPUT, "the prompt or a stop text is not UTF-8");
    if (good && a->depth && !ctl->json)
        print_depth_legend();
    if (good && !ctl->json && isatty(STDOUT_FILENO))
        (void)putchar('\n');
    free(body);
    free(model);
    return good;
}

static bool run(const struct ctl_options *ctl, struct client_error *failure)
{
    const struct arguments *a = ctl->values;
    struct sl_buffer prompt = {0};
    if (a->truncate && strcmp(a->truncate, "left") != 0)
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "invalid --truncate '%.64s': expected left; the end of a prompt is "
                                "what is continued",
                                a->truncate);
    if (!a->chat && a->system)
        return client_error_set(failure, EXIT_BAD_INPUT, "--system needs --chat");
    if (a->chat && a->truncate)
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "--chat and --truncate exclude each other");
    if (a->stream && a->no_stream)
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "--stream and --no-stream exclude each other");
    struct client *client = ctl_client(ctl, failure);
    bool good = client != NULL;
    if (good && ctl_reads_input(ctl))
        good = read_input(ctl, &prompt, failure);
    else if (good)
        sl_buffer_append_string(&prompt, ctl->operands[0]);
    good = good && (!prompt.failed || client_error_no_memory(failure)) &&
           complete(ctl, a, client, &prompt, failure);
    client_destroy(client);
    sl_buffer_release(&prompt);
    return good;
}

const struct ctl_command ctl_complete = {.name = "complete",
                                         .operand = "[TEXT]",
                                         .help = "continue TEXT, or standard input (-)",
                                         .example = "\"ROMEO:\" --max-tokens 200 --seed 1",
                                         .rows = rows,
                                         .values_bytes = sizeof(struct arguments),
                                         .run = run};
