/* json_members.c - members of JSON records, found by their paths. */
#include "data/json_members.h"

#include "base/dynarray.h"
#include "data/labels.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sl_json_members_release(struct sl_json_members *fields)
{
    free(fields->list);
    free(fields->numbers);
    *fields = (struct sl_json_members){0};
}

static json_t *step_into(const json_t *value, const char *name, size_t bytes)
{
    if (json_is_object(value))
        return json_object_getn(value, name, bytes);
    const size_t digits = strspn(name, "0123456789");
    return json_is_array(value) && digits == bytes && digits > 0
               ? json_array_get(value, strtoul(name, NULL, 10))
               : NULL;
}

json_t *sl_json_find(json_t *object, const char *path)
{
    json_t *value = json_object_get(object, path);
    if (value)
        return value;
    for (value = object; value;) {
        const size_t bytes = strcspn(path, ".");
        value = step_into(value, path, bytes);
        if (path[bytes] == '\0')
            return value;
        path += bytes + 1;
    }
    return NULL;
}

/* What sl_json_each_member does with each. */
struct visit {
    bool (*visit)(void *context, const char *path, const struct sl_field *text, struct sl_err *err);
    void *context;
};

enum { PATH_BYTES = 512, LEVELS = 3 };

/* A path that is too long is left out. */
// NOLINTNEXTLINE(misc-no-recursion): at most LEVELS deep
static bool visit_members(json_t *object, const char *path, int level, const struct visit *v,
                          struct sl_err *err)
{
    const char *key;
    json_t *value;
    char inner[PATH_BYTES];
    json_object_foreach (object, key, value) {
        const bool goes_on = json_is_object(value) && level > 1;
        const struct sl_field text = {json_string_value(value), json_string_length(value)};
        if (snprintf(inner, sizeof inner, "%s%s%s", path, key, goes_on ? "." : "") >= PATH_BYTES)
            continue;
        if (goes_on ? !visit_members(value, inner, level - 1, v, err)
                    : !v->visit(v->context, inner, &text, err))
            return false;
    }
    return true;
}

bool sl_json_each_member(json_t *object,
                         bool (*visit)(void *context, const char *path, const struct sl_field *text,
                                       struct sl_err *err),
                         void *context, struct sl_err *err)
{
    return visit_members(object, "", LEVELS, &(struct visit){visit, context}, err);
}

/* A number as it is written in JSON; whole ones match the labels of the other formats. */
static struct sl_field print_number(char number[SL_JSON_NUMBER_BYTES], const json_t *value)
{
    enum { SHORT_DIGITS = 15 }; /* as many as survive: 0.1 stays 0.1 */

    size_t bytes = json_dumpb(value, number, SL_JSON_NUMBER_BYTES,
                              (size_t)JSON_ENCODE_ANY | (size_t)JSON_REAL_PRECISION(SHORT_DIGITS));
    assert(bytes > 0);
    assert(bytes <= SL_JSON_NUMBER_BYTES);
    return (struct sl_field){.data = number, .bytes = bytes};
}

/* Room for labels, and for as many numbers, without moving what was filled. */
static bool reserve(struct sl_json_members *f, size_t count, struct sl_err *err)
{
    return sl_dynarray_reserve(&f->list, &f->list_room, count, sizeof *f->list, err) &&
           sl_dynarray_reserve(&f->numbers, &f->numbers_room, count, sizeof *f->numbers, err);
}

static bool fail_big(const char *name, const char *digits, struct sl_err *err)
{
    return sl_fail(err, SL_BAD_INPUT,
                   "column '%s' is %.40s, a number that is out of range; write it as a string",
                   name, digits);
}

/* A string, a number, true or false. *field has no data if it is none of these. */
static bool read_scalar(const json_t *value, const char *name, char number[SL_JSON_NUMBER_BYTES],
                        struct sl_field *field, struct sl_err *err)
{
    const char *digits = sl_json_big_number(value);
    *field = (struct sl_field){0};
    if (digits)
        return fail_big(name, digits, err);
    if (json_is_string(value))
        *field = (struct sl_field){json_string_value(value), json_string_length(value)};
    else if (json_is_number(value))
        *field = print_number(number, value);
    else if (json_is_boolean(value))
        *field = json_is_true(value) ? (struct sl_field){"true", 4} : (struct sl_field){"false", 5};
    return true;
}

static void set_list(const struct sl_json_members *f, struct sl_row *row, size_t count)
{
    row->is_list = true;
    row->list = f->list;
    row->list_count = (int)count;
}

