/* tsv.c - tab-separated values.
 *
 * Many programs write them without quoting; spreadsheets put fields with tabs, line breaks or
 * quotes in quotes, as in CSV. The whole file says which it is: at the first field that begins with
 * a quote it is read ahead, and is quoted if all of it is, with the same number of fields in every
 * row. */
#include "data/record_format.h"

#include <stdlib.h>
#include <string.h>

enum quoting { UNDECIDED, PLAIN, QUOTED };

struct tsv {
    const struct sl_record_input *input;
    enum quoting quoting;
    bool has_noted; /* that quotes are text */
    void *csv;      /* reads the file if it is quoted */
};

static bool tsv_open(void *state, const struct sl_record_input *input, struct sl_err *err)
{
    struct tsv *tsv = state;
    (void)err;
    tsv->input = input;
    return true;
}

static void csv_destroy(void *csv)
{
    if (csv)
        sl_record_format_csv.close(csv);
    free(csv);
}

static void tsv_close(void *state)
{
    csv_destroy(((struct tsv *)state)->csv);
}

/* NULL: failed. line: the first one to read; NULL: the next of the file. */
static void *csv_create(const struct tsv *tsv, const struct sl_line *line, struct sl_err *err)
{
    void *csv = calloc(1, sl_record_format_csv.size);
    if (!csv) {
        sl_fail(err, SL_NO_MEMORY, "no memory to read TSV");
        return NULL;
    }
    if (!sl_record_format_csv.open(csv, tsv->input, err)) {
        csv_destroy(csv);
        return NULL;
    }
    sl_csv_continue_tsv(csv, line);
    return csv;
}

static bool row_split(const struct sl_line *line, struct sl_row *row, struct sl_err *err)
{
    const char *at = line->text, *end = line->text + line->bytes;
    for (;;) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        const char *stop = tab ? tab : end;
        if (row->count == SL_FIELDS_MAX)
            return sl_fail(err, SL_BAD_INPUT,
                           "more than %d fields; keep the columns of label and text",
                           SL_FIELDS_MAX);
        row->fields[row->count++] = (struct sl_field){.data = at, .bytes = (size_t)(stop - at)};
        if (!tab)
            return true;
        at = tab + 1;
    }
}

/* ---- whether quotes mean something ----------------------------------------------------------- */

/* Whether all rows of a file have quotes as in CSV, and as many fields as the first. */
static bool is_quoted(void *csv, struct sl_line_reader *lines, struct sl_err *err)
{
    struct sl_notes notes = {0};
    struct sl_row *row = calloc(1, sizeof *row);
    int fields = 0;
    bool ok = row || sl_fail(err, SL_NO_MEMORY, "no memory to read TSV");
    while (ok) {
        row->notes = &notes;
        ok = sl_record_format_csv.next(csv, lines, row, err);
        if (!ok || row->count == 0)
            break;
        fields = fields > 0 ? fields : row->count;
        if (row->count != fields) {
            (void)sl_fail(err, SL_BAD_INPUT, "%d fields: expected %d", row->count, fields);
            ok = sl_line_reader_wrap(lines, row->line, err);
        }
    }
    free(row);
    return ok;
}

/* Reads the whole file, which begins to have quotes in `line`. */
static bool survey(struct tsv *tsv, const struct sl_line *line, struct sl_row *row,
                   struct sl_err *err)
{
    struct sl_err why = {0};
    struct sl_line_reader *lines =
        sl_line_reader_open(tsv->input->path, NULL, &tsv->input->limits, err);
    void *csv = lines ? csv_create(tsv, NULL, err) : NULL;
    const bool quoted = csv && is_quoted(csv, lines, &why);
    const bool read = csv != NULL;
    csv_destroy(csv);
    sl_line_reader_close(lines);
    if (!read || (!quoted && why.code != SL_BAD_INPUT))
        return read ? sl_fail(err, why.code, "%s", why.text) : false;
    tsv->quoting = quoted ? QUOTED : PLAIN;
    tsv->has_noted = true;
    if (quoted)
        sl_note(row->notes,
                "quotes around fields are taken off, as spreadsheets mean them; the first are in "
                "line %lld",
                (long long)line->number);
    else
        sl_note(row->notes,
                "quotes are part of labels and texts, as in line %lld, because line %d is not "
                "quoted as spreadsheets do",
                (long long)line->number, why.line);
    return true;
}

/* A field that has a quote, but does not begin with one, is of a file without quoting. */
static bool decide(struct tsv *tsv, const struct sl_line *line, struct sl_row *row,
                   struct sl_err *err)
{
    bool begins = false, contains = false;
    for (int i = 0; i < row->count; i++) {
        const struct sl_field *field = &row->fields[i];
        const bool first = field->bytes > 0 && field->data[0] == '"';
        begins = begins || first;
        contains = contains || (!first && memchr(field->data, '"', field->bytes));
    }
    if (begins && tsv->quoting == UNDECIDED)
        return survey(tsv, line, row, err);
    if (begins && !tsv->has_noted)
        sl_note(row->notes,
                "quotes are part of labels and texts, as in line %lld: the file is not quoted as "
                "spreadsheets do",
                (long long)line->number);
    tsv->has_noted = tsv->has_noted || begins;
    if (contains)
        tsv->quoting = PLAIN;
    return true;
}

static bool row_read(struct tsv *tsv, const struct sl_line *line, struct sl_row *row,
                     struct sl_err *err)
{
    return row_split(line, row, err) && (!memchr(line->text, '"', line->bytes) ||
                                         tsv->quoting == QUOTED || decide(tsv, line, row, err));
}

static bool tsv_next(void *state, struct sl_line_reader *lines, struct sl_row *row,
                     struct sl_err *err)
{
    struct tsv *tsv = state;
    struct sl_line line;
    if (tsv->quoting == QUOTED)
        return sl_record_format_csv.next(tsv->csv, lines, row, err);
    if (!sl_line_reader_next_nonempty(lines, &line, err))
        return false;
    row->line = line.number;
    row->count = 0;
    if (line.text && !row_read(tsv, &line, row, err))
        return sl_line_reader_wrap(lines, line.number, err);
    if (tsv->quoting != QUOTED)
        return true;
    tsv->csv = csv_create(tsv, &line, err);
    return tsv->csv && sl_record_format_csv.next(tsv->csv, lines, row, err);
}

const struct sl_record_format sl_record_format_tsv = {.name = "tsv",
                                                      .extensions = {"tsv", "tab"},
                                                      .separator = "tabs",
                                                      .size = sizeof(struct tsv),
                                                      .open = tsv_open,
                                                      .next = tsv_next,
                                                      .close = tsv_close};
