/* command_fill_mask.c - `sluice fill-mask`: which tokens may stand in place of masks in lines of
 * files. */
#include "base/buffer.h"
#include "base/explained_words.h"
#include "base/json_writer.h"
#include "cli/command.h"
#include "cli/text_lines.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_MAX = 4096 };

struct arguments {
    struct text_arguments common;
    int top;
};

static const struct sl_option rows[] = {{"top", "N", "number of tokens to print for each mask [5]",
                                         SL_OPTION_INT, offsetof(struct arguments, top), 1,
                                         TOP_MAX},
                                        TEXT_FILE_OPTIONS,
                                        ENGINE_OPTIONS(struct text_arguments),
                                        {0}};

static const char notes[] =
    "\n"
    "A file has one text per line or, with --text, one per record of CSV, TSV or JSON Lines,\n"
    "in UTF-8; it may be compressed with gzip or xz. - is standard input. A text has masks as\n"
    "the model writes them, [MASK] or <mask>. For each of them a line is printed for each of\n"
    "the most probable tokens: token, probability (0.999999 at most) and the text with it,\n"
    "separated by tabs; with --json, an object for each text with \"line\", \"text\" and\n"
    "\"masks\", a list for each mask. Empty texts are skipped. For a text without a mask an\n"
    "error is printed, and the exit code is 2.\n";

/* A token for a mask. */
struct fill {
    int32_t token;
    double score;
};

/* Appends decoded ids; they are valid. */
static void append_decoded(struct sl_buffer *out, const struct sl_tokenizer *tokenizer,
                           struct sl_decoding decoding)
{
    struct sl_err ignored;
    const long bytes = sl_tokenizer_decode(tokenizer, &decoding, &ignored);
    char *text = bytes >= 0 ? malloc((size_t)bytes + 1) : NULL;
    decoding.text = text;
    decoding.capacity = (size_t)bytes;
    if (text && sl_tokenizer_decode(tokenizer, &decoding, &ignored) == bytes)
        sl_buffer_append(out, text, (size_t)bytes);
    else
        out->failed = true;
    free(text);
}

/* The text with a token at a place; where there are other masks, these stay. */
static void append_filled(struct sl_buffer *out, const struct sl_tokenizer *tokenizer,
                          const struct text_line *line, int place, struct fill fill, bool only)
{
    const int32_t mask = line->ids[place];
    line->ids[place] = fill.token;
    append_decoded(
        out, tokenizer,
        (struct sl_decoding){.ids = line->ids, .count = line->count, .skip_special = only});
    line->ids[place] = mask;
}

static void add_fill(struct sl_json_writer *json, const struct fill *fill,
                     const struct sl_buffer *token, const struct sl_buffer *text)
{
    sl_json_add(json, "{'score':%f,'token':%d,'token_str':%.*s,'sequence':%.*s}", fill->score,
                fill->token, (int)token->bytes, token->data ? token->data : "", (int)text->bytes,
                text->data ? text->data : "");
}

static void print_fill(const struct fill *fill, const struct sl_buffer *token,
                       const struct sl_buffer *text)
{
    sl_print_text(token->data ? token->data : "", token->bytes);
    (void)printf("\t%.6g\t", sl_printed_score(fill->score));
    sl_print_text(text->data ? text->data : "", text->bytes);
    (void)putchar('\n');
}

/* Of one mask; json NULL: as lines. */
static bool write_mask(const struct text_lines *lines, const struct text_line *line, int place,
                       const float *logits, bool only, struct sl_json_writer *json)
{
    const struct arguments *a = lines->context;
    const struct sl_tokenizer *tokenizer = lines->m->tokenizer;
    const int vocab = sl_model_info(lines->m)->vocab;
    float *scores = malloc((size_t)vocab * sizeof *scores);
    int best[TOP_MAX], count = 0;
    if (scores) {
        sl_softmax(logits, vocab, scores);
        count = sl_largest(scores, vocab, a->top, best);
    }
    struct sl_buffer token = {0}, text = {0};
    for (int i = 0; i < count; i++) {
        const struct fill fill = {best[i], (double)scores[best[i]]};
        sl_buffer_clear(&token);
        sl_buffer_clear(&text);
        append_decoded(&token, tokenizer, (struct sl_decoding){.ids = &fill.token, .count = 1});
        append_filled(&text, tokenizer, line, place, fill, only);
        if (json)
            add_fill(json, &fill, &token, &text);
        else
            print_fill(&fill, &token, &text);
    }
    const bool ok = scores && !token.failed && !text.failed;
    sl_buffer_release(&token);
    sl_buffer_release(&text);
    free(scores);
    return ok;
}

static bool write_masks(const struct text_lines *lines, const struct text_line *line,
                        const struct sl_classifier_item *item, struct sl_json_writer *json)
{
    const int32_t mask = sl_tokenizer_special(lines->m->tokenizer, SL_SPECIAL_MASK);
    const size_t vocab = (size_t)sl_model_info(lines->m)->vocab;
    bool ok = true;
    for (int i = 0, row = 0; i < line->count && ok; i++) {
        if (line->ids[i] != mask)
            continue;
        if (json)
            sl_json_begin_array(json);
        ok =
            write_mask(lines, line, i, item->logits + (size_t)row++ * vocab, item->rows == 1, json);
        if (json)
            sl_json_end_array(json);
    }
    return ok;
}

static bool print_text(struct text_lines *lines, struct text_line *line,
                       const struct sl_classifier_item *item, struct sl_err *err)
{
    const struct arguments *a = lines->context;
    struct sl_buffer out = {0};
    struct sl_json_writer json = {.out = &out};
    if (a->common.json)
        sl_json_add(&json, "{'line':%lld,'text':%.*s,'masks':[", (long long)line->number,
                    (int)line->bytes, line->text);
    bool ok = write_masks(lines, line, item, a->common.json ? &json : NULL) ||
              sl_fail(err, SL_NO_MEMORY, "no memory for the tokens of a mask");
    if (ok && a->common.json) {
        sl_json_add(&json, "]}");
        ok = text_lines_print_json(&out, err);
    } else {
        sl_buffer_release(&out);
    }
    return ok && (!ferror(stdout) || sl_fail(err, SL_IO, "cannot write to standard output"));
}

static bool fill(struct text_lines *lines, void *arguments, struct sl_err *err)
{
    lines->done = "filled";
    lines->print = print_text;
    lines->context = arguments;
    lines->output = SL_OUTPUT_MASKED;
    if (sl_model_info(lines->m)->output_size[SL_OUTPUT_MASKED] > 0)
        return text_lines_run(lines, err);
    return lines->m->config.task == SL_TASK_PRETRAINING
               ? sl_fail(err, SL_BAD_INPUT,
                         "the model predicts no masked tokens: use `sluice embed`")
               : fail_task(lines->m->config.task, err);
}

static bool run(int count, char **words, struct sl_err *err)
{
    struct arguments a = {.top = 5};
    return text_lines_command(&command_fill_mask, &a, fill, count, words, err);
}

const struct command command_fill_mask = {
    .name = "fill-mask",
    .operands = "MODEL-DIR (TEXT-FILE | -)...",
    .help = "predict masked tokens in each line of text files",
    .run = run,
    .rows = rows,
    .notes = notes,
};
