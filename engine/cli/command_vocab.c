/* command_vocab.c - `sluice vocab`: trains a tokenizer on texts and writes its vocabulary. */
#include "base/clock.h"
#include "base/option_parser.h"
#include "cli/command.h"
#include "cli/training/dataset_summary.h"
#include "data/data_options.h"
#include "data/record_reader.h"
#include "formats/vocabulary.h"
#include "tokenizer/tokenizer_trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPERANDS_MAX = 64 };

struct arguments {
    const char *out, *format, *text;
    int size;
    bool cased, json;
};

static const struct sl_option rows[] = {
    {"output", "FILE", "file to write, one token per line", SL_OPTION_STRING,
     offsetof(struct arguments, out), 0, 0},
    {"vocab-size", "N", "maximum number of tokens, special ones included [30000]", SL_OPTION_INT,
     offsetof(struct arguments, size), 8, SL_VOCAB_MAX},
    {"cased", NULL, "keep case and accents; give --cased to `sluice train` too", SL_OPTION_FLAG,
     offsetof(struct arguments, cased), 0, 0},
    {"text", "COLUMNS", "learn from these columns only, such as title,body [whole files]",
     SL_OPTION_STRING, offsetof(struct arguments, text), 0, 0},
    {"format", "NAME", SL_FORMAT_HELP, SL_OPTION_STRING, offsetof(struct arguments, format), 0, 0},
    {"json", NULL, "print JSON", SL_OPTION_FLAG, offsetof(struct arguments, json), 0, 0},
    {0}};

static const char notes[] =
    "\n"
    "KIND is one of:\n"
    "  wordpiece  words and pieces of words, as in BERT\n"
    "  words      the most frequent words\n"
    "A file may be compressed with gzip or xz. A column is a name from the file's first line,\n"
    "or, in a file without names, a number from 1.\n";

/* -- reading ---------------------------------------------------------------------------------- */

static bool read_records(struct sl_tokenizer_trainer *trainer, const char *path,
                         const struct arguments *a, struct sl_err *err)
{
    const struct sl_record_options how = {
        .format = a->format, .text = a->text, .unlabelled = true, .skip_incomplete = true};
    struct sl_record_reader *records = sl_record_reader_open(path, &how, err);
    bool ok = records != NULL;
    while (ok) {
        struct sl_record record;
        ok = sl_record_reader_next(records, &record, err);
        if (!ok || !record.text)
            break;
        ok = sl_tokenizer_trainer_add(trainer, record.text, record.text_bytes, err);
    }
    if (ok)
        dataset_summary_warn_skipped("vocab", path, sl_record_reader_skipped(records));
    sl_record_reader_close(records);
    return ok;
}

static bool read_plain(struct sl_tokenizer_trainer *trainer, const char *path, struct sl_err *err)
{
    struct sl_decompressed_file file = {0};
    if (!sl_decompressed_file_open(&file, path, err))
        return false;
    bool ok = sl_tokenizer_trainer_add(trainer, file.data, file.size, err);
    sl_decompressed_file_close(&file);
    return ok || sl_wrap(err, "'%s'", path);
}

/* -- the live line, on standard error when that is a terminal --------------------------------- */

static void live_line(const char *text)
{
    if (isatty(STDERR_FILENO))
        (void)fprintf(stderr, "\r\033[K%s", text);
}

static void on_progress(void *context, int pieces, int size)
{
    char text[64];
    (void)context;
    (void)snprintf(text, sizeof text, "%d of %d tokens", pieces, size);
    live_line(text);
}

static void on_file(const char *path, int number, int count)
{
    char text[256];
    (void)snprintf(text, sizeof text, "reading %.200s (%d of %d)", path, number, count);
    live_line(text);
}

/* -- saying ----------------------------------------------------------------------------------- */

