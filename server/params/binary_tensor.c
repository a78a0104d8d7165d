/* binary_tensor.c - elements of binary tensors from and to bytes; the input is not trusted. */
#include "params/binary_tensor.h"
#include "base/utf8.h"
#include "json/json_field_reader.h"

#include <stdio.h>
#include <string.h>

enum { LENGTH_BYTES = 4 };

/* ---- reading --------------------------------------------------------------------------------- */

/* The bytes that are not read yet. */
struct cursor {
    const char *at;
    size_t left;
};

static uint32_t read_length(const char *at)
{
    unsigned char b[LENGTH_BYTES];
    memcpy(b, at, sizeof b);
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* The text's bytes, without their length; `element` names it in errors. */
static bool next_text(const struct sv_reader *r, const char *element, struct cursor *cursor,
                      struct sv_string *text)
{
    if (cursor->left < LENGTH_BYTES)
        return sv_fail(r->error, SV_INVALID_VALUE, element,
                       "'%s' is truncated: %zu bytes are left; expected a length of 4 bytes.",
                       element, cursor->left);
    uint32_t length = read_length(cursor->at);
    cursor->at += LENGTH_BYTES;
    cursor->left -= LENGTH_BYTES;
    if (length > cursor->left)
        return sv_fail(r->error, SV_INVALID_VALUE, element,
                       "'%s' has a length of %lu bytes, but only %zu bytes are left.", element,
                       (unsigned long)length, cursor->left);
    *text = (struct sv_string){.data = cursor->at, .bytes = length};
    cursor->at += length;
    cursor->left -= length;
    return true;
}

/* As for texts in JSON: UTF-8 without U+0000. */
static bool check_text(const struct sv_reader *r, const char *element, const struct sv_string *text)
{
    struct sl_err err;
    if (!sl_utf8_check(text->data, text->bytes, &err))
        return sv_fail(r->error, SV_INVALID_VALUE, element, "'%s': %s.", element, err.text);
    return !memchr(text->data, '\0', text->bytes) ||
           sv_fail(r->error, SV_INVALID_VALUE, element,
                   "'%s' holds the character U+0000, which is not accepted.", element);
}

/* Copies a text to *memory, with a NUL, and moves *memory past it. */
static void keep(struct sv_string *text, char **memory)
{
    memcpy(*memory, text->data, text->bytes);
    (*memory)[text->bytes] = '\0';
    text->data = *memory;
    *memory += text->bytes + 1;
}

bool sv_binary_read_texts(const struct sv_reader *r, const char *param, const char *bytes,
                          size_t size, int64_t count, struct sv_texts *texts)
{
    struct cursor cursor = {.at = bytes, .left = size};
    if (count < 1)
        return sv_fail(r->error, SV_EMPTY_INPUT, param, "'%s' holds no texts; expected strings.",
                       param);
    if ((uint64_t)count > size / LENGTH_BYTES)
        return sv_fail(r->error, SV_INVALID_VALUE, param,
                       "'%s' has %zu bytes, too few for %lld texts: each has a length of 4 bytes.",
                       param, size, (long long)count);
    /* Each NUL takes the place of a length, so the copies are no larger than the tensor. */
    char *memory = sv_reader_alloc(r, size, 1);
    texts->items = memory ? sv_reader_alloc(r, (size_t)count, sizeof *texts->items) : NULL;
    if (!texts->items)
        return false;
    for (int64_t i = 0; i < count; i++) {
        char element[SV_PARAM_MAX];
        (void)snprintf(element, sizeof element, "%.40s[%lld]", param, (long long)i);
        struct sv_string *text = &texts->items[i];
        if (!next_text(r, element, &cursor, text) || !check_text(r, element, text))
            return false;
        keep(text, &memory);
    }
    texts->count = (int)count;
    return cursor.left == 0 || sv_fail(r->error, SV_INVALID_VALUE, param,
                                       "'%s' has %zu bytes after its %lld texts; expected none.",
                                       param, cursor.left, (long long)count);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void append_word(struct sl_buffer *out, uint32_t word)
{
    char b[] = {(char)(word & 0xFF), (char)(word >> 8 & 0xFF), (char)(word >> 16 & 0xFF),
                (char)(word >> 24)};
    sl_buffer_append(out, b, sizeof b);
}

void sv_binary_append_float(struct sl_buffer *out, float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    append_word(out, word);
}

void sv_binary_append_int(struct sl_buffer *out, int32_t value)
{
    append_word(out, (uint32_t)value);
}

void sv_binary_append_bytes(struct sl_buffer *out, const char *bytes, size_t count)
{
    append_word(out, (uint32_t)count);
    sl_buffer_append(out, bytes, count);
}
