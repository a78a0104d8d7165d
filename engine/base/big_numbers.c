/* big_numbers.c - numbers in JSON that are out of range, as strings. */
#include "base/big_numbers.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *sl_big_number(const char *string, size_t bytes)
{
    return string && bytes > 1 && string[0] == '\0' ? string + 1 : NULL;
}

static bool is_out_of_range(const char *number, size_t bytes)
{
    char digits[512];
    if (bytes >= sizeof digits)
        return true;
    memcpy(digits, number, bytes);
    digits[bytes] = '\0';
    errno = 0;
    if (strpbrk(digits, ".eE"))
        return isinf(strtod(digits, NULL));
    (void)strtoll(digits, NULL, 10);
    return errno == ERANGE;
}

/* The bytes of a string with its quotes; all that follow if it is not closed. */
static size_t string_bytes(const char *json, size_t bytes)
{
    for (size_t i = 1; i < bytes; i++) {
        if (json[i] == '"')
            return i + 1;
        i += json[i] == '\\';
    }
    return bytes;
}

static size_t skip_digits(const char *json, size_t bytes, size_t at)
{
    while (at < bytes && json[at] >= '0' && json[at] <= '9')
        at++;
    return at;
}

/* The bytes of a number; 0: none is here. */
static size_t number_bytes(const char *json, size_t bytes)
{
    const size_t first = json[0] == '-';
    size_t end = skip_digits(json, bytes, first);
    if (end == first || (json[first] == '0' && end > first + 1))
        return 0;
    if (end < bytes && json[end] == '.')
        end = skip_digits(json, bytes, end + 1);
    if (end + 1 < bytes && (json[end] == 'e' || json[end] == 'E'))
        end = skip_digits(json, bytes, end + 1 + (json[end + 1] == '+' || json[end + 1] == '-'));
    return json[end - 1] >= '0' && json[end - 1] <= '9' ? end : 0;
}

void sl_big_numbers_quote(const char *json, size_t bytes, struct sl_buffer *out)
{
    size_t copied = 0;
    for (size_t at = 0, count; at < bytes && !out->failed; at += count) {
        const size_t number = number_bytes(json + at, bytes - at);
        count = json[at] == '"' ? string_bytes(json + at, bytes - at) : number > 0 ? number : 1;
        if (number == 0 || !is_out_of_range(json + at, number))
            continue;
        sl_buffer_append(out, json + copied, at - copied);
        sl_buffer_printf(out, "\"\\u0000%.*s\"", (int)number, json + at);
        copied = at + number;
    }
    sl_buffer_append(out, json + copied, bytes - copied);
}

json_t *sl_big_numbers_load(const char *json, size_t bytes, json_error_t *why)
{
    static const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY;
    json_t *value = json_loadb(json, bytes, flags, why);
    if (value || json_error_code(why) != json_error_numeric_overflow)
        return value;
    struct sl_buffer quoted = {0};
    sl_big_numbers_quote(json, bytes, &quoted);
    why->text[0] = '\0';
    value = quoted.failed ? NULL : json_loadb(quoted.data, quoted.bytes, flags, why);
    sl_buffer_release(&quoted);
    return value;
}
