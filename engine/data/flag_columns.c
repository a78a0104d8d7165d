/* flag_columns.c - looks at the first records for columns that hold nothing but 0 and 1. */
#include "data/flag_columns.h"

#include "base/byte_string.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ROWS_READ = 1000 };

static bool field_is(const struct sl_field *field, const char *word)
{
    return field->bytes == strlen(word) && strncasecmp(field->data, word, field->bytes) == 0;
}

static bool is_one_of(const struct sl_field *field, const char *const *words)
{
    for (; *words; words++)
        if (field_is(field, *words))
            return true;
    return false;
}

int sl_flag_read(const struct sl_field *field)
{
    static const char *const set[] = {"1", "1.0", "true", "yes", NULL}, *const unset[] = {
                                                                            "0", "0.0", "false",
                                                                            "no", NULL};
    if (field->bytes == 0 || is_one_of(field, unset))
        return 0;
    return is_one_of(field, set) ? 1 : -1;
}

/* What the first rows say of each column. */
struct columns {
    char *names[SL_FIELDS_MAX];
    bool is_other[SL_FIELDS_MAX]; /* it has a field that is no flag */
    int set[SL_FIELDS_MAX];       /* in how many rows it is 1 */
    int count, rows;
};

static bool is_text(const struct sl_chosen *chosen, const char *name)
{
    for (int i = chosen->labels; i < chosen->count; i++)
        if (strcmp(chosen->names[i], name) == 0)
            return true;
    return false;
}

static bool take_names(struct columns *c, const struct sl_chosen *chosen, const struct sl_row *row,
                       struct sl_err *err)
{
    for (c->count = 0; c->count < row->count; c->count++) {
        const struct sl_field *field = &row->fields[c->count];
        c->names[c->count] = sl_bytes_copy(field->data, field->bytes);
        if (!c->names[c->count])
            return sl_fail(err, SL_NO_MEMORY, "no memory for the names of columns");
        c->is_other[c->count] = field->bytes == 0 || memchr(field->data, ',', field->bytes) ||
                                is_text(chosen, c->names[c->count]);
    }
    return true;
}

static void take_row(struct columns *c, const struct sl_row *row)
{
    c->rows++;
    for (int i = 0; i < c->count && i < row->count; i++) {
        const int flag = sl_flag_read(&row->fields[i]);
        c->is_other[i] = c->is_other[i] || flag < 0;
        c->set[i] += flag > 0;
    }
}

/* What is wrong with a row is found when it is read as a record. */
static bool read_rows(struct columns *c, const struct sl_record_format *format, void *state,
                      const struct sl_chosen *chosen, struct sl_line_reader *lines,
                      struct sl_err *err)
{
    struct sl_err ignored;
    struct sl_notes notes = {0};
    struct sl_row *row = calloc(1, sizeof *row);
    if (!row)
        return sl_fail(err, SL_NO_MEMORY, "no memory to read a file");
    row->notes = &notes;
    bool ok = format->next(state, lines, row, err) && take_names(c, chosen, row, err);
    for (int i = 0; ok && i < ROWS_READ; i++) {
        if (!format->next(state, lines, row, &ignored) || row->count == 0)
            break;
        take_row(c, row);
    }
    free(row);
    return ok;
}

/* Columns that are all 0 are labels beside others only: perhaps they are set in later rows. */
static void join_names(const struct columns *c, char names[SL_FLAG_NAMES_BYTES])
{
    size_t used = 0;
    int count = 0, set = 0, rows = 0;
    names[0] = '\0';
    for (int i = 0; i < c->count; i++) {
        set += !c->is_other[i] && c->set[i] > 0;
        rows += c->is_other[i] ? 0 : c->set[i];
    }
    for (int i = 0; i < c->count; i++) {
        const size_t bytes = strlen(c->names[i]);
        if (c->is_other[i] || (c->set[i] == 0 && set < 2) || used + bytes + 2 > SL_FLAG_NAMES_BYTES)
            continue;
        if (used > 0)
            names[used++] = ',';
        memcpy(names + used, c->names[i], bytes + 1);
        used += bytes;
        count++;
    }
    if ((count == 1 && rows == c->rows) || count > SL_LABEL_COLUMNS_MAX)
        names[0] = '\0';
}

bool sl_flag_columns_find(const struct sl_record_format *format,
                          const struct sl_record_input *input, char names[SL_FLAG_NAMES_BYTES],
                          struct sl_err *err)
{
    struct columns *c = calloc(1, sizeof *c);
    void *state = calloc(1, format->size + 1);
    struct sl_line_reader *lines = sl_line_reader_open(input->path, NULL, &input->limits, err);
    bool ok = lines && ((c && state) || sl_fail(err, SL_NO_MEMORY, "no memory to read a file")) &&
              format->open(state, input, err) &&
              read_rows(c, format, state, &input->chosen, lines, err);
    if (ok)
        join_names(c, names);
    if (state)
        format->close(state);
    for (int i = 0; c && i < c->count; i++)
        free(c->names[i]);
    sl_line_reader_close(lines);
    free(state);
    free(c);
    return ok;
}
