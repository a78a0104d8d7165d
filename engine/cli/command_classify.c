/* command_classify.c - `sluice classify`: classifies each line of files. `sluice train` reads what
 * it prints, so one model can label the training data of another. */
#include "base/clock.h"
#include "base/dynarray.h"
#include "base/option_parser.h"
#include "cli/command.h"
#include "cli/explain_text.h"
#include "data/line_reader.h"
#include "model/model.h"
#include "sluice/classifier.h"
#include "sluice/session.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILES_MAX = 64, ITEMS = 64, ROWS = 8192 };

/* The highest score printed: with six digits, 0.9999999 would print as 1. */
static const double max_score = 0.999999;

struct arguments {
    const char *isa, *precision;
    double min_score;
    const char *truncate;
    enum sl_truncation truncation; /* from `truncate` */
    bool json;
    int threads, explain;
};

static const struct sl_option rows[] = {
    {"min-score", "P", "print only texts whose label has at least this probability [0]",
     SL_OPTION_REAL, offsetof(struct arguments, min_score), 0, 1},
    {"truncate", "SIDE", "cut texts that are too long at this end: left or right [the model's]",
     SL_OPTION_STRING, offsetof(struct arguments, truncate), 0, 0},
    {"explain", "N", "also print the N words that moved the score of each label most [0]",
     SL_OPTION_INT, offsetof(struct arguments, explain), 0, SL_OCCLUSIONS_MAX},
    ENGINE_OPTIONS(struct arguments),
    {0}};

static void options(const char *operand)
{
    (void)operand;
    command_help(&command_classify, &(struct sl_option_parser){.tables = {{.rows = rows}}});
    printf(
        "\n"
        "A file has one text per line, in UTF-8; it may be compressed with gzip or xz. - is\n"
        "standard input. For each text a line is printed: label, probability (0.999999 at most)\n"
        "and text, separated by tabs; with --json, an object with \"label\", \"score\" and\n"
        "\"text\". With --explain, a terminal shows words that raised the score in green and\n"
        "others in red; else a fourth column, or \"words\" of the object, has what each added to\n"
        "the label's logit less the mean of the others. Empty lines are skipped. For a line that\n"
        "cannot be classified an error is printed, and the exit code is 2.\n");
}

/* A tokenized text of the next batch. */
struct waiting {
    char *text;
    size_t bytes, text_capacity;
    int32_t *ids;
    struct sl_token_offset *offsets; /* with --explain */
    size_t ids_capacity, offsets_capacity;
    int count;
    bool truncated;
    int64_t number; /* its line */
};

struct work {
    const struct arguments *a;
    const struct sl_model *m;
    struct sl_classifier *classifier;
    const struct sl_line_reader *lines; /* where the waiting are from */
    struct waiting waiting[ITEMS];
    struct explainer explainer;
    float *logits;     /* with --explain, a copy of the batch's */
    int count, tokens; /* that wait */
    int64_t texts, printed, truncated, skipped;
    double begun, shown;
};

/* -- output ------------------------------------------------------------------------------------ */

static json_t *words_json(const struct waiting *w, const struct explainer *e)
{
    json_t *list = json_array();
    for (int i = 0; i < e->word_count; i++) {
        const struct sl_explained_word *word = &e->words[i];
        (void)json_array_append_new(
            list, json_pack("{s:s%, s:I, s:I, s:f}", "word", w->text + word->start,
                            word->stop - word->start, "start", (json_int_t)word->start, "stop",
                            (json_int_t)word->stop, "contribution", word->contribution));
    }
    return list;
}

static bool print_json(const struct waiting *w, const char *label, double score,
                       const struct explainer *e)
{
    json_t *o =
        json_pack("{s:s, s:f, s:s%}", "label", label, "score", score, "text", w->text, w->bytes);
    if (e->words_max > 0)
        (void)json_object_set_new(o, "words", words_json(w, e));
    char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(7)) : NULL;
    bool ok = text && puts(text) >= 0;
    free(text);
    json_decref(o);
    return ok;
}

