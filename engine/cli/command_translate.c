/* command_translate.c - `sluice translate`: translates the lines of files, in their order. */
#include "base/buffer.h"
#include "base/json_writer.h"
#include "base/option_parser.h"
#include "cli/command.h"
#include "data/line_reader.h"
#include "model/model.h"
#include "sluice/translation.h"
#include "tokenizer/detokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 32 }; /* at a time */

struct arguments {
    const char *isa, *precision;
    double length_penalty;
    int threads, beam;
    bool json;
};

static const struct sl_option rows[] = {
    {"beam", "N", "beginnings of a translation that are kept at each step; 1: only the best [4]",
     SL_OPTION_INT, offsetof(struct arguments, beam), 1, SL_BEAM_MAX},
    {"length-penalty", "A", "how much longer translations are preferred; 0: not at all [0.6]",
     SL_OPTION_REAL, offsetof(struct arguments, length_penalty), 0, 10},
    ENGINE_OPTIONS(struct arguments),
    {0}};

static const char notes[] =
    "\n"
    "A file has one text per line in UTF-8; it may be compressed with gzip or xz. - is standard\n"
    "input. A line is printed for each, its translation; with --json, an object with \"line\",\n"
    "\"translation\" and \"log_probability\". Texts that are longer than the model's context are\n"
    "cut, and named on standard error. An empty line stays one.\n";

/* Lines to translate together. */
struct group {
    struct sl_translator *translator;
    const struct sl_model *model;
    const struct arguments *a;
    struct sl_translated texts[TEXTS];
    int64_t numbers[TEXTS];
    int32_t *ids; /* TEXTS contexts */
    int count;
};

static bool print(const struct group *g, int i, struct sl_err *err)
{
    const struct sl_translated *text = &g->texts[i];
    struct sl_buffer out = {0}, line = {0};
    struct sl_json_writer json = {.out = &line};
    if (text->source_count > 0)
        sl_detokenize(&out, g->model->tokenizer, text->ids, text->count);
    if (g->a->json)
        sl_json_add(&json, "{'line':%lld,'translation':%.*s,'log_probability':%f}",
                    (long long)g->numbers[i], (int)out.bytes, out.data ? out.data : "",
                    text->log_probability);
    const bool ok = sl_buffer_check(&out, err) && sl_buffer_check(&line, err);
    if (ok)
        (void)puts(g->a->json ? line.data : out.data ? out.data : "");
    sl_buffer_release(&out);
    sl_buffer_release(&line);
    return ok && (!ferror(stdout) || sl_fail(err, SL_IO, "cannot write to standard output"));
}

/* Empty lines are not translated. */
static bool run_group(struct group *g, struct sl_err *err)
{
    struct sl_translated some[TEXTS];
    int count = 0;
    for (int i = 0; i < g->count; i++)
        if (g->texts[i].source_count > 0)
            some[count++] = g->texts[i];
    if (count > 0 && !sl_translator_run(g->translator, some, count, err))
        return false;
    for (int i = 0, at = 0; i < g->count; i++) {
        if (g->texts[i].source_count > 0)
            g->texts[i] = some[at++];
        if (!print(g, i, err))
            return false;
    }
    (void)fflush(stdout);
    g->count = 0;
    return true;
}

static bool add(struct group *g, const struct sl_line_reader *lines, const struct sl_line *line,
                struct sl_err *err)
{
    const int context = g->model->config.context_length;
    struct sl_translated *text = &g->texts[g->count];
    int32_t *ids = g->ids + (size_t)g->count * (size_t)context;
    struct sl_encoding encoding = {.text = line->text,
                                   .bytes = line->bytes,
                                   .unknown = SL_UNKNOWN_REPLACE,
                                   .special = true,
                                   .capacity = 0};
    const long whole = sl_tokenizer_tokenize(g->model->tokenizer, &encoding, err);
    encoding.max_tokens = encoding.capacity = context;
    encoding.ids = ids;
    const long count = whole < 0 ? -1 : sl_tokenizer_tokenize(g->model->tokenizer, &encoding, err);
    if (count < 0)
        return sl_line_reader_wrap(lines, line->number, err);
    if (whole > context)
        (void)fprintf(stderr, "sluice translate: '%s' line %lld has %ld tokens; cut to %d\n",
                      sl_line_reader_name(lines), (long long)line->number, whole, context);
    const bool any = sl_tokenizer_has_text(g->model->tokenizer, ids, count);
    *text = (struct sl_translated){.source = ids, .source_count = any ? (int)count : 0};
    g->numbers[g->count++] = line->number;
    return g->count < TEXTS || run_group(g, err);
}

static bool translate_file(struct group *g, const char *path, struct sl_err *err)
{
    struct sl_line line;
    const struct sl_data_limits limits = {0};
    struct sl_line_reader *lines = sl_line_reader_open(path, NULL, &limits, err);
    bool ok = lines;
    while (ok && (ok = sl_line_reader_next(lines, &line, err)) && line.text)
        ok = add(g, lines, &line, err);
    sl_line_reader_close(lines);
    return ok && (g->count == 0 || run_group(g, err));
}

static bool translate(const struct sl_model *m, const struct arguments *a, const char **files,
                      struct sl_err *err)
{
    const struct sl_translator_options options = {
        .texts = TEXTS, .beam = a->beam, .length_penalty = (float)a->length_penalty};
    const size_t tokens = TEXTS * (size_t)m->config.context_length;
    struct group g = {.model = m, .a = a, .translator = sl_translator_create(m, &options, err)};
    bool ok = g.translator;
    g.ids = calloc(tokens, sizeof *g.ids);
    if (ok && !g.ids)
        ok = sl_fail(err, SL_NO_MEMORY, "no memory for %zu tokens", tokens);
    for (; *files && ok; files++)
        ok = translate_file(&g, *files, err);
    sl_translator_destroy(g.translator);
    free(g.ids);
    return ok;
}

static bool run(int count, char **words, struct sl_err *err)
{
    const char **operands = calloc((size_t)count + 1, sizeof *operands);
    struct arguments a = {.beam = 4, .length_penalty = SL_LENGTH_PENALTY_DEFAULT};
    if (!operands)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d arguments", count);
    struct sl_option_parser parser = {
        .tables = {{.rows = rows, .values = &a}}, .operands = operands, .operands_max = count};
    bool ok = sl_options_parse(&parser, count, words, err);
    if (ok && !operands[0])
        ok = fail_missing(&command_translate, "MODEL-DIR", err);
    if (ok && !operands[1])
        ok = fail_missing(&command_translate, "TEXT-FILE or -", err);
    struct sl_engine *engine = ok ? command_engine(a.threads, a.isa, a.precision, err) : NULL;
    struct sl_model *m = engine ? command_model(engine, operands[0], err) : NULL;
    ok = m && translate(m, &a, operands + 1, err);
    sl_model_close(m);
    sl_engine_destroy(engine);
    free(operands);
    return ok;
}

const struct command command_translate = {
    .name = "translate",
    .operands = "MODEL-DIR (TEXT-FILE | -)...",
    .help = "translate each line of text files",
    .run = run,
    .rows = rows,
    .notes = notes,
};
