/* err.c - error texts: formatted with a bound and prefixed by each caller. A text that is too long
 * is cut in the middle, because its beginning says what failed and its end says why. */
#include "sluice/err.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Macros where clang's analyzer reads. */
#undef sl_fail
#undef sl_fail_value
#undef sl_wrap
#undef sl_wrap_file

static_assert(SL_ERR_TEXT_MAX >= 64, "room for both ends and the gap");

/* A text before it is cut: longer than any text that is kept, so that its end is known. */
enum { DRAFT_MAX = 4 * SL_ERR_TEXT_MAX };

static const char gap[] = " ... ";

/* Not the first byte of a character in UTF-8. (base/utf8 uses errors.) */
static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Copies text to out, of SL_ERR_TEXT_MAX bytes; what does not fit is cut from the middle. */
static void squeeze(char *out, const char *text)
{
    size_t length = strlen(text);
    if (length < SL_ERR_TEXT_MAX) {
        memcpy(out, text, length + 1);
        return;
    }
    size_t keep = SL_ERR_TEXT_MAX - sizeof gap;
    size_t head = keep / 2;
    size_t tail = length - (keep - head);
    while (head > 0 && is_continuation(text[head]))
        head--;
    while (is_continuation(text[tail]))
        tail++;
    memcpy(out, text, head);
    memcpy(out + head, gap, sizeof gap - 1);
    memcpy(out + head + sizeof gap - 1, text + tail, length - tail + 1);
}

/* The caller's words, followed by `rest`. err is written last, because the arguments may point into
 * it. */
static void SL_PRINTF(2, 0)
    compose(struct sl_err *err, const char *format, va_list args, const char *rest)
{
    char draft[DRAFT_MAX + SL_ERR_TEXT_MAX];
    int length = vsnprintf(draft, DRAFT_MAX, format, args);
    size_t end = length < 0 ? 0 : (size_t)length;
    if (end >= DRAFT_MAX)
        end = DRAFT_MAX - 1;
    (void)snprintf(draft + end, sizeof draft - end, "%s", rest);
    squeeze(err->text, draft);
    if (strlen(draft) >= SL_ERR_TEXT_MAX) /* the name may have been cut out */
        err->name_bytes = 0;
}

bool sl_fail(struct sl_err *err, enum sl_code code, const char *format, ...)
{
    assert(code != SL_OK);
    if (!err)
        return false;
    va_list args;
    va_start(args, format);
    compose(err, format, args, "");
    va_end(args);
    err->code = code;
    err->path[0] = err->field[0] = '\0';
    err->line = err->column = err->reason_bytes = err->name_bytes = err->rest_bytes = 0;
    err->index = -1;
    return false;
}

bool sl_fail_value(struct sl_err *err, const char *field, const char *value, const char *format,
                   ...)
{
    enum { VALUE_SHOWN = 64 };

    char reason[SL_ERR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    (void)sl_fail(err, SL_BAD_INPUT, "invalid %s '%.*s': %s", field, VALUE_SHOWN, value, reason);
    (void)sl_err_set_field(err, field);
    if (err) {
        err->name_bytes = (int)strlen(field);
        err->rest_bytes = (int)(strlen(err->text) - strlen("invalid ") - strlen(field));
    }
    return false;
}

bool sl_wrap(struct sl_err *err, const char *format, ...)
{
    if (!err)
        return false;
    assert(err->code != SL_OK);
    char reason[SL_ERR_TEXT_MAX + 2];
    (void)snprintf(reason, sizeof reason, ": %s", err->text);
    va_list args;
    va_start(args, format);
    compose(err, format, args, reason);
    va_end(args);
    return false;
}

bool sl_err_append(struct sl_err *err, const char *format, ...)
{
    if (!err)
        return false;
    char more[SL_ERR_TEXT_MAX];
    const size_t used = strlen(err->text);
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(more, sizeof more, format, args);
    va_end(args);
    if (length < 0 || used + (size_t)length >= SL_ERR_TEXT_MAX)
        return false;
    memcpy(err->text + used, more, (size_t)length + 1);
    err->reason_bytes += err->reason_bytes > 0 ? length : 0;
    err->rest_bytes += err->name_bytes > 0 ? length : 0;
    return false;
}

static const char *const code_names[] = {
    [SL_OK] = "ok",     [SL_BAD_INPUT] = "bad_input", [SL_NOT_FOUND] = "not_found",
    [SL_BUSY] = "busy", [SL_NO_MEMORY] = "no_memory", [SL_NO_SPACE] = "no_space",
    [SL_IO] = "io",     [SL_CORRUPT] = "corrupt",     [SL_NOT_FINITE] = "not_finite",
};

const char *sl_code_name(enum sl_code code)
{
    return code_names[code];
}

enum sl_code sl_code_find(const char *name)
{
    for (size_t i = 0; i < sizeof code_names / sizeof code_names[0]; i++)
        if (strcmp(code_names[i], name) == 0)
            return (enum sl_code)i;
    return SL_OK;
}

/* ---- fields --------------------------------------------------------------------------------- */

bool sl_err_set_path(struct sl_err *err, const char *path)
{
    if (!err || err->path[0])
        return false;
    (void)snprintf(err->path, sizeof err->path, "%s", path);
    return sl_err_set_reason(err);
}

bool sl_err_set_reason(struct sl_err *err)
{
    if (err && err->reason_bytes == 0)
        err->reason_bytes = (int)strlen(err->text);
    return false;
}

bool sl_err_set_place(struct sl_err *err, int line, int column)
{
    if (err && err->line == 0) {
        err->line = line;
        err->column = column;
    }
    return false;
}

bool sl_wrap_file(struct sl_err *err, const char *path, int64_t line)
{
    (void)sl_err_set_path(err, path);
    if (line == 0)
        return sl_wrap(err, "'%s'", path);
    (void)sl_err_set_place(err, line < INT_MAX ? (int)line : INT_MAX, 0);
    return sl_wrap(err, "'%s' line %lld", path, (long long)line);
}

bool sl_err_set_field(struct sl_err *err, const char *field)
{
    if (err && !err->field[0])
        (void)snprintf(err->field, sizeof err->field, "%s", field);
    return false;
}

bool sl_err_spell_field(struct sl_err *err, const char *name)
{
    if (!err || err->name_bytes == 0)
        return false;
    char draft[DRAFT_MAX];
    const char *rest = err->text + strlen(err->text) - err->rest_bytes;
    int length = (int)strlen(name), before = (int)(rest - err->text) - err->name_bytes;
    (void)snprintf(draft, sizeof draft, "%.*s%s%s", before, err->text, name, rest);
    if (err->reason_bytes > err->rest_bytes)
        err->reason_bytes += length - err->name_bytes;
    err->name_bytes = strlen(draft) < SL_ERR_TEXT_MAX ? length : 0;
    squeeze(err->text, draft);
    return false;
}

const char *sl_err_reason(const struct sl_err *err)
{
    size_t length = strlen(err->text), bytes = (size_t)err->reason_bytes;
    /* Of a reason that was cut in the middle, the end remains. */
    return bytes > 0 && bytes < length ? err->text + length - bytes : err->text;
}