/* A fourth column has the words, unless the text shows them by colors. */
static bool print_explained(const struct waiting *w, const char *label, double score,
                            const struct explainer *e)
{
    bool colors = sl_output_has_colors();
    if (printf("%s\t%.6g\t", label, fmin(score, max_score)) <= 0)
        return false;
    sl_print_colored(w->text, w->bytes, e->words, colors ? e->word_count : 0);
    if (!colors) {
        (void)putchar('\t');
        sl_print_words(w->text, e->words, e->word_count);
    }
    return putchar('\n') != EOF;
}

static bool print_line(struct waiting *w, const char *label, double score)
{
    for (size_t i = 0; i < w->bytes; i++)
        if (w->text[i] == '\t')
            w->text[i] = ' ';
    return printf("%s\t%.6g\t", label, fmin(score, max_score)) > 0 &&
           fwrite(w->text, 1, w->bytes, stdout) == w->bytes && putchar('\n') != EOF;
}

/* Shows progress on standard error if that is a terminal and standard output is not. */
static void show_progress(struct work *w, bool end)
{
    double now = sl_now_seconds();
    if (!isatty(STDERR_FILENO) || isatty(STDOUT_FILENO) || (!end && now - w->shown < 0.2))
        return;
    w->shown = now;
    (void)fprintf(stderr, "\r\033[K%" PRId64 " texts, %.0f per second%s", w->texts,
                  (double)w->texts / (now - w->begun + 1e-9), end ? "\n" : "");
}

/* Reports a line that cannot be classified and goes on; false: not an error of the line. */
static bool skip_line(struct work *w, const struct sl_err *err)
{
    if (err->code != SL_BAD_INPUT && err->code != SL_NOT_FINITE)
        return false;
    bool live = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
    (void)fprintf(stderr, "%ssluice classify: %s\n", live ? "\r\033[K" : "", err->text);
    w->skipped++;
    return true;
}

static bool print_item(struct work *w, struct waiting *line, const struct sl_classifier_item *item,
                       struct sl_err *err)
{
    float scores[SL_CLASSES_MAX];
    int classes = w->m->config.classes;
    if (!item->finite) {
        (void)sl_fail(err, SL_NOT_FINITE, "the model produced NaN or infinity");
        (void)sl_line_reader_wrap(w->lines, line->number, err);
        return skip_line(w, err);
    }
    sl_softmax(item->logits, classes, scores);
    int best = sl_argmax(scores, classes);
    double score = (double)scores[best];
    w->texts++;
    w->truncated += line->truncated;
    if (score < w->a->min_score)
        return true;
    w->printed++;
    const struct sl_tokenized_text text = {
        .text = line->text, .bytes = line->bytes, .offsets = line->offsets, .count = line->count};
    if (w->a->explain > 0 && !explain_text(&w->explainer, &text, item, best, err))
        return false;
    const char *label = w->m->labels[best];
    bool ok = w->a->json          ? print_json(line, label, score, &w->explainer)
              : w->a->explain > 0 ? print_explained(line, label, score, &w->explainer)
                                  : print_line(line, label, score);
    return ok || sl_fail(err, SL_IO, "cannot write to standard output");
}

/* -- batches ---------------------------------------------------------------------------------- */

/* Explanations run the classifier again. */
static void keep_logits(const struct work *w, struct sl_classifier_item *items)
{
    size_t classes = (size_t)w->m->config.classes;
    for (int i = 0; i < w->count; i++) {
        memcpy(w->logits + (size_t)i * classes, items[i].logits, classes * sizeof *w->logits);
        items[i].logits = w->logits + (size_t)i * classes;
    }
}

static bool flush(struct work *w, struct sl_err *err)
{
    struct sl_classifier_item items[ITEMS] = {{0}};
    for (int i = 0; i < w->count; i++) {
        items[i].tokens = w->waiting[i].ids;
        items[i].count = w->waiting[i].count;
    }
    bool ok = w->count == 0 || sl_classifier_run(w->classifier, items, w->count, err);
    if (ok && w->a->explain > 0)
        keep_logits(w, items);
    for (int i = 0; i < w->count && ok; i++)
        ok = print_item(w, &w->waiting[i], &items[i], err);
    w->count = w->tokens = 0;
    show_progress(w, false);
    return ok;
}

