/* command_embed.c - `sluice embed`: the embedding of each line of files. */
#include "base/buffer.h"
#include "base/json_writer.h"
#include "base/option_parser.h"
#include "cli/command.h"
#include "cli/text_lines.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>

struct arguments {
    const char *isa, *precision;
    const char *truncate;
    enum sl_truncation truncation; /* from `truncate` */
    bool json, raw;
    int threads;
};

static const struct sl_option rows[] = {
    {"truncate", "SIDE", "cut texts that are too long at this end: left or right [the model's]",
     SL_OPTION_STRING, offsetof(struct arguments, truncate), 0, 0},
    {"raw", NULL, "print vectors as the model makes them, not of length 1", SL_OPTION_FLAG,
     offsetof(struct arguments, raw), 0, 0},
    ENGINE_OPTIONS(struct arguments),
    {0}};

static void options(const char *operand)
{
    (void)operand;
    command_help(&command_embed, &(struct sl_option_parser){.tables = {{.rows = rows}}});
    printf(
        "\n"
        "A file has one text per line, in UTF-8; it may be compressed with gzip or xz. - is\n"
        "standard input. For each text a line is printed: the numbers, separated by spaces, then\n"
        "a tab and the text; with --json, an object with \"text\" and \"embedding\". Empty lines\n"
        "are skipped. For a line that cannot be embedded an error is printed, and the exit code\n"
        "is 2.\n");
}

/* What divides the numbers. */
static double length_of(const float *x, int count)
{
    double squares = 0.0;
    for (int i = 0; i < count; i++)
        squares += (double)x[i] * (double)x[i];
    return squares > 0.0 ? sqrt(squares) : 1.0;
}

static void add_json(struct sl_buffer *out, const struct text_line *line, const float *x, int count,
                     double length)
{
    struct sl_json_writer json = {.out = out};
    sl_json_begin_object(&json);
    sl_json_add_bytes(sl_json_key(&json, "text"), line->text, line->bytes);
    sl_json_begin_array(sl_json_key(&json, "embedding"));
    for (int i = 0; i < count; i++)
        sl_json_add_float(&json, (float)((double)x[i] / length));
    sl_json_end_array(&json);
    sl_json_end_object(&json);
}

static void add_row(struct sl_buffer *out, const struct text_line *line, const float *x, int count,
                    double length)
{
    for (int i = 0; i < count; i++) {
        sl_buffer_append_float(out, (float)((double)x[i] / length));
        sl_buffer_append(out, i + 1 < count ? " " : "\t", 1);
    }
    for (size_t i = 0; i < line->bytes; i++)
        sl_buffer_append(out, line->text[i] == '\t' ? " " : line->text + i, 1);
}

static bool print_text(struct text_lines *lines, struct text_line *line,
                       const struct sl_classifier_item *item, struct sl_err *err)
{
    const struct arguments *a = lines->context;
    const int count = sl_model_info(lines->m)->dimensions;
    struct sl_buffer out = {0};
    (a->json ? add_json : add_row)(&out, line, item->embedding, count,
                                   a->raw ? 1.0 : length_of(item->embedding, count));
    bool ok = sl_buffer_check(&out, err) &&
              (puts(out.data) >= 0 || sl_fail(err, SL_IO, "cannot write to standard output"));
    sl_buffer_release(&out);
    return ok;
}

static bool embed(const struct sl_model *m, struct arguments *a, const char *const *files,
                  int count, struct sl_err *err)
{
    struct text_lines lines = {.command = "embed",
                               .done = "embedded",
                               .m = m,
                               .truncation = a->truncation,
                               .print = print_text,
                               .context = a};
    if (sl_model_info(m)->dimensions == 0)
        return fail_task(m->config.task, err);
    bool ok = text_lines_run(&lines, files, count, err);
    text_lines_release(&lines);
    return ok;
}

static bool run(int count, char **words, struct sl_err *err)
{
    const char *operands[TEXT_LINES_FILES_MAX + 1];
    struct arguments a = {0};
    struct sl_option_parser parser = {.tables = {{.rows = rows, .values = &a}},
                                      .operands = operands,
                                      .operands_max = TEXT_LINES_FILES_MAX + 1};
    if (!sl_options_parse(&parser, count, words, err))
        return false;
    if (parser.operand_count < 2)
        return fail_missing(&command_embed,
                            parser.operand_count ? "TEXT-FILE, or - for standard input"
                                                 : "MODEL-DIR and TEXT-FILE",
                            err);
    if (!command_truncation(a.truncate, &a.truncation, err) ||
        !text_lines_check(operands + 1, parser.operand_count - 1, err))
        return false;
    struct sl_engine *engine = command_engine(a.threads, a.isa, a.precision, err);
    struct sl_model *m = engine ? command_model(engine, operands[0], err) : NULL;
    bool ok = m && embed(m, &a, operands + 1, parser.operand_count - 1, err);
    sl_model_close(m);
    sl_engine_destroy(engine);
    return ok;
}

const struct command command_embed = {
    .name = "embed",
    .operands = "MODEL-DIR (TEXT-FILE | -)...",
    .help = "print the embedding of each line of text files",
    .run = run,
    .print_help = options,
};
