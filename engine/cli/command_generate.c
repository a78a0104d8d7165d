/* command_generate.c - `sluice generate`: continues a prompt on standard output. */
#include "base/buffer.h"
#include "base/json_writer.h"
#include "base/option_parser.h"
#include "cli/command.h"
#include "model/model.h"
#include "sluice/chat.h"
#include "sluice/generation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    const char *isa, *precision, *prompt, *system;
    double temperature, top_p;
    int max_tokens, top_k, seed, threads;
    bool json, chat;
};

static const struct sl_option rows[] = {
    {"prompt", "TEXT", "text to continue [a line break]", SL_OPTION_STRING,
     offsetof(struct arguments, prompt), 0, 0},
    {"chat", NULL, "the prompt is a user's message: print the model's answer", SL_OPTION_FLAG,
     offsetof(struct arguments, chat), 0, 0},
    {"system", "TEXT", "with --chat: message of the system [as the model says]", SL_OPTION_STRING,
     offsetof(struct arguments, system), 0, 0},
    {"max-tokens", "N", "maximum number of tokens to generate [500]", SL_OPTION_INT,
     offsetof(struct arguments, max_tokens), 1, 1e7},
    {"temperature", "T", "sampling temperature; 0: always the most likely token [0.8]",
     SL_OPTION_REAL, offsetof(struct arguments, temperature), 0, 2},
    {"top-k", "K", "sample from the K most likely tokens; 0: all [0]", SL_OPTION_INT,
     offsetof(struct arguments, top_k), 0, 1e6},
    {"top-p", "P", "sample from the most likely tokens with this total probability [1]",
     SL_OPTION_REAL, offsetof(struct arguments, top_p), 0, 1},
    {"seed", "N", "seed for sampling [1]", SL_OPTION_INT, offsetof(struct arguments, seed), 0,
     2147483647},
    ENGINE_OPTIONS(struct arguments),
    {0}};

static void print_json(const struct sl_generation *g)
{
    size_t bytes;
    struct sl_buffer line = {0};
    struct sl_json_writer json = {.out = &line};
    struct sl_generation_usage usage = sl_generation_usage(g);
    const char *text = sl_generation_text(g, &bytes);
    sl_json_add(&json, "{'text':%.*s,'prompt_tokens':%d,'completion_tokens':%d}", (int)bytes, text,
                usage.prompt_tokens, usage.completion_tokens);
    command_print_json(&line);
}

static bool print_all(struct sl_generation *g, struct sl_session *session, bool json,
                      struct sl_err *err)
{
    size_t printed = 0, bytes;
    while (!sl_generation_finished(g)) {
        struct sl_chunk feed = {.slot = 0};
        sl_generation_next_chunk(g, session, 512, &feed);
        if (!sl_session_run(session, &feed, 1, err))
            return false;
        sl_generation_accept(g, &feed);
        const char *text = sl_generation_text(g, &bytes);
        if (!json)
            (void)fwrite(text + printed, 1, bytes - printed, stdout);
        (void)fflush(stdout);
        printed = bytes;
    }
    if (json)
        print_json(g);
    else
        (void)printf("\n");
    return sl_generation_finish(g) != SL_FINISH_ERROR ||
           sl_fail(err, SL_NOT_FINITE, "the model produced NaN or infinity, or memory ran out");
}

/* The tokens of the prompt, of which `room` are stored; -1: see err. */
static long encode_chat(const struct sl_model *m, const struct arguments *a, int32_t *ids,
                        long room, struct sl_err *err)
{
    const struct sl_chat_message messages[] = {
        {SL_CHAT_SYSTEM, a->system, a->system ? strlen(a->system) : 0},
        {SL_CHAT_USER, a->prompt, strlen(a->prompt)}};
    const struct sl_chat chat = {messages + !a->system, 1 + (a->system != NULL)};
    struct sl_chat_prompt prompt = {0};
    long count = -1;
    if (sl_chat_render(m, &chat, &prompt, err)) {
        struct sl_encoding job = {.text = prompt.text,
                                  .bytes = prompt.bytes,
                                  .plain = prompt.plain,
                                  .plain_count = prompt.plain_count,
                                  .capacity = room};
        job.ids = ids;
        count = sl_tokenizer_tokenize(sl_model_tokenizer(m), &job, err);
    }
    sl_chat_prompt_release(&prompt);
    return count;
}

