/* text_lines.c - the lines of files, or columns of their records, go through a model in batches. */
#include "cli/text_lines.h"
#include "cli/command.h"

#include "base/clock.h"
#include "base/dynarray.h"
#include "base/option_parser.h"
#include "base/utf8.h"
#include "data/record_formats.h"
#include "model/model.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROWS = 8192, FILES_MAX = 64 };

/* Shows progress on standard error if that is a terminal and standard output is not. */
static void show_progress(struct text_lines *w, bool end)
{
    double now = sl_now_seconds();
    if (!isatty(STDERR_FILENO) || isatty(STDOUT_FILENO) || (!end && now - w->shown < 0.2))
        return;
    w->shown = now;
    (void)fprintf(stderr, "\r\033[K%" PRId64 " texts, %.0f per second%s", w->texts,
                  (double)w->texts / (now - w->begun + 1e-9), end ? "\n" : "");
}

/* Reports a line that is at fault and goes on; false: not an error of the line. */
static bool skip_line(struct text_lines *w, const struct sl_err *err)
{
    if (err->code != SL_BAD_INPUT && err->code != SL_NOT_FINITE)
        return false;
    bool live = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
    (void)fprintf(stderr, "%ssluice %s: %s\n", live ? "\r\033[K" : "", w->command, err->text);
    w->skipped++;
    return true;
}

/* -- batches ---------------------------------------------------------------------------------- */

/* Explanations run the classifier again. */
static void keep_results(const struct text_lines *w, struct sl_classifier_item *items)
{
    size_t outputs = (size_t)sl_model_info(w->m)->classes;
    for (int i = 0; i < w->count; i++) {
        memcpy(w->results + (size_t)i * outputs, items[i].logits, outputs * sizeof *w->results);
        items[i].logits = w->results + (size_t)i * outputs;
    }
}

static bool print_item(struct text_lines *w, struct text_line *line,
                       const struct sl_classifier_item *item, struct sl_err *err)
{
    if (!item->finite) {
        (void)sl_fail(err, SL_NOT_FINITE, "the model produced NaN or infinity");
        (void)sl_line_reader_wrap(w->lines, line->number, err);
        return skip_line(w, err);
    }
    w->texts++;
    w->truncated += line->truncated;
    return w->print(w, line, item, err);
}

static bool flush(struct text_lines *w, struct sl_err *err)
{
    struct sl_classifier_item items[TEXT_LINES_BATCH] = {{0}};
    for (int i = 0; i < w->count; i++) {
        items[i].tokens = w->waiting[i].ids;
        items[i].types = w->waiting[i].types;
        items[i].count = w->waiting[i].count;
        items[i].output = w->output;
        items[i].both_parts = w->explains;
    }
    bool ok = w->count == 0 || sl_classifier_run(w->classifier, items, w->count, err);
    if (ok && w->explains)
        keep_results(w, items);
    for (int i = 0; i < w->count && ok; i++)
        ok = print_item(w, &w->waiting[i], &items[i], err);
    w->count = w->tokens = 0;
    show_progress(w, false);
    return ok;
}

static bool has_mask(const struct sl_tokenizer *tokens, const int32_t *ids, long count)
{
    const int32_t mask = sl_tokenizer_special(tokens, SL_SPECIAL_MASK);
    for (long i = 0; i < count; i++)
        if (ids[i] == mask)
            return true;
    return false;
}

static bool fail_mask(const struct sl_tokenizer *tokens, struct sl_err *err)
{
    size_t bytes;
    const char *mask =
        sl_tokenizer_piece(tokens, sl_tokenizer_special(tokens, SL_SPECIAL_MASK), &bytes);
    return sl_fail(err, SL_BAD_INPUT, "the text has no mask: write %.*s where a token is missing",
                   (int)bytes, mask);
}