static bool fail_item(const char *name, size_t item, json_t *value, struct sl_err *err)
{
    const char *member = json_object_iter_key(json_object_iter(value));
    (void)sl_fail(err, SL_BAD_INPUT, "column '%s': item %zu is %s: expected a string or a number%s",
                  name, item, sl_json_type_name(value),
                  json_is_array(value) ? "; labels of parts of a text are not read, only labels "
                                         "of whole texts"
                                       : "");
    return member &&
           sl_err_append(err, "; name one of its members, as in %s.%zu.%.64s", name, item, member);
}

static bool read_list(struct sl_json_members *f, const json_t *list, const char *name,
                      struct sl_row *row, struct sl_err *err)
{
    size_t i;
    json_t *value;
    const size_t count = json_array_size(list);
    if (count > SL_LABELS_MAX)
        return sl_fail(err, SL_BAD_INPUT, "column '%s' has %zu labels: expected at most %d", name,
                       count, SL_LABELS_MAX);
    if (!reserve(f, count + 1, err))
        return false;
    json_array_foreach (list, i, value) {
        if (!read_scalar(value, name, f->numbers[i], &f->list[i], err))
            return false;
        if (!f->list[i].data)
            return fail_item(name, i, value, err);
    }
    set_list(f, row, count);
    return true;
}

static bool is_flag(const json_t *value)
{
    const double number = json_number_value(value);
    return json_is_boolean(value) || (json_is_number(value) && (number == 0.0 || number == 1.0));
}

/* What pandas writes when it is not told better: {"text": {"0": "first", "1": "second"}}. */
static const char columns_hint[] = "; if the file holds columns, write records: with pandas "
                                   "to_json(path, orient='records', lines=True)";

static bool fail_object(const char *name, const char *member, const json_t *value,
                        struct sl_err *err)
{
    const bool is_row = member[strspn(member, "0123456789")] == '\0';
    char number[128] = "";
    if (json_is_number(value))
        (void)snprintf(number, sizeof number, ", whose '%.64s' is %g, neither 0 nor 1", member,
                       json_number_value(value));
    (void)sl_fail(err, SL_BAD_INPUT,
                  "column '%s' is an object%s: expected a string, a number or a list of them", name,
                  number);
    return is_row ? sl_err_append(err, "%s", columns_hint)
                  : sl_err_append(err, "; name one of its members, as in %s.%.64s", name, member);
}

/* {"sport": 1, "food": 0}: the names are labels. */
static bool read_flags(struct sl_json_members *f, json_t *object, const char *name,
                       struct sl_row *row, struct sl_err *err)
{
    const char *key;
    json_t *value;
    size_t count = 0;
    if (!reserve(f, json_object_size(object) + 1, err))
        return false;
    json_object_foreach (object, key, value) {
        if (!is_flag(value))
            return fail_object(name, key, value, err);
        if (json_is_true(value) || json_number_value(value) == 1.0)
            f->list[count++] = (struct sl_field){key, strlen(key)};
    }
    if (json_object_size(object) == 0)
        return fail_object(name, "member", NULL, err);
    sl_note(row->notes, "'%s' is an object: its members that are 1 or true are the labels", name);
    set_list(f, row, count);
    return true;
}

bool sl_json_label_field(struct sl_json_members *f, json_t *value, const char *name, int column,
                         struct sl_row *row, struct sl_err *err)
{
    struct sl_field *field = &row->fields[column];
    *field = (struct sl_field){0};
    if (!value || json_is_null(value))
        return true;
    if (json_is_array(value))
        return read_list(f, value, name, row, err);
    if (json_is_object(value))
        return read_flags(f, value, name, row, err);
    return read_scalar(value, name, f->scalars[column], field, err);
}

static bool fail_text(const json_t *value, const char *name, struct sl_err *err)
{
    (void)sl_fail(err, SL_BAD_INPUT, "column '%s' is %s: expected a string", name,
                  sl_json_type_name(value));
    return (json_is_object(value) || json_is_array(value)) &&
           sl_err_append(err, "; name one of its %s, as in %s.%s%s",
                         json_is_object(value) ? "members" : "items", name,
                         json_is_object(value) ? "text" : "0", columns_hint);
}

bool sl_json_text_field(struct sl_json_members *f, const json_t *value, const char *name,
                        int column, struct sl_row *row, struct sl_err *err)
{
    struct sl_field *field = &row->fields[column];
    *field = (struct sl_field){0};
    if (!value || json_is_null(value))
        return true;
    if (!json_is_string(value) && !json_is_number(value))
        return fail_text(value, name, err);
    if (json_is_number(value))
        sl_note(row->notes, "numbers in '%s' are read as text", name);
    return read_scalar(value, name, f->scalars[column], field, err);
}
