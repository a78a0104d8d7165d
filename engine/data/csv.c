/* csv.c - comma-separated values after RFC 4180: libcsv in strict mode, fed line by line, so that
 * errors have a line number. Spreadsheets write semicolons where the comma is the decimal sign, so
 * the first line decides which of the two separates fields. */
#include "data/record_format.h"

#include "base/dynarray.h"

#include <csv.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BLOCK_BYTES = 1 << 16 }; /* by which libcsv lets its field grow */

struct csv {
    struct csv_parser parser;
    bool begun;
    bool finds_separator; /* in the next line, which is the first */
    char *text;           /* of the row's fields, one after another */
    size_t used, room;
    struct sl_line first; /* read before this format was chosen; text NULL: none */
    struct sl_row *row;   /* the one being read */
    int64_t field_line;   /* where its present field begins */
    int64_t line;         /* being read */
    size_t row_bytes;     /* read for the row */
    bool ended;           /* the row is whole */
    struct sl_err *err;   /* for the callbacks */
    bool failed;          /* a callback failed and set err */
};

/* RFC 4180, section 2, number 4: spaces are part of a field. */
static int is_space(unsigned char c)
{
    (void)c;
    return 0;
}

/* The first column alone, by number, is the one choice that a line of one field has. */
static bool needs_fields(const struct sl_chosen *chosen)
{
    for (int i = 0; i < chosen->count; i++)
        if (strcmp(chosen->names[i], "1") != 0)
            return true;
    return false;
}

static bool csv_open(void *state, const struct sl_record_input *input, struct sl_err *err)
{
    struct csv *csv = state;
    if (csv_init(&csv->parser, CSV_STRICT) != 0)
        return sl_fail(err, SL_NO_MEMORY, "no memory to read CSV");
    csv->begun = true;
    csv->finds_separator = needs_fields(&input->chosen);
    csv_set_space_func(&csv->parser, is_space);
    csv_set_blk_size(&csv->parser, BLOCK_BYTES);
    return true;
}

void sl_csv_continue_tsv(void *state, const struct sl_line *line)
{
    struct csv *csv = state;
    csv->finds_separator = false;
    csv_set_delim(&csv->parser, '\t');
    csv->first = line ? *line : (struct sl_line){0};
}

static void csv_close(void *state)
{
    struct csv *csv = state;
    if (csv->begun)
        csv_free(&csv->parser);
    free(csv->text);
}

/* ---- libcsv's callbacks --------------------------------------------------------------------- */

static bool field_add(struct csv *csv, const void *data, size_t bytes)
{
    if (csv->row->count == SL_FIELDS_MAX)
        return sl_fail(csv->err, SL_BAD_INPUT,
                       "more than %d fields; keep the columns of label and text", SL_FIELDS_MAX);
    /* One byte more, so that a row of empty fields is not NULL. */
    if (!sl_dynarray_reserve(&csv->text, &csv->room, csv->used + bytes + 1, 1, csv->err))
        return false;
    if (bytes > 0)
        memcpy(csv->text + csv->used, data, bytes);
    csv->used += bytes;
    /* Pointers are set when the row is complete: until then the text may move. */
    csv->row->fields[csv->row->count++] = (struct sl_field){.bytes = bytes};
    csv->field_line = csv->line;
    return true;
}

static void on_field(void *data, size_t bytes, void *context)
{
    struct csv *csv = context;
    if (!csv->failed && !csv->ended)
        csv->failed = !field_add(csv, data, bytes);
}

