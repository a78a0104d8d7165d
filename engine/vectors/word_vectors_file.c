/* word_vectors_file.c - word vectors in word2vec's text format. */
#include "base/buffer.h"
#include "base/byte_string.h"
#include "base/file.h"
#include "data/line_reader.h"
#include "tokenizer/piece_table.h"
#include "vectors/word_vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* [bytes] A number is at most " -1.2345e-38". The file is made in memory. */
enum { FILE_GIB_MAX = 8, NUMBER_MAX = 12, TOKEN_MAX = 256 };

bool sl_word_vectors_check_size(int vocab, int width, struct sl_err *err)
{
    const double bytes = (double)vocab * ((double)width * NUMBER_MAX + TOKEN_MAX);
    return bytes <= (double)FILE_GIB_MAX * (1 << 30) ||
           sl_fail(err, SL_BAD_INPUT,
                   "%d vectors of width %d may take more than %d GiB; lower the width or the size "
                   "of the vocabulary",
                   vocab, width, FILE_GIB_MAX);
}

bool sl_word_vectors_write(const char *path, const struct sl_tokenizer *tokens,
                           const float *vectors, int width, struct sl_err *err)
{
    struct sl_buffer text = {.bytes_max = (size_t)FILE_GIB_MAX << 30};
    sl_buffer_printf(&text, "%d %d\n", sl_tokenizer_size(tokens), width);
    for (int32_t i = 0; i < sl_tokenizer_size(tokens); i++) {
        size_t bytes;
        const char *piece = sl_tokenizer_piece(tokens, i, &bytes);
        sl_buffer_append(&text, piece, bytes);
        for (int c = 0; c < width; c++)
            sl_buffer_printf(&text, " %.5g", (double)*vectors++);
        sl_buffer_append(&text, "\n", 1);
    }
    const struct sl_slice slice = {.data = text.data, .size = text.bytes};
    bool ok = sl_buffer_check(&text, err) && sl_file_replace(path, &slice, 1, err);
    sl_buffer_release(&text);
    return ok;
}

/* -- reading ---------------------------------------------------------------------------------- */

/* What was read: vectors has a row more, for tokens that the vocabulary lacks. */
struct rows_read {
    float *vectors;
    bool *known;
    int count, width;
};

/* The numbers of a line; false unless there are exactly `width`, all of them finite. */
static bool read_numbers(const char *text, float *out, int width)
{
    for (int c = 0; c < width; c++) {
        char *end;
        out[c] = strtof(text, &end);
        if (end == text || !isfinite(out[c]))
            return false;
        text = end;
    }
    while (*text == ' ')
        text++;
    return *text == '\n' || *text == '\r' || *text == '\0';
}

/* The reader's buffer holds a line feed after the line, or nothing: a copy ends with a NUL. */
static bool read_vector(const struct sl_line *line, const struct sl_piece_table *tokens,
                        struct rows_read *rows, struct sl_err *err)
{
    char *copy = sl_bytes_copy(line->text, line->bytes);
    if (!copy)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a line");
    char *space = strchr(copy, ' ');
    int32_t id = space ? sl_piece_table_find(tokens, copy, (size_t)(space - copy)) : -1;
    float *row = rows->vectors + (size_t)(id >= 0 ? id : rows->count) * (size_t)rows->width;
    bool ok = space && space > copy && read_numbers(space, row, rows->width);
    if (ok && id >= 0)
        rows->known[id] = true;
    free(copy);
    return ok || sl_fail(err, SL_BAD_INPUT, "expected a token and %d finite numbers", rows->width);
}

static bool read_header(const struct sl_line *line, int width, struct sl_err *err)
{
    char text[64], *rest, *end;
    (void)snprintf(text, sizeof text, "%.*s", (int)(line->bytes < 63 ? line->bytes : 63),
                   line->text ? line->text : "");
    (void)strtol(text, &rest, 10); /* the number of vectors */
    const long columns = strtol(rest, &end, 10);
    if (rest == text || end == rest)
        return sl_fail(err, SL_BAD_INPUT, "expected the number of vectors and their width");
    return columns == width ||
           sl_fail(err, SL_BAD_INPUT, "vectors of width %ld: the model has width %d", columns,
                   width);
}

