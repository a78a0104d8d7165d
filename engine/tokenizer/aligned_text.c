/* aligned_text.c - two arrays that grow together. */
#include "tokenizer/aligned_text.h"

#include "base/dynarray.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* -- reading ---------------------------------------------------------------------------------- */

struct sl_origin sl_text_origin(const struct sl_text_view *view, size_t at)
{
    assert(at < view->bytes);
    if (view->origins)
        return view->origins[at];
    while (sl_utf8_is_continuation(view->text[at]))
        at--;
    uint32_t start = view->base + (uint32_t)at;
    return (struct sl_origin){start, start + (uint32_t)sl_char_bytes(view->text[at])};
}

struct sl_origin sl_text_range(const struct sl_text_view *view, size_t start, size_t stop)
{
    assert(start < stop);
    struct sl_origin first = sl_text_origin(view, start);
    return (struct sl_origin){first.start, sl_text_origin(view, stop - 1).stop};
}

/* -- writing ---------------------------------------------------------------------------------- */

void sl_aligned_text_release(struct sl_aligned_text *text)
{
    free(text->text);
    free(text->origins);
    *text = (struct sl_aligned_text){0};
}

struct sl_text_view sl_aligned_text_view(const struct sl_aligned_text *text)
{
    return (struct sl_text_view){
        .text = text->text ? text->text : "", .bytes = text->bytes, .origins = text->origins};
}

static bool make_room(struct sl_aligned_text *out, size_t bytes)
{
    size_t wanted = out->bytes + bytes;
    bool fits = wanted <= out->text_capacity && wanted <= out->origins_capacity;
    if (fits || (wanted <= SL_ALIGNED_TEXT_MAX &&
                 sl_dynarray_reserve(&out->text, &out->text_capacity, wanted, 1, NULL) &&
                 sl_dynarray_reserve(&out->origins, &out->origins_capacity, wanted,
                                     sizeof *out->origins, NULL)))
        return true;
    out->failed = true;
    return false;
}

static void append(struct sl_aligned_text *out, const char *text, size_t bytes,
                   struct sl_origin origin)
{
    if (bytes == 0 || !make_room(out, bytes))
        return;
    memcpy(out->text + out->bytes, text, bytes);
    for (size_t i = 0; i < bytes; i++)
        out->origins[out->bytes + i] = origin;
    out->bytes += bytes;
}

void sl_edit_skip(struct sl_text_editor *editor)
{
    if (editor->at < editor->in.bytes)
        editor->at += sl_char_bytes(editor->in.text[editor->at]);
}

void sl_edit_put(struct sl_text_editor *editor, uint32_t point, int change)
{
    char text[SL_UTF8_MAX] = {(char)point};
    size_t bytes = point < 0x80 ? 1 : sl_utf8_put(point, text);
    size_t like = change > 0 && editor->at > 0 ? editor->at - 1 : editor->at;
    if (like >= editor->in.bytes) /* more characters replace than there are */
        like = editor->in.bytes - 1;
    append(editor->out, text, bytes, sl_text_origin(&editor->in, like));
    for (; change <= 0; change++)
        sl_edit_skip(editor);
}

void sl_edit_copy(struct sl_text_editor *editor, size_t bytes)
{
    struct sl_aligned_text *out = editor->out;
    size_t end = editor->at + bytes;
    assert(end <= editor->in.bytes);
    if (bytes == 0 || !make_room(out, bytes))
        return;
    memcpy(out->text + out->bytes, editor->in.text + editor->at, bytes);
    if (editor->in.origins)
        memcpy(out->origins + out->bytes, editor->in.origins + editor->at,
               bytes * sizeof *out->origins);
    else
        for (size_t at = editor->at, to = out->bytes; at < end;) {
            struct sl_origin origin = sl_text_origin(&editor->in, at);
            for (size_t stop = at + (origin.stop - origin.start); at < stop; at++)
                out->origins[to++] = origin;
        }
    out->bytes += bytes;
    editor->at = end;
}

void sl_edit_insert(struct sl_text_editor *editor, const char *text, size_t bytes, size_t like)
{
    append(editor->out, text, bytes, sl_text_origin(&editor->in, like));
}