/* Room for a line and its tokens. */
static bool reserve(const struct text_lines *w, const struct sl_line *line, struct text_line *next,
                    struct sl_err *err)
{
    const struct sl_tokenizer *tokens = w->m->tokenizer;
    const size_t prompt = w->prompt ? strlen(w->prompt->text) : 0;
    const size_t max = sl_tokenizer_max_tokens(tokens, line->bytes + prompt) +
                       (w->query ? sl_tokenizer_max_tokens(tokens, strlen(w->query)) : 0);
    return sl_dynarray_reserve(&next->text, &next->text_capacity, line->bytes + 1, 1, err) &&
           sl_dynarray_reserve(&next->ids, &next->ids_capacity, max, sizeof *next->ids, err) &&
           (!w->query || sl_dynarray_reserve(&next->types, &next->types_capacity, max,
                                             sizeof *next->types, err)) &&
           (!w->places || sl_dynarray_reserve(&next->offsets, &next->offsets_capacity, max,
                                              sizeof *next->offsets, err));
}

/* most: how many tokens are kept; 0: all. */
static long tokenize(const struct text_lines *w, const struct text_line *next, long most,
                     struct sl_err *err)
{
    struct sl_encoding job = {.text = next->text,
                              .bytes = next->bytes,
                              .prompt = w->prompt ? w->prompt->text : NULL,
                              .unknown = SL_UNKNOWN_REPLACE,
                              .special = true,
                              .max_tokens = most,
                              .side = w->truncation,
                              .ids = next->ids,
                              .types = next->types,
                              .offsets = next->offsets,
                              .capacity = (long)next->ids_capacity};
    if (w->query) {
        job.text = w->query;
        job.bytes = strlen(w->query);
        job.pair = next->text;
        job.pair_bytes = next->bytes;
    }
    return sl_tokenizer_tokenize(w->m->tokenizer, &job, err);
}

/* Returns how many of the tokens are left. The longer text of a pair is cut, so both are tokenized
 * again. */
static long fit(const struct text_lines *w, const struct text_line *next, long count,
                struct sl_err *err)
{
    const long context = w->m->config.context_length;
    if (!w->query || count <= context)
        return sl_tokenizer_truncate(w->m->tokenizer, w->truncation, context, next->ids,
                                     next->offsets, count);
    const long left = tokenize(w, next, context, err);
    if (left <= context)
        return left;
    (void)sl_fail(err, SL_BAD_INPUT, "the special tokens of a pair alone exceed the context");
    return -1;
}

/* Tokenizes a line into the next free place of the batch. */
static bool encode(struct text_lines *w, const struct sl_line *line, struct sl_err *err)
{
    struct text_line *next = &w->waiting[w->count];
    const struct sl_tokenizer *tokens = w->m->tokenizer;
    if (!reserve(w, line, next, err))
        return false;
    memcpy(next->text, line->text, line->bytes);
    next->bytes = line->bytes;
    next->number = line->number;
    const long count = tokenize(w, next, 0, err);
    if (count < 0)
        return false;
    assert((size_t)count <= next->ids_capacity);
    if (!sl_tokenizer_has_text(tokens, next->ids, count))
        return sl_fail(err, SL_BAD_INPUT, "the text has no tokens");
    const long left = fit(w, next, count, err);
    if (left < 0)
        return false;
    if (w->output == SL_OUTPUT_MASKED && !has_mask(tokens, next->ids, left))
        return fail_mask(tokens, err);
    next->truncated = left < count;
    next->count = (int)left;
    return true;
}

/* Adds the encoded line to the batch, and runs the batch when it is full. */
static bool add(struct text_lines *w, struct sl_err *err)
{
    w->tokens += w->waiting[w->count++].count;
    if (w->count < w->most && w->tokens + w->m->config.context_length <= ROWS)
        return true;
    return flush(w, err);
}

/* Reads the next line that is not empty; line->text is NULL at the end. */
static bool next_line(struct text_lines *w, struct sl_line_reader *lines, struct sl_line *line,
                      struct sl_err *err)
{
    while (!sl_line_reader_next_nonempty(lines, line, err))
        if (!sl_line_reader_can_continue(lines) || !skip_line(w, err))
            return false;
    return true;
}

/* Runs the text through the model, or reports what is wrong with it. */
static bool take(struct text_lines *w, const struct sl_line *line, struct sl_err *err)
{
    if (encode(w, line, err))
        return add(w, err);
    return sl_line_reader_wrap(w->lines, line->number, err) || skip_line(w, err);
}

static bool read_lines(struct text_lines *w, const char *path, const char *called,
                       struct sl_err *err)
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
        ok = take(w, &line, err);
    }
    ok = ok && flush(w, err);
    sl_line_reader_close(lines);
    return ok;
}