static long encode_text(const struct sl_model *m, const struct arguments *a, int32_t *ids,
                        long room, struct sl_err *err)
{
    const struct sl_tokenizer *tokenizer = sl_model_tokenizer(m);
    struct sl_encoding job = {.text = a->prompt,
                              .bytes = strlen(a->prompt),
                              .special = sl_tokenizer_begins_texts(tokenizer),
                              .capacity = room};
    job.ids = ids;
    const long count = sl_tokenizer_tokenize(tokenizer, &job, err);
    const struct sl_err why = count < 0 ? *err : (struct sl_err){0};
    if (count < 0)
        sl_fail(err, why.code,
                "--prompt: %s; the model knows only the characters that it was trained on",
                why.text);
    return count;
}

static bool generate(const struct sl_model *m, const struct arguments *a, struct sl_err *err)
{
    if (sl_model_info(m)->task == SL_TASK_TRANSLATION)
        return sl_fail(err, SL_BAD_INPUT, "the model translates: use `sluice translate`");
    int context = sl_model_info(m)->context;
    int32_t *prompt = calloc((size_t)context, sizeof *prompt);
    struct sl_session_options options = {.max_sequences = 1, .max_batch_tokens = 512};
    struct sl_session *session = NULL;
    if (prompt)
        session = sl_session_create(m, &options, err);
    else
        sl_fail(err, SL_NO_MEMORY, "no memory for a prompt of %d tokens", context);
    long count =
        prompt && session ? (a->chat ? encode_chat : encode_text)(m, a, prompt, context, err) : -1;
    if (count > context) {
        sl_fail(err, SL_BAD_INPUT,
                "the prompt has %ld tokens, more than the model's context of %d; shorten it", count,
                context);
        count = -1;
    }
    struct sl_generation_options o = {.prompt = prompt,
                                      .prompt_count = (int)count,
                                      .max_tokens = a->max_tokens,
                                      .sampling = {.temperature = (float)a->temperature,
                                                   .top_k = a->top_k,
                                                   .top_p = (float)a->top_p},
                                      .seed = (uint64_t)a->seed,
                                      .echo = !a->chat};
    struct sl_generation *g = count >= 0 ? sl_generation_create(m, &o, err) : NULL;
    bool ok = g && print_all(g, session, a->json, err);
    sl_generation_destroy(g);
    sl_session_destroy(session);
    free(prompt);
    return ok;
}

static bool run(int count, char **words, struct sl_err *err)
{
    const char *model = NULL;
    struct arguments a = {
        .prompt = "", .temperature = 0.8, .top_p = 1.0, .max_tokens = 500, .seed = 1};
    struct sl_option_parser parser = {.tables = {{.rows = rows, .values = &a}},
                                      .operands = &model,
                                      .operands_max = 1,
                                      .surplus = "; give the text to continue with --prompt"};
    if (!sl_options_parse(&parser, count, words, err))
        return false;
    if (!model)
        return fail_missing(&command_generate, "MODEL-DIR", err);
    if (a.system && !a.chat)
        return sl_fail(err, SL_BAD_INPUT, "--system needs --chat");
    struct sl_engine *engine = command_engine(a.threads, a.isa, a.precision, err);
    struct sl_model *m = engine ? command_model(engine, model, err) : NULL;
    if (m && m->config.task != SL_TASK_COMPLETION)
        (void)fail_task(m->config.task, err);
    bool ok = m && m->config.task == SL_TASK_COMPLETION && generate(m, &a, err);
    sl_model_close(m);
    sl_engine_destroy(engine);
    return ok;
}

const struct command command_generate = {
    .name = "generate",
    .operands = "MODEL-DIR [--prompt TEXT]",
    .help = "continue a prompt with a language model",
    .run = run,
    .rows = rows,
};