static void print_json(const struct arguments *a, const struct sl_tokenizer *tokens,
                       struct sl_tokenizer_trainer_stats facts, double seconds)
{
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text, .line_depth = 1};
    sl_json_add(&json,
                "{'file':%s,'kind':%s,'lowercase':%i,'pieces':%d,'words':%lld,"
                "'distinct_words':%d,'pruned_up_to':%lld,'seconds':%f}",
                a->out, sl_tokenizer_kind(tokens), !a->cased, sl_tokenizer_size(tokens),
                (long long)facts.words, facts.distinct, (long long)facts.pruned_max_count, seconds);
    command_print_json(&text);
}

static void print_text(const struct arguments *a, const struct sl_tokenizer *tokens,
                       struct sl_tokenizer_trainer_stats facts, double seconds)
{
    printf("%s: %d tokens (%s, %s) from %" PRId64 " words, %d of them distinct, in %.1f s\n",
           a->out, sl_tokenizer_size(tokens), sl_tokenizer_kind(tokens),
           a->cased ? "cased" : "lower-cased", facts.words, facts.distinct, seconds);
    if (facts.pruned_max_count > 0)
        printf("too many distinct words: those seen %" PRId64 " times or less were dropped\n",
               facts.pruned_max_count);
    if (sl_tokenizer_size(tokens) < a->size)
        printf("the texts do not have enough words for more than %d tokens\n",
               sl_tokenizer_size(tokens));
}

/* -- all of it -------------------------------------------------------------------------------- */

static bool save(const struct sl_tokenizer *tokens, const char *path, struct sl_err *err)
{
    char *text = sl_vocabulary_print(tokens, err);
    if (!text)
        return false;
    const struct sl_slice slice = {.data = text, .size = strlen(text)};
    bool ok = sl_file_replace(path, &slice, 1, err);
    free(text);
    return ok;
}

static struct sl_tokenizer *learn(struct sl_tokenizer_trainer *trainer, const struct arguments *a,
                                  const char *const *files, int count, struct sl_err *err)
{
    bool ok = true;
    bool records = a->text || a->format;
    for (int i = 0; i < count && ok; i++) {
        on_file(files[i], i + 1, count);
        ok = records ? read_records(trainer, files[i], a, err) : read_plain(trainer, files[i], err);
    }
    struct sl_tokenizer *tokens = ok ? sl_tokenizer_trainer_finish(trainer, err) : NULL;
    live_line("");
    return tokens;
}

static bool is_kind(const char *word)
{
    return strcmp(word, "wordpiece") == 0 || strcmp(word, "words") == 0;
}

static bool run(int count, char **words, struct sl_err *err)
{
    const char *operands[OPERANDS_MAX + 1];
    struct arguments a = {.size = SL_VOCAB_SIZE_DEFAULT};
    struct sl_option_parser parser = {.tables = {{.rows = rows, .values = &a}},
                                      .operands = operands,
                                      .operands_max = OPERANDS_MAX + 1};
    if (!sl_options_parse(&parser, count, words, err))
        return false;
    if (parser.operand_count < 2 || !a.out)
        return fail_missing(&command_vocab,
                            parser.operand_count < 1 || !is_kind(operands[0])
                                ? "KIND: wordpiece or words"
                            : parser.operand_count < 2 ? "TEXT-FILE"
                                                       : "--output FILE",
                            err);
    const struct sl_tokenizer_options how = {
        .kind = operands[0], .size = a.size, .lower = !a.cased, .progress = on_progress};
    double start = sl_now_seconds();
    struct sl_tokenizer_trainer *trainer = sl_tokenizer_trainer_create(&how, err);
    struct sl_tokenizer *tokens =
        trainer ? learn(trainer, &a, operands + 1, parser.operand_count - 1, err) : NULL;
    bool ok = tokens && save(tokens, a.out, err);
    if (ok)
        (a.json ? print_json : print_text)(&a, tokens, sl_tokenizer_trainer_stats(trainer),
                                           sl_now_seconds() - start);
    sl_tokenizer_destroy(tokens);
    sl_tokenizer_trainer_destroy(trainer);
    return ok;
}

const struct command command_vocab = {
    .name = "vocab",
    .operands = "KIND --output FILE TEXT-FILE...",
    .help = "learn a tokenizer's vocabulary from texts",
    .run = run,
    .rows = rows,
    .notes = notes,
};