static void report_skipped(const char *name, struct sl_skipped skipped)
{
    if (skipped.records == 1)
        (void)fprintf(stderr, "'%s': 1 record without text was skipped, in line %" PRId64 "\n",
                      name, skipped.line);
    if (skipped.records > 1)
        (void)fprintf(stderr,
                      "'%s': %" PRId64 " records without text were skipped, the first in line "
                      "%" PRId64 "\n",
                      name, skipped.records, skipped.line);
}

/* What follows a record that has come apart cannot be trusted: the first one ends it all. */
static bool read_records(struct text_lines *w, const char *path,
                         const struct sl_record_options *columns, struct sl_err *err)
{
    struct sl_record_reader *records = sl_record_reader_open(path, columns, err);
    bool ok = records != NULL;
    w->lines = records ? sl_record_reader_lines(records) : NULL;
    while (ok) {
        struct sl_record record;
        ok = sl_record_reader_next(records, &record, err);
        if (!ok || !record.text)
            break;
        ok = take(w,
                  &(struct sl_line){
                      .text = record.text, .bytes = record.text_bytes, .number = record.line},
                  err);
    }
    ok = ok && flush(w, err);
    if (ok)
        report_skipped(columns->display_name ? columns->display_name : path,
                       sl_record_reader_skipped(records));
    sl_record_reader_close(records);
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

/* The format of records that have no file name; NULL: JSON, which is recognised like that in files.
 * Of compressed ones only --format can say it. */
static const char *recognise_format(int fd)
{
    enum { BEGIN_BYTES = 1 << 12 };

    char begin[BEGIN_BYTES + 1];
    ssize_t bytes = pread(fd, begin, BEGIN_BYTES, 0);
    begin[bytes > 0 ? bytes : 0] = '\0';
    const char *first = begin + sl_utf8_mark(begin, strlen(begin));
    first += strspn(first, " \t\r\n");
    if (*first == '{' || *first == '[')
        return NULL;
    return memchr(first, '\t', strcspn(first, "\n")) ? "tsv" : "csv";
}

/* Files are memory-mapped, which a pipe cannot be: so standard input is copied to memory first. */
static bool read_input(struct text_lines *w, struct sl_err *err)
{
    static const char name[] = "standard input";
    char path[32];
    struct sl_record_options columns = w->columns;
    bool is_open = fcntl(STDIN_FILENO, F_GETFD) >= 0; /* if not, memfd_create could return fd 0 */
    int fd = is_open ? memfd_create(name, MFD_CLOEXEC) : -1;
    if (fd < 0)
        return sl_fail(err, SL_IO, "%s: %s", name, strerrordesc_np(errno));
    (void)snprintf(path, sizeof path, "/dev/fd/%d", fd);
    bool ok = copy_input(fd, err);
    columns.display_name = name;
    if (ok && columns.text && !columns.format)
        columns.format = recognise_format(fd);
    ok = ok &&
         (columns.text ? read_records(w, path, &columns, err) : read_lines(w, path, name, err));
    (void)close(fd);
    return ok;
}

static bool read_file(struct text_lines *w, const char *path, struct sl_err *err)
{
    if (strcmp(path, "-") == 0)
        return read_input(w, err);
    return w->columns.text ? read_records(w, path, &w->columns, err)
                           : read_lines(w, path, NULL, err);
}

/* A text in place of a file name is a likely mistake: it is found before the model is loaded. */
static bool check_files(const struct text_lines *w, struct sl_err *err)
{
    for (int i = 0; i < w->file_count; i++)
        if (strcmp(w->files[i], "-") != 0 && access(w->files[i], F_OK) != 0)
            return sl_fail(err, SL_NOT_FOUND,
                           "cannot open '%s': %s; expected a file with one text per line, or - for "
                           "standard input",
                           w->files[i], strerrordesc_np(errno));
    return true;
}

/* The header of a table and its quotes are no part of any text. */
static void warn_of_tables(const struct text_lines *w)
{
    for (int i = 0; i < w->file_count; i++)
        if (sl_record_format_knows(w->files[i]))
            (void)fprintf(stderr,
                          "sluice %s: each line of '%s' is taken for a text; to read a column of "
                          "it, give --text COLUMN\n",
                          w->command, w->files[i]);
}

/* -- all of it -------------------------------------------------------------------------------- */

static bool open_classifier(struct text_lines *w, struct sl_err *err)
{
    int context = w->m->config.context_length;
    const struct sl_classifier_options how = {.max_batch_size = TEXT_LINES_BATCH,
                                              .max_batch_tokens = context > ROWS ? context : ROWS};
    const int rows = sl_model_rows_max(sl_model_info(w->m), w->output);
    w->most = rows < TEXT_LINES_BATCH ? rows : TEXT_LINES_BATCH;
    if (w->output == SL_OUTPUT_MASKED) /* each may have many rows */
        w->most = 1;
    w->begun = sl_now_seconds();
    w->classifier = sl_classifier_create(w->m, &how, err);
    if (!w->classifier || !w->explains)
        return w->classifier;
    w->results =
        calloc(TEXT_LINES_BATCH * (size_t)sl_model_info(w->m)->classes, sizeof *w->results);
    return w->results || sl_fail(err, SL_NO_MEMORY, "no memory for results");
}

bool text_lines_run(struct text_lines *w, struct sl_err *err)
{
    bool ok = open_classifier(w, err);
    for (int i = 0; i < w->file_count && ok; i++)
        ok = read_file(w, w->files[i], err);
    show_progress(w, true);
    if (ok && w->truncated > 0)
        (void)fprintf(stderr, "%" PRId64 " of %" PRId64 " texts were truncated to %d tokens\n",
                      w->truncated, w->texts, w->m->config.context_length);
    if (ok && fflush(stdout) != 0)
        return sl_fail(err, SL_IO, "cannot write to standard output");
    if (ok && w->skipped > 0)
        return sl_fail(err, SL_BAD_INPUT, "%" PRId64 " of %" PRId64 " texts could not be %s",
                       w->skipped, w->skipped + w->texts, w->done);
    return ok;
}

static void release(struct text_lines *w)
{
    for (int i = 0; i < TEXT_LINES_BATCH; i++) {
        free(w->waiting[i].text);
        free(w->waiting[i].ids);
        free(w->waiting[i].types);
        free(w->waiting[i].offsets);
    }
    free(w->results);
    sl_classifier_destroy(w->classifier);
}

/* What the options say of the texts. */
static bool set_options(struct text_lines *w, const struct text_arguments *a, struct sl_err *err)
{
    if (!command_truncation(a->truncate, &w->truncation, err) || !check_files(w, err))
        return false;
    if (a->format && !a->columns)
        return sl_fail(err, SL_BAD_INPUT, "--format needs --text: which column is the text?");
    if (!a->columns)
        warn_of_tables(w);
    w->columns = (struct sl_record_options){
        .text = a->columns, .format = a->format, .unlabelled = true, .skip_incomplete = true};
    return true;
}

bool text_lines_command(const struct command *command, void *arguments,
                        bool (*work)(struct text_lines *lines, void *arguments, struct sl_err *err),
                        int count, char **words, struct sl_err *err)
{
    const struct text_arguments *a = arguments;
    const char *operands[FILES_MAX + 1];
    struct text_lines lines = {.command = command->name, .files = operands + 1};
    struct sl_option_parser parser = {.tables = {{.rows = command->rows, .values = arguments}},
                                      .operands = operands,
                                      .operands_max = FILES_MAX + 1};
    if (!sl_options_parse(&parser, count, words, err))
        return false;
    if (parser.operand_count < 2)
        return fail_missing(command,
                            parser.operand_count ? "TEXT-FILE, or - for standard input"
                                                 : "MODEL-DIR and TEXT-FILE",
                            err);
    lines.file_count = parser.operand_count - 1;
    if (!set_options(&lines, a, err))
        return false;
    struct sl_engine *engine = command_engine(a->threads, a->isa, a->precision, err);
    struct sl_model *m = engine ? command_model(engine, operands[0], err) : NULL;
    lines.m = m;
    if (m)
        lines.output = sl_model_main_output(sl_model_info(m));
    bool ok = m && work(&lines, arguments, err);
    release(&lines);
    sl_model_close(m);
    sl_engine_destroy(engine);
    return ok;
}

bool text_lines_print_json(struct sl_buffer *json, struct sl_err *err)
{
    const bool ok = sl_buffer_check(json, err);
    if (ok)
        (void)puts(json->data);
    sl_buffer_release(json);
    return ok;
}