static bool read_lines(struct sl_line_reader *lines, const struct sl_piece_table *tokens,
                       struct rows_read *rows, struct sl_err *err)
{
    struct sl_line line;
    if (!sl_line_reader_next(lines, &line, err))
        return false;
    if (!read_header(&line, rows->width, err))
        return sl_line_reader_wrap(lines, 1, err);
    while (sl_line_reader_next_nonempty(lines, &line, err)) {
        if (!line.text)
            return true;
        if (!read_vector(&line, tokens, rows, err))
            return sl_line_reader_wrap(lines, line.number, err);
    }
    return false;
}

static bool read_file(const char *path, const struct sl_tokenizer *tokens, struct rows_read *rows,
                      struct sl_err *err)
{
    const struct sl_data_limits limits = {.file_bytes = INT64_MAX};
    struct sl_piece_table table;
    struct sl_line_reader *lines = NULL;
    bool ok = sl_piece_table_fill(&table, tokens->pieces, tokens->count, NULL, err) &&
              (lines = sl_line_reader_open(path, NULL, &limits, err)) &&
              read_lines(lines, &table, rows, err);
    sl_line_reader_close(lines);
    sl_piece_table_release(&table);
    return ok;
}

/* -- applying --------------------------------------------------------------------------------- */

static const double deviation = 0.1;

/* Subtracts the mean of the known rows from each of them; returns their standard deviation, 0 if
 * there are none. */
static double centre(const struct rows_read *rows)
{
    double squares = 0.0;
    int known = 0;
    for (int i = 0; i < rows->count; i++)
        known += rows->known[i];
    for (int c = 0; c < rows->width; c++) {
        double sum = 0.0;
        for (int i = 0; i < rows->count; i++)
            if (rows->known[i])
                sum += (double)rows->vectors[(size_t)i * (size_t)rows->width + (size_t)c];
        for (int i = 0; i < rows->count; i++) {
            float *x = rows->vectors + (size_t)i * (size_t)rows->width + c;
            if (!rows->known[i])
                continue;
            *x -= (float)(sum / known);
            squares += (double)*x * (double)*x;
        }
    }
    return known > 0 ? sqrt(squares / known / rows->width) : 0.0;
}

static bool apply(const char *path, const struct sl_tokenizer *tokens, struct rows_read *rows,
                  const struct sl_parameter *table, struct sl_err *err)
{
    if (!read_file(path, tokens, rows, err))
        return false;
    double now = centre(rows);
    if (!(now > 0.0))
        return sl_fail(err, SL_BAD_INPUT, "'%s' has no vector of a token of the vocabulary", path);
    for (int i = 0; i < rows->count; i++)
        for (int c = 0; c < rows->width && rows->known[i]; c++) {
            size_t at = (size_t)i * (size_t)rows->width + (size_t)c;
            table->data[at] = rows->vectors[at] * (float)(deviation / now);
        }
    return true;
}

bool sl_word_vectors_apply(const char *path, const struct sl_tokenizer *tokens,
                           const struct sl_parameter *table, struct sl_err *err)
{
    struct rows_read rows = {.count = table->rows, .width = table->cols};
    rows.vectors = calloc(sl_parameter_floats(table) + (size_t)table->cols, sizeof *rows.vectors);
    rows.known = calloc((size_t)table->rows, sizeof *rows.known);
    bool ok = (rows.vectors && rows.known) ||
              sl_fail(err, SL_NO_MEMORY, "no memory for %d vectors", table->rows);
    ok = ok && apply(path, tokens, &rows, table, err);
    free(rows.vectors);
    free(rows.known);
    return ok || sl_wrap(err, "word vectors");
}
