/* json_io.c - jansson, with our errors. */
#include "formats/json_io.h"

#include "base/comma_list.h"
#include "base/file.h"
#include "base/param_table.h"
#include "base/utf8.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char sl_format[] = "sluice-1";

const char *sl_json_type(const struct json_t *value)
{
    if (!value)
        return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER: return "a whole number";
    case JSON_REAL: return "a real number";
    case JSON_TRUE:
    case JSON_FALSE: return "true or false";
    case JSON_NULL: return "null";
    }
    return "nothing";
}

static json_t *parse(const char *text, size_t bytes, size_t flags, struct sl_err *err)
{
    json_error_t error;
    json_t *root = json_loadb(bytes ? text : "", bytes, flags, &error);
    if (!root && error.text[0] == '\0') /* jansson has nothing to say when it lacks memory. */
        sl_fail(err, SL_NO_MEMORY, "no memory for %zu bytes of JSON", bytes);
    else if (!root)
        sl_fail(err, SL_CORRUPT, "not JSON: line %d, column %d: %s", error.line, error.column,
                error.text);
    return root;
}

struct json_t *sl_json_parse(const char *text, size_t bytes, struct sl_err *err)
{
    json_t *root = parse(text, bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, err);
    if (!root || json_is_object(root))
        return root;
    sl_fail(err, SL_CORRUPT, "the JSON is %s: expected an object", sl_json_type(root));
    json_decref(root);
    return NULL;
}

static bool open_file(struct sl_map *map, const char *path, size_t bytes_max, struct sl_err *err)
{
    if (!sl_map_open(map, path, err))
        return false;
    if (map->size <= bytes_max)
        return true;
    sl_fail(err, SL_BAD_INPUT, "%zu bytes: expected at most %zu", map->size, bytes_max);
    sl_map_close(map);
    return false;
}

struct json_t *sl_json_open(const char *path, size_t bytes_max, struct sl_err *err)
{
    struct sl_map map = {0};
    if (!open_file(&map, path, bytes_max, err))
        return NULL;
    json_t *root = sl_json_parse(map.data, map.size, err);
    sl_map_close(&map);
    return root;
}

struct json_t *sl_json_open_foreign(const char *path, size_t bytes_max, struct sl_err *err)
{
    static const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
    struct sl_map map = {0};
    struct sl_err ignored;
    if (!open_file(&map, path, bytes_max, err))
        return NULL;
    json_t *root = parse(map.data, map.size, flags, &ignored);
    if (!root)
        root = parse(map.data, map.size, flags | JSON_DECODE_INT_AS_REAL, err);
    sl_map_close(&map);
    return root;
}

static char *print(const struct json_t *value, size_t flags, const char *end, struct sl_err *err)
{
    const size_t bytes = json_dumpb(value, NULL, 0, flags), end_bytes = strlen(end) + 1;
    char *text = bytes > 0 ? malloc(bytes + end_bytes) : NULL;
    if (!text || json_dumpb(value, text, bytes, flags) != bytes) {
        free(text);
        sl_fail(err, SL_NO_MEMORY, "no memory for a JSON text");
        return NULL;
    }
    memcpy(text + bytes, end, end_bytes);
    return text;
}

char *sl_json_print(const struct json_t *value, int digits, struct sl_err *err)
{
    return print(value, (size_t)JSON_INDENT(2) | (size_t)JSON_REAL_PRECISION(digits), "\n", err);
}

char *sl_json_print_line(const struct json_t *value, int digits, struct sl_err *err)
{
    return print(value, (size_t)JSON_COMPACT | (size_t)JSON_REAL_PRECISION(digits), "", err);
}

json_t *sl_json_string(const char *text)
{
    static const char other[] = SL_UTF8_REPLACEMENT;
    size_t bytes = strlen(text), used = 0;
    char *valid = malloc(3 * bytes + 1); /* each byte may become one of three */
    if (!valid)
        return NULL;
    for (size_t at = 0; at < bytes;) {
        uint32_t point;
        size_t begin = at;
        bool good = sl_utf8_next(text, bytes, &at, &point);
        at += !good;
        size_t length = good ? at - begin : sizeof other - 1;
        memcpy(valid + used, good ? text + begin : other, length);
        used += length;
    }
    json_t *string = json_stringn(valid, used);
    free(valid);
    return string;
}

