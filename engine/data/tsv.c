/* tsv.c - tab-separated values: no quoting, so no text with tabs or line breaks. */
#include "data/record_format.h"

#include <assert.h>
#include <string.h>

static bool row_split(const struct sl_line *line, struct sl_row *row, struct sl_err *err)
{
    const char *at = line->text, *end = line->text + line->bytes;
    for (;;) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        const char *stop = tab ? tab : end;
        if (row->count == SL_FIELDS_MAX)
            return sl_fail(err, SL_BAD_INPUT, "more than %d fields", SL_FIELDS_MAX);
        row->fields[row->count++] = (struct sl_field){.data = at, .bytes = (size_t)(stop - at)};
        if (!tab)
            return true;
        at = tab + 1;
    }
}

static bool tsv_next(void *state, struct sl_line_reader *lines, struct sl_row *row,
                     struct sl_err *err)
{
    struct sl_line line;
    (void)state;
    if (!sl_line_reader_next_nonempty(lines, &line, err))
        return false;
    row->line = line.number;
    row->count = 0;
    return !line.text || row_split(&line, row, err) || sl_line_reader_wrap(lines, line.number, err);
}

const struct sl_record_format sl_record_format_tsv = {.name = "tsv",
                                                      .separator = "tabs",
                                                      .next = tsv_next};