/* Tokenizes a line into the next free place of the batch. */
static bool encode(struct work *w, const struct sl_line *line, struct sl_err *err)
{
    struct waiting *next = &w->waiting[w->count];
    const struct sl_tokenizer *tokens = w->m->tokenizer;
    size_t max = sl_tokenizer_max_tokens(line->bytes);
    if (!sl_dynarray_reserve(&next->text, &next->text_capacity, line->bytes + 1, 1, err) ||
        !sl_dynarray_reserve(&next->ids, &next->ids_capacity, max, sizeof *next->ids, err) ||
        (w->a->explain > 0 && !sl_dynarray_reserve(&next->offsets, &next->offsets_capacity, max,
                                                   sizeof *next->offsets, err)))
        return false;
    memcpy(next->text, line->text, line->bytes);
    next->bytes = line->bytes;
    next->number = line->number;
    long count = sl_tokenizer_tokenize(tokens,
                                       &(struct sl_encoding){.text = line->text,
                                                             .bytes = line->bytes,
                                                             .unknown = SL_UNKNOWN_REPLACE,
                                                             .special = true,
                                                             .ids = next->ids,
                                                             .offsets = next->offsets,
                                                             .capacity = (long)max},
                                       err);
    if (count < 0)
        return false;
    assert((size_t)count <= max);
    if (!sl_tokenizer_has_text(tokens, next->ids, count))
        return sl_fail(err, SL_BAD_INPUT, "the text has no tokens");
    long left = sl_tokenizer_truncate(tokens, w->a->truncation, w->m->config.context_length,
                                      next->ids, next->offsets, count);
    next->truncated = left < count;
    next->count = (int)left;
    return true;
}

/* Adds the encoded line to the batch, and runs the batch when it is full. */
static bool add(struct work *w, struct sl_err *err)
{
    w->tokens += w->waiting[w->count++].count;
    if (w->count < ITEMS && w->tokens + w->m->config.context_length <= ROWS)
        return true;
    return flush(w, err);
}

/* Reads the next line that is not empty; line->text is NULL at the end. */
static bool next_line(struct work *w, struct sl_line_reader *lines, struct sl_line *line,
                      struct sl_err *err)
{
    while (!sl_line_reader_next_nonempty(lines, line, err))
        if (!sl_line_reader_can_continue(lines) || !skip_line(w, err))
            return false;
    return true;
}

static bool read_lines(struct work *w, const char *path, const char *called, struct sl_err *err)
{
    struct sl_line_reader *lines =
        sl_line_reader_open(path, called, &(struct sl_data_limits){0}, err);
    bool ok = lines != NULL;
    w->lines = lines;
    while (ok) {
        struct sl_line line;
        ok = next_line(w, lines, &line, err);
        if (!ok || !line.text)
            break;
        if (encode(w, &line, err))
            ok = add(w, err);
        else
            ok = sl_line_reader_wrap(lines, line.number, err) || skip_line(w, err);
    }
    ok = ok && flush(w, err);
    sl_line_reader_close(lines);
    return ok;
}

static bool copy_input(int to, struct sl_err *err)
{
    enum { PIECE_BYTES = 1 << 16 };

    char *buffer = malloc(PIECE_BYTES);
    bool ok = buffer || sl_fail(err, SL_NO_MEMORY, "no memory to read standard input");
    for (size_t got = 1; ok && got > 0;) {
        got = fread(buffer, 1, PIECE_BYTES, stdin);
        ok = (!ferror(stdin) && write(to, buffer, got) == (ssize_t)got) ||
             sl_fail(err, SL_IO, "standard input: %s", strerrordesc_np(errno));
    }
    free(buffer);
    return ok;
}

/* Files are memory-mapped, which a pipe cannot be: so standard input is copied to memory first. */
static bool read_input(struct work *w, struct sl_err *err)
{
    char path[32];
    bool is_open = fcntl(STDIN_FILENO, F_GETFD) >= 0; /* if not, memfd_create could return fd 0 */
    int fd = is_open ? memfd_create("standard input", MFD_CLOEXEC) : -1;
    if (fd < 0)
        return sl_fail(err, SL_IO, "standard input: %s", strerrordesc_np(errno));
    (void)snprintf(path, sizeof path, "/dev/fd/%d", fd);
    bool ok = copy_input(fd, err) && read_lines(w, path, "standard input", err);
    (void)close(fd);
    return ok;
}

