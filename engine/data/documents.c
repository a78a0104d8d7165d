/* documents.c - encodes a text line by line into a temporary file. */
#include "data/documents.h"

#include "base/dynarray.h"
#include "data/line_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Offsets of tokens are kept in 32 bits by those who index them. */
static const int64_t tokens_max = INT32_MAX;

static bool room_for(struct sl_documents *d, size_t more, struct sl_err *err)
{
    bool ok = sl_scratch_file_reserve(&d->file, ((size_t)d->count + more) * sizeof *d->ids, err);
    d->ids = d->file.data;
    return ok;
}

static bool append_line(struct sl_documents *d, const struct sl_line *line,
                        const struct sl_tokenizer *tokens, struct sl_err *err)
{
    size_t most = sl_tokenizer_max_tokens(tokens, line->bytes);
    if (!room_for(d, most, err))
        return false;
    int32_t *ids = (int32_t *)d->file.data + d->count;
    long count = sl_tokenizer_encode(tokens, line->text, line->bytes, SL_UNKNOWN_REPLACE, ids,
                                     (long)most, err);
    if (count < 0)
        return false;
    d->count += count;
    return d->count <= tokens_max ||
           sl_fail(err, SL_BAD_INPUT, "more than %" PRId64 " tokens: split the text", tokens_max);
}

/* Ends the open document, if it has tokens. */
static bool end_document(struct sl_documents *d, struct sl_err *err)
{
    if (d->documents > 0 && d->starts[d->documents] == d->count)
        return true;
    if (d->documents == 0 && d->count == 0)
        return true;
    if (!sl_dynarray_reserve(&d->starts, &d->starts_room, (size_t)d->documents + 2,
                             sizeof *d->starts, err))
        return false;
    if (d->documents == 0)
        d->starts[0] = 0;
    d->starts[++d->documents] = d->count;
    return true;
}

static bool read_lines(struct sl_documents *d, struct sl_line_reader *lines,
                       const struct sl_tokenizer *tokens, struct sl_err *err)
{
    struct sl_line line;
    while (sl_line_reader_next(lines, &line, err)) {
        if (!line.text)
            return end_document(d, err) &&
                   (d->documents > 0 || sl_fail(err, SL_BAD_INPUT, "the text has no tokens") ||
                    sl_wrap_file(err, sl_line_reader_name(lines), 0));
        bool ok = line.bytes > 0 ? append_line(d, &line, tokens, err) : end_document(d, err);
        if (!ok)
            return sl_line_reader_wrap(lines, line.number, err);
    }
    return false;
}

bool sl_documents_open(struct sl_documents *d, const char *path, const struct sl_tokenizer *tokens,
                       struct sl_err *err)
{
    const struct sl_data_limits limits = {.file_bytes = INT64_MAX};
    *d = (struct sl_documents){0};
    struct sl_line_reader *lines = sl_line_reader_open(path, NULL, &limits, err);
    bool ok = lines && read_lines(d, lines, tokens, err);
    sl_line_reader_close(lines);
    if (ok)
        return true;
    sl_documents_close(d);
    return false;
}

void sl_documents_count(const struct sl_documents *d, int vocab, int64_t *counts)
{
    memset(counts, 0, (size_t)vocab * sizeof *counts);
    for (int64_t i = 0; i < d->count; i++)
        counts[d->ids[i]]++;
}

void sl_documents_close(struct sl_documents *d)
{
    sl_scratch_file_close(&d->file);
    free(d->starts);
    *d = (struct sl_documents){0};
}