json_t *sl_json_file_name(const char *path)
{
    return sl_json_string(sl_path_last(path));
}

json_t *sl_json_float(float value)
{
    char text[32];
    for (int digits = 6; digits <= 9; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            break;
    }
    return json_real(strtod(text, NULL));
}

static json_t *number_value(const struct sl_param *row, double value)
{
    if (row->kind == SL_CHOICE)
        return json_string(row->choices[(int)value]);
    if (row->kind == SL_FLAG)
        return json_boolean(value > 0.0);
    return row->kind == SL_REAL ? sl_json_float((float)value) : json_integer((json_int_t)value);
}

json_t *sl_json_numbers(const struct sl_param *rows, const void *object, unsigned cases)
{
    json_t *numbers = json_object();
    for (const struct sl_param *r = rows; r->name; r++) {
        if (cases && r->cases && !(r->cases & cases))
            continue;
        json_t *value = number_value(r, sl_param_get(r, object));
        if (json_object_set_new(numbers, r->name, value) != 0) {
            json_decref(numbers);
            return NULL;
        }
    }
    return numbers;
}

static bool is_among(const char *const *accepted, const char *key)
{
    for (; *accepted; accepted++)
        if (strcmp(*accepted, key) == 0)
            return true;
    return false;
}

static bool fail_key(const char *key, const char *const *accepted, struct sl_err *err)
{
    char list[512] = "";
    return sl_fail(err, SL_CORRUPT, "unknown key '%.64s': expected one of: %s", key,
                   sl_list_join(list, sizeof list, accepted));
}

bool sl_json_keys(struct json_t *object, const char *const *accepted, struct sl_err *err)
{
    const char *key;
    json_t *value;
    json_object_foreach (object, key, value) {
        if (!is_among(accepted, key))
            return fail_key(key, accepted, err);
    }
    return true;
}

static bool fail_type(const char *key, const json_t *value, const char *expected,
                      struct sl_err *err)
{
    if (!value)
        return sl_fail(err, SL_CORRUPT, "'%s' is missing: expected %s", key, expected);
    return sl_fail(err, SL_CORRUPT, "'%s' is %s: expected %s", key, sl_json_type(value), expected);
}

const char *sl_json_text(const struct json_t *object, const char *key, struct sl_err *err)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value)) {
        (void)fail_type(key, value, "a string", err);
        return NULL;
    }
    const char *text = json_string_value(value);
    if (strlen(text) != json_string_length(value)) {
        sl_fail(err, SL_CORRUPT, "'%s' contains a NUL character", key);
        return NULL;
    }
    return text;
}

struct json_t *sl_json_object(const struct json_t *object, const char *key, struct sl_err *err)
{
    json_t *value = json_object_get(object, key);
    if (!json_is_object(value)) {
        (void)fail_type(key, value, "an object", err);
        return NULL;
    }
    return value;
}

double sl_json_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

bool sl_json_whole(const struct json_t *object, const char *key, struct sl_bounds bounds,
                   int64_t *out, struct sl_err *err)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        return fail_type(key, value, "a whole number", err);
    json_int_t number = json_integer_value(value);
    if (number < bounds.min || number > bounds.max)
        return sl_fail(err, SL_CORRUPT, "invalid '%s' %lld: expected %lld to %lld", key,
                       (long long)number, (long long)bounds.min, (long long)bounds.max);
    *out = number;
    return true;
}

bool sl_json_format(const struct json_t *object, struct sl_err *err)
{
    const char *format = sl_json_text(object, "format", err);
    if (!format)
        return false;
    return strcmp(format, sl_format) == 0 ||
           sl_fail(err, SL_CORRUPT, "invalid 'format' '%.64s': expected '%s'", format, sl_format);
}