static bool read_file(struct work *w, const char *path, struct sl_err *err)
{
    return strcmp(path, "-") == 0 ? read_input(w, err) : read_lines(w, path, NULL, err);
}

/* A text in place of a file name is a likely mistake: it is found before the model is loaded. */
static bool check_files(const char *const *files, int count, struct sl_err *err)
{
    for (int i = 0; i < count; i++)
        if (strcmp(files[i], "-") != 0 && access(files[i], F_OK) != 0)
            return sl_fail(err, SL_NOT_FOUND,
                           "cannot open '%s': %s; expected a file with one text per line, or - for "
                           "standard input",
                           files[i], strerrordesc_np(errno));
    return true;
}

/* -- all of it -------------------------------------------------------------------------------- */

static bool classify(struct work *w, const char *const *files, int count, struct sl_err *err)
{
    int context = w->m->config.context_length;
    if (w->m->config.task != SL_TASK_CLASSIFICATION)
        return fail_task(w->m->config.task, err);
    const struct sl_classifier_options how = {.max_batch_size = ITEMS,
                                              .max_batch_tokens = context > ROWS ? context : ROWS};
    w->classifier = sl_classifier_create(w->m, &how, err);
    w->explainer =
        (struct explainer){.model = w->m, .classifier = w->classifier, .words_max = w->a->explain};
    w->logits = calloc(ITEMS * (size_t)w->m->config.classes, sizeof *w->logits);
    bool ok = w->classifier && (w->logits || sl_fail(err, SL_NO_MEMORY, "no memory for logits"));
    for (int i = 0; i < count && ok; i++)
        ok = read_file(w, files[i], err);
    show_progress(w, true);
    if (ok && w->truncated > 0)
        (void)fprintf(stderr, "%" PRId64 " of %" PRId64 " texts were truncated to %d tokens\n",
                      w->truncated, w->texts, context);
    if (ok && fflush(stdout) != 0)
        return sl_fail(err, SL_IO, "cannot write to standard output");
    if (ok && w->skipped > 0)
        return sl_fail(err, SL_BAD_INPUT,
                       "%" PRId64 " of %" PRId64 " texts could not be classified", w->skipped,
                       w->skipped + w->texts);
    return ok;
}

static void work_release(struct work *w)
{
    for (int i = 0; i < ITEMS; i++) {
        free(w->waiting[i].text);
        free(w->waiting[i].ids);
        free(w->waiting[i].offsets);
    }
    free(w->logits);
    sl_classifier_destroy(w->classifier);
}

static bool run(int count, char **words, struct sl_err *err)
{
    const char *operands[FILES_MAX + 1];
    struct arguments a = {0};
    struct sl_option_parser parser = {.tables = {{.rows = rows, .values = &a}},
                                      .operands = operands,
                                      .operands_max = FILES_MAX + 1};
    if (!sl_options_parse(&parser, count, words, err))
        return false;
    if (parser.operand_count < 2)
        return fail_missing(&command_classify,
                            parser.operand_count ? "TEXT-FILE, or - for standard input"
                                                 : "MODEL-DIR and TEXT-FILE",
                            err);
    if (!command_truncation(a.truncate, &a.truncation, err) ||
        !check_files(operands + 1, parser.operand_count - 1, err))
        return false;
    struct sl_engine *engine = command_engine(a.threads, a.isa, a.precision, err);
    struct sl_model *m = engine ? command_model(engine, operands[0], err) : NULL;
    struct work w = {.a = &a, .m = m, .begun = sl_now_seconds()};
    bool ok = m && classify(&w, operands + 1, parser.operand_count - 1, err);
    work_release(&w);
    sl_model_close(m);
    sl_engine_destroy(engine);
    return ok;
}

const struct command command_classify = {
    .name = "classify",
    .operands = "MODEL-DIR (TEXT-FILE | -)...",
    .help = "classify each line of text files",
    .run = run,
    .print_help = options,
};
