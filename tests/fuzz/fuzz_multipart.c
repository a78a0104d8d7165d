/* fuzz_multipart.c - any bytes, as a form that uploads files: however the body is cut, the same
 * parts are passed on.
 *
 * The first byte is the length of the pieces, 0: all at once. The first line is the request's
 * Content-Type, and the rest is its body. */
#include "api/multipart.h"
#include "base/buffer.h"
#include "support/fuzz_target.h"

#include <string.h>

/* What was passed on, as one text, and whether it was a form. */
struct outcome {
    struct sl_buffer parts;
    bool ok;
};

static bool begin(void *context, const char *name, const char *filename, struct sv_error *error)
{
    struct outcome *o = context;
    (void)error;
    must(strlen(name) < SV_PART_NAME_MAX);
    must(!filename || (strlen(filename) < SV_PART_FILENAME_MAX && !strchr(filename, '/')));
    sl_buffer_append_string(&o->parts, "\npart ");
    sl_buffer_append_string(&o->parts, name);
    sl_buffer_append_string(&o->parts, filename ? filename : "");
    sl_buffer_append_string(&o->parts, "\n");
    return true;
}

static bool take(void *context, const char *bytes, size_t count, struct sv_error *error)
{
    struct outcome *o = context;
    (void)error;
    sl_buffer_append(&o->parts, bytes, count);
    return true;
}

/* In memory of exactly a piece's size, so that a sanitizer sees a byte too many. */
static bool feed_piece(struct sv_form *form, const char *bytes, size_t count,
                       struct sv_error *error)
{
    char *piece = malloc(count);
    must(piece);
    memcpy(piece, bytes, count);
    bool ok = sv_form_feed(form, piece, count, error);
    free(piece);
    return ok;
}

static struct outcome feed(const char *type, const char *body, size_t bytes, size_t step)
{
    struct outcome o = {0};
    struct sv_error error = {.kind = SV_OK};
    struct sv_form form;
    const struct sv_form_reader reader = {&o, begin, take};
    o.ok = sv_form_begin(&form, type, &reader, &error);
    for (size_t at = 0; o.ok && at < bytes; at += step)
        o.ok = feed_piece(&form, body + at, bytes - at < step ? bytes - at : step, &error);
    o.ok = o.ok && sv_form_end(&form, &error);
    must(o.ok == (error.kind == SV_OK) && (o.ok || error.message[0]));
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *line = (const char *)data + 1;
    const char *end = size > 1 ? memchr(line, '\n', size - 1) : NULL;
    if (!end)
        return 0;
    size_t length = (size_t)(end - line), bytes = size - 1 - (length + 1);
    char *type = calloc(length + 1, 1);
    must(type);
    memcpy(type, line, length);
    struct outcome whole = feed(type, end + 1, bytes, bytes + 1);
    struct outcome pieces = feed(type, end + 1, bytes, data[0] ? data[0] : bytes + 1);
    must(whole.ok == pieces.ok);
    must(!whole.ok || (whole.parts.bytes == pieces.parts.bytes &&
                       (whole.parts.bytes == 0 ||
                        memcmp(whole.parts.data, pieces.parts.data, whole.parts.bytes) == 0)));
    sl_buffer_release(&whole.parts);
    sl_buffer_release(&pieces.parts);
    free(type);
    return 0;
}