static void on_row(int end, void *context)
{
    struct csv *csv = context;
    (void)end;
    csv->ended = true;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Before a space, a comma or semicolon belongs to prose. */
struct use {
    bool anywhere, before_text;
};

static struct use use_of(char separator, const struct sl_line *line)
{
    struct use use = {0};
    bool quoted = false;
    for (size_t i = 0; i < line->bytes; i++) {
        quoted = quoted != (line->text[i] == '"');
        if (quoted || line->text[i] != separator)
            continue;
        use.anywhere = true;
        use.before_text = use.before_text || i + 1 == line->bytes || line->text[i + 1] != ' ';
    }
    return use;
}

static bool has_semicolons(const struct sl_line *line)
{
    struct use comma = use_of(',', line), semicolon = use_of(';', line);
    return (semicolon.anywhere && !comma.anywhere) || (semicolon.before_text && !comma.before_text);
}

/* True: the line says nothing but the separator, as Excel's "sep=;" does, and is not a row. */
static bool find_separator(struct csv *csv, const struct sl_line *line)
{
    static const char declaration[] = "sep=";

    enum { LENGTH = sizeof declaration - 1 };

    bool declared = line->bytes == LENGTH + 1 &&
                    strncasecmp(line->text, declaration, LENGTH) == 0 && line->text[LENGTH] &&
                    strchr(",;\t|", line->text[LENGTH]);
    csv->finds_separator = false;
    if (declared)
        csv_set_delim(&csv->parser, (unsigned char)line->text[LENGTH]);
    else if (has_semicolons(line))
        csv_set_delim(&csv->parser, ';');
    return declared;
}

static bool fail_carriage(const struct csv *csv, struct sl_err *err)
{
    return sl_fail(err, SL_BAD_INPUT,
                   "field %d has a carriage return outside quotes; lines end with LF or CR LF",
                   csv->row->count + !csv->ended);
}

static bool feed(struct csv *csv, const char *text, size_t bytes, struct sl_err *err)
{
    size_t done = csv_parse(&csv->parser, text, bytes, on_field, on_row, csv);
    if (csv->failed)
        return false;
    if (done == bytes)
        return true;
    if (csv_error(&csv->parser) != CSV_EPARSE)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a field of CSV");
    char begun[64] = "";
    if (csv->field_line != csv->line) /* its quote was perhaps never closed */
        (void)snprintf(begun, sizeof begun, ", whose quote opens in line %" PRId64 ",",
                       csv->field_line);
    const bool is_indented =
        text[done] == '"' && done > 0 && text[done - 1] == ' ' &&
        (done == 1 || (unsigned char)text[done - 2] == csv_get_delim(&csv->parser));
    sl_fail(err, SL_BAD_INPUT, "field %d%s has %s at byte offset %zu; %s", csv->row->count + 1,
            begun, text[done] == '"' ? "a stray quote" : "text after its closing quote", done,
            is_indented ? "no space may stand between the separator and a quote"
                        : "a field with quotes must be quoted, and its own quotes doubled");
    return sl_err_set_place(err, (int)csv->line, (int)done + 1);
}

/* The text and the end of a line apart: a row that ends before the line does has met a CR. */
static bool feed_line(struct csv *csv, const struct sl_line *line, struct sl_err *err)
{
    bool first = csv->row_bytes == 0;
    csv->line = line->number;
    csv->row_bytes += line->bytes + line->end_bytes;
    /* Where libcsv would silently take it for the end of an empty row. */
    if (first && line->text[0] == '\r')
        return fail_carriage(csv, err);
    bool fed = feed(csv, line->text, line->bytes, err);
    if (csv->ended)
        return fail_carriage(csv, err);
    if (!fed)
        return false;
    const char *end = line->end_bytes > 0 ? line->text + line->bytes : "\n";
    return feed(csv, end, line->end_bytes > 0 ? line->end_bytes : 1, err);
}

static bool fail_unended(const struct csv *csv, struct sl_line_reader *lines, struct sl_err *err)
{
    sl_fail(err, SL_BAD_INPUT, "field %d begins with a quote that is never closed",
            csv->row->count + 1);
    return sl_line_reader_wrap(lines, csv->field_line, err);
}

static bool fail_long(const struct csv *csv, struct sl_line_reader *lines, struct sl_err *err)
{
    sl_fail(err, SL_BAD_INPUT,
            "field %d begins with a quote and exceeds the record limit of %zu bytes: is the "
            "quote closed?",
            csv->row->count + 1, sl_line_reader_record_bytes(lines));
    return sl_line_reader_wrap(lines, csv->field_line, err);
}

static void fields_place(struct csv *csv)
{
    const char *at = csv->text;
    for (int i = 0; i < csv->row->count; i++) {
        csv->row->fields[i].data = at;
        at += csv->row->fields[i].bytes;
    }
}

static void row_begin(struct csv *csv, struct sl_row *row, struct sl_err *err)
{
    row->count = 0;
    csv->row = row;
    csv->err = err;
    csv->used = 0;
    csv->row_bytes = 0;
    csv->ended = false;
}

static bool read_line(struct csv *csv, struct sl_line_reader *lines, struct sl_line *line,
                      struct sl_err *err)
{
    if (csv->first.text) {
        *line = csv->first;
        csv->first.text = NULL;
        return true;
    }
    return csv->row_bytes == 0 ? sl_line_reader_next_nonempty(lines, line, err)
                               : sl_line_reader_next(lines, line, err);
}

static bool csv_next(void *state, struct sl_line_reader *lines, struct sl_row *row,
                     struct sl_err *err)
{
    struct csv *csv = state;
    struct sl_line line;
    row_begin(csv, row, err);
    while (!csv->ended) {
        if (!read_line(csv, lines, &line, err))
            return false;
        if (!line.text)
            return csv->row_bytes == 0 || fail_unended(csv, lines, err);
        if (csv->finds_separator && find_separator(csv, &line))
            continue;
        if (csv->row_bytes == 0)
            row->line = csv->field_line = line.number;
        if (csv->row_bytes + line.bytes > sl_line_reader_record_bytes(lines))
            return fail_long(csv, lines, err);
        if (!feed_line(csv, &line, err))
            return sl_line_reader_wrap(lines, line.number, err);
    }
    fields_place(csv);
    return true;
}

const struct sl_record_format sl_record_format_csv = {
    .name = "csv",
    .extensions = {"csv"},
    .separator = "commas or semicolons",
    .too_many = "; a field that has the separator in it must be quoted",
    .size = sizeof(struct csv),
    .open = csv_open,
    .next = csv_next,
    .close = csv_close};
