/* buffer.c - bytes appended one after another, in memory that at least doubles. */
#include "base/buffer.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 512, INT_DIGITS_MAX = 20 };

void sl_buffer_release(struct sl_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct sl_buffer){.bytes_max = buffer->bytes_max};
}

void sl_buffer_clear(struct sl_buffer *buffer)
{
    buffer->bytes = 0;
}

static size_t bound_of(const struct sl_buffer *buffer)
{
    return buffer->bytes_max ? buffer->bytes_max : SL_BUFFER_BYTES_MAX;
}

/* Makes room for `count` bytes and a NUL; false when out of memory or past the bound, now or
 * before. */
static bool make_room(struct sl_buffer *buffer, size_t count)
{
    size_t max = bound_of(buffer);
    if (buffer->failed || buffer->bytes > max || count > max - buffer->bytes) {
        buffer->is_full = buffer->is_full || !buffer->failed;
        buffer->failed = true;
        return false;
    }
    size_t need = buffer->bytes + count + 1, capacity = buffer->capacity;
    if (need <= capacity)
        return true;
    capacity = capacity * 2 < FIRST_BYTES ? FIRST_BYTES : capacity * 2;
    if (capacity > max + 1)
        capacity = max + 1;
    if (capacity < need)
        capacity = need;
    char *data = realloc(buffer->data, capacity);
    if (!data) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void sl_buffer_append(struct sl_buffer *buffer, const char *bytes, size_t count)
{
    if (!make_room(buffer, count))
        return;
    if (count > 0)
        memcpy(buffer->data + buffer->bytes, bytes, count);
    buffer->bytes += count;
    buffer->data[buffer->bytes] = '\0';
}

void sl_buffer_append_string(struct sl_buffer *buffer, const char *string)
{
    sl_buffer_append(buffer, string, strlen(string));
}

void sl_buffer_printf(struct sl_buffer *buffer, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, list);
    assert(length >= 0);
    if (make_room(buffer, (size_t)length)) {
        (void)vsnprintf(buffer->data + buffer->bytes, (size_t)length + 1, format, again);
        buffer->bytes += (size_t)length;
    }
    va_end(again);
    va_end(list);
}

void sl_buffer_append_int(struct sl_buffer *buffer, int64_t value)
{
    char digits[INT_DIGITS_MAX];
    size_t at = sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0)
        digits[--at] = '-';
    sl_buffer_append(buffer, digits + at, sizeof digits - at);
}

enum { DIGITS_FEW = 6, DIGITS_MAX = 9 };

/* The decimal `digits` / 10^decimals, with a digit before the point. Returns its length. */
static size_t write_decimal(bool negative, int64_t digits, int decimals, char text[static 32])
{
    char reversed[32];
    size_t count = 0, length = 0;
    for (; decimals > 0 && digits % 10 == 0; decimals--)
        digits /= 10;
    for (int place = 0; place <= decimals || digits > 0; place++) {
        if (place > 0 && place == decimals)
            reversed[count++] = '.';
        reversed[count++] = (char)('0' + digits % 10);
        digits /= 10;
    }
    if (negative)
        text[length++] = '-';
    while (count > 0)
        text[length++] = reversed[--count];
    return length;
}

/* Numbers of usual size, many times faster than printf. 0: another number. A decimal reads back as
 * the number if it is nearer to it than half the distance to its neighbour. */
static size_t write_float(float value, char text[static 32])
{
    static const double powers[] = {1e0, 1e1, 1e2, 1e3,  1e4,  1e5, 1e6,
                                    1e7, 1e8, 1e9, 1e10, 1e11, 1e12};
    const float size = fabsf(value);
    if (!(size >= 1e-4f && size < 1e5f))
        return 0;
    const double near = 0.4999999 * ((double)size - (double)nextafterf(size, 0.0f));
    int before = 1; /* digits before the point; negative: zeros after it */
    while (before < 5 && (double)size >= powers[before])
        before++;
    while (before <= 1 && before > -3 && (double)size * powers[1 - before] < 1.0)
        before--;
    for (int count = DIGITS_FEW; count <= DIGITS_MAX; count++) {
        double scaled = nearbyint((double)size * powers[count - before]);
        if (fabs(scaled / powers[count - before] - (double)size) < near)
            return write_decimal(value < 0.0f, (int64_t)scaled, count - before, text);
    }
    return 0;
}

void sl_buffer_append_float(struct sl_buffer *buffer, float value)
{
    char digits[32];
    assert(isfinite(value));
    size_t length = write_float(value, digits);
    for (int count = DIGITS_FEW; length == 0 && count <= DIGITS_MAX; count++) {
        (void)snprintf(digits, sizeof digits, "%.*g", count, (double)value);
        if (count == DIGITS_MAX || strtof(digits, NULL) == value)
            length = strlen(digits);
    }
    sl_buffer_append(buffer, digits, length);
}

bool sl_buffer_check(const struct sl_buffer *buffer, struct sl_err *err)
{
    if (!buffer->failed)
        return true;
    if (buffer->is_full)
        return sl_fail(err, SL_BAD_INPUT, "more than %zu bytes", bound_of(buffer));
    return sl_fail(err, SL_NO_MEMORY, "no memory for more than %zu bytes", buffer->bytes);
}

char *sl_buffer_take(struct sl_buffer *buffer)
{
    char *data = buffer->failed ? NULL : buffer->data;
    if (!data)
        free(buffer->data);
    *buffer = (struct sl_buffer){0};
    return data;
}
