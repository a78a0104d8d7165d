/* command_embed.c - `sluice embed`: the embedding of each line of files. */
#include "base/buffer.h"
#include "base/explained_words.h"
#include "base/json_writer.h"
#include "cli/command.h"
#include "cli/text_lines.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>

struct arguments {
    struct text_arguments common;
    const char *prompt_name;
    bool raw, sparse;
};

static const struct sl_option rows[] = {
    TEXT_FILE_OPTIONS,
    {"raw", NULL, "print vectors as the model makes them, not of length 1", SL_OPTION_FLAG,
     offsetof(struct arguments, raw), 0, 0},
    {"sparse", NULL,
     "of masked language models, such as SPLADE: print the weights of the vocabulary's tokens",
     SL_OPTION_FLAG, offsetof(struct arguments, sparse), 0, 0},
    {"prompt-name", "NAME",
     "put this prompt of the model before each text [its default prompt, if it has one]",
     SL_OPTION_STRING, offsetof(struct arguments, prompt_name), 0, 0},
    ENGINE_OPTIONS(struct text_arguments),
    {0}};

static const char notes[] =
    "\n"
    "A file has one text per line or, with --text, one per record of CSV, TSV or JSON Lines,\n"
    "in UTF-8; it may be compressed with gzip or xz. - is standard input. For each\n"
    "text a line is printed: the numbers, separated by spaces, then a tab and the text; with\n"
    "--json, an object with \"line\" (where the text begins in its file), \"text\" and\n"
    "\"embedding\". With --sparse the numbers are pairs, a token's id and its weight, as in\n"
    "36:1.07, and with --json objects with \"index\", \"value\" and \"token\". Empty texts are\n"
    "skipped. For a text that cannot be embedded an error is printed, and the exit code is 2.\n";

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
    sl_json_add(&json, "{'line':%lld,'text':%.*s,'embedding':[", (long long)line->number,
                (int)line->bytes, line->text);
    for (int i = 0; i < count; i++)
        sl_json_add_float(&json, (float)((double)x[i] / length));
    sl_json_add(&json, "]}");
}

static void add_numbers(struct sl_buffer *out, const float *x, int count, double length)
{
    for (int i = 0; i < count; i++) {
        sl_buffer_append_float(out, (float)((double)x[i] / length));
        sl_buffer_append(out, i + 1 < count ? " " : "\t", 1);
    }
}

/* The weights that are not 0. */
static void add_weights(struct sl_buffer *out, const struct text_lines *lines,
                        const struct text_line *line, const float *x)
{
    const struct arguments *a = lines->context;
    struct sl_json_writer json = {.out = out};
    const char *between = "";
    if (a->common.json)
        sl_json_add(&json, "{'line':%lld,'text':%.*s,'embedding':[", (long long)line->number,
                    (int)line->bytes, line->text);
    for (int i = 0; i < sl_model_info(lines->m)->vocab; i++) {
        size_t bytes;
        if (!(x[i] > 0.0f))
            continue;
        const char *piece = sl_tokenizer_piece(lines->m->tokenizer, i, &bytes);
        if (a->common.json) {
            sl_json_add(&json, "{'index':%d,'value':%f,'token':%.*s}", i, (double)x[i], (int)bytes,
                        piece);
        } else {
            sl_buffer_printf(out, "%s%d:", between, i);
            sl_buffer_append_float(out, x[i]);
        }
        between = " ";
    }
    sl_buffer_append_string(out, a->common.json ? "]}" : "\t");
}

static void add_vector(struct sl_buffer *out, const struct text_lines *lines,
                       const struct text_line *line, const float *x)
{
    const struct arguments *a = lines->context;
    const int count = sl_model_info(lines->m)->dimensions;
    const double length = a->raw ? 1.0 : length_of(x, count);
    if (a->common.json)
        add_json(out, line, x, count, length);
    else
        add_numbers(out, x, count, length);
}

static bool print_text(struct text_lines *lines, struct text_line *line,
                       const struct sl_classifier_item *item, struct sl_err *err)
{
    const struct arguments *a = lines->context;
    struct sl_buffer out = {0};
    (a->sparse ? add_weights : add_vector)(&out, lines, line, item->embedding);
    bool ok = sl_buffer_check(&out, err);
    if (ok) {
        (void)fputs(out.data, stdout);
        if (!a->common.json)
            sl_print_text(line->text, line->bytes);
        ok = (putchar('\n') != EOF && !ferror(stdout)) ||
             sl_fail(err, SL_IO, "cannot write to standard output");
    }
    sl_buffer_release(&out);
    return ok;
}

static bool embed(struct text_lines *lines, void *arguments, struct sl_err *err)
{
    const struct arguments *a = arguments;
    const struct sl_model_info *info = sl_model_info(lines->m);
    lines->done = "embedded";
    lines->print = print_text;
    lines->context = arguments;
    if (info->dimensions == 0)
        return fail_task(lines->m->config.task, err);
    if (a->sparse)
        lines->output = SL_OUTPUT_SPARSE;
    if (info->output_size[lines->output] == 0)
        return sl_fail(err, SL_BAD_INPUT,
                       "--sparse is for masked language models: this one gives vectors");
    lines->prompt =
        a->prompt_name ? sl_model_prompt(info, a->prompt_name, err) : info->default_prompt;
    return (lines->prompt || !a->prompt_name) && text_lines_run(lines, err);
}

static bool run(int count, char **words, struct sl_err *err)
{
    struct arguments a = {0};
    return text_lines_command(&command_embed, &a, embed, count, words, err);
}

const struct command command_embed = {
    .name = "embed",
    .operands = "MODEL-DIR (TEXT-FILE | -)...",
    .help = "print the embedding of each line of text files",
    .run = run,
    .rows = rows,
    .notes = notes,
};
