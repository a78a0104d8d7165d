/* fasttext.c - lines as fastText trains on: "__label__sport __label__local text of the line". Words
 * that begin with __label__ are labels wherever they stand; all others are the text. */
#include "base/dynarray.h"
#include "data/labels.h"
#include "data/record_format.h"

#include <stdlib.h>
#include <string.h>

static const char prefix[] = SL_FASTTEXT_PREFIX, blanks[] = " \t\v\f\r";

enum { PREFIX_BYTES = sizeof prefix - 1 };

struct fasttext {
    const struct sl_chosen *chosen;
    struct sl_field *labels;
    size_t labels_room;
    char *text; /* of a line with labels among its words */
    size_t text_room, used;
};

static bool fasttext_open(void *state, const struct sl_record_input *input, struct sl_err *err)
{
    (void)err;
    ((struct fasttext *)state)->chosen = &input->chosen;
    return true;
}

static void fasttext_close(void *state)
{
    struct fasttext *f = state;
    free(f->labels);
    free(f->text);
}

static bool add_label(struct fasttext *f, const char *word, size_t bytes, struct sl_row *row,
                      struct sl_err *err)
{
    char shown[SL_NAME_SHORT];
    if (word[bytes - 1] == ',' ||
        memmem(word + PREFIX_BYTES, bytes - PREFIX_BYTES, prefix, PREFIX_BYTES))
        return sl_fail(err, SL_BAD_INPUT,
                       "'%s' is no label of fastText's format, which has spaces after labels and "
                       "no commas; if this is CSV, the format is csv",
                       sl_name_shorten(word, bytes, shown));
    if (row->list_count == SL_LABELS_MAX)
        return sl_fail(err, SL_BAD_INPUT, "more than %d labels", SL_LABELS_MAX);
    if (!sl_dynarray_reserve(&f->labels, &f->labels_room, (size_t)row->list_count + 1,
                             sizeof *f->labels, err))
        return false;
    f->labels[row->list_count++] =
        (struct sl_field){.data = word + PREFIX_BYTES, .bytes = bytes - PREFIX_BYTES};
    return true;
}

/* text: with the white space before it, unless it is the first. */
static void add_text(struct fasttext *f, const char *text, size_t bytes)
{
    memcpy(f->text + f->used, text, bytes);
    f->used += bytes;
}

static bool is_blank(char c)
{
    return c != '\0' && strchr(blanks, c);
}

/* The bytes that are white space, or are not. */
static size_t span_of(const char *text, const char *end, bool blank)
{
    size_t bytes = 0;
    while (text + bytes < end && is_blank(text[bytes]) == blank)
        bytes++;
    return bytes;
}

static bool line_split(struct fasttext *f, const struct sl_line *line, struct sl_row *row,
                       struct sl_err *err)
{
    const char *at = line->text, *end = line->text + line->bytes;
    if (!sl_dynarray_reserve(&f->text, &f->text_room, line->bytes + 1, 1, err))
        return false;
    f->used = 0;
    while (at < end) {
        const char *blank = at;
        at += span_of(at, end, true);
        const size_t bytes = span_of(at, end, false);
        const bool is_label = bytes >= PREFIX_BYTES && memcmp(at, prefix, PREFIX_BYTES) == 0;
        if (is_label && !add_label(f, at, bytes, row, err))
            return false;
        if (!is_label && bytes > 0)
            add_text(f, f->used > 0 ? blank : at,
                     (size_t)(at - (f->used > 0 ? blank : at)) + bytes);
        at += bytes;
    }
    return true;
}

static bool row_fill(struct fasttext *f, const struct sl_line *line, struct sl_row *row,
                     struct sl_err *err)
{
    row->list_count = 0;
    if (!line_split(f, line, row, err))
        return false;
    const struct sl_field text = {.data = f->text, .bytes = f->used};
    row->is_list = row->list_count > 0;
    row->list = f->labels;
    row->fields[0] = f->chosen->unlabelled ? text : (struct sl_field){0};
    row->fields[f->chosen->labels] = text;
    row->count = f->chosen->count;
    row->left_out = row->list_count == 0 && !f->chosen->unlabelled ? "it has no __label__" : NULL;
    return true;
}

static bool fasttext_next(void *state, struct sl_line_reader *lines, struct sl_row *row,
                          struct sl_err *err)
{
    struct sl_line line;
    if (!sl_line_reader_next_nonempty(lines, &line, err))
        return false;
    row->line = line.number;
    row->count = 0;
    return !line.text || row_fill(state, &line, row, err) ||
           sl_line_reader_wrap(lines, line.number, err);
}

const struct sl_record_format sl_record_format_fasttext = {.name = "fasttext",
                                                           .extensions = {"ft", "fasttext"},
                                                           .keyed = true,
                                                           .size = sizeof(struct fasttext),
                                                           .open = fasttext_open,
                                                           .next = fasttext_next,
                                                           .close = fasttext_close};
