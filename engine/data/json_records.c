/* json_records.c - objects whose members are columns: one per line, in an array, or one after
 * another. */
#include "data/json_members.h"
#include "data/name_list.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

struct json_records {
    const struct sl_record_input *input;
    struct sl_json_reader json;
    struct sl_json_members fields;
    bool seen[SL_CHOSEN_MAX]; /* a column that an object had: others may leave it out */
    json_t *first;            /* object, for errors */
    int64_t first_line, count;
    int disputed; /* objects that somebody else labelled differently */
};

static bool records_open(void *state, const struct sl_record_input *input, struct sl_err *err)
{
    struct json_records *r = state;
    (void)err;
    r->input = input;
    r->json.by_lines = input->by_lines;
    return true;
}

static void records_close(void *state)
{
    struct json_records *r = state;
    sl_json_reader_release(&r->json);
    sl_json_members_release(&r->fields);
    json_decref(r->first);
}

/* The member that holds the longest list of objects; NULL: there is none. */
static const char *list_of_records(json_t *object)
{
    const char *key, *longest = NULL;
    size_t most = 0;
    json_t *value;
    json_object_foreach (object, key, value) {
        if (!json_is_object(json_array_get(value, 0)) || json_array_size(value) <= most)
            continue;
        most = json_array_size(value);
        longest = key;
    }
    return longest;
}

static bool is_nested(const json_t *value)
{
    const json_t *item = json_array_get(value, 0);
    return json_is_object(value) || json_is_array(item) || json_is_object(item) ||
           (json_is_array(value) && !item);
}

enum { PATH_BYTES = 128, PATH_LEVELS = 8 };

/* Lists the paths of this level: of members that have no members. */
// NOLINTNEXTLINE(misc-no-recursion): at most PATH_LEVELS deep
static void list_paths(json_t *value, const char *path, int level, struct sl_name_list *list)
{
    const char *key;
    json_t *member;
    char inner[PATH_BYTES];
    if (json_is_array(value)) {
        (void)snprintf(inner, sizeof inner, "%s0.", path);
        if (level > 0)
            list_paths(json_array_get(value, 0), inner, level - 1, list);
        return;
    }
    json_object_foreach (value, key, member) {
        const bool goes_on = is_nested(member);
        (void)snprintf(inner, sizeof inner, "%s%s%s", path, key, goes_on ? "." : "");
        if (goes_on && level > 0)
            list_paths(member, inner, level - 1, list);
        else if (!goes_on && level == 0)
            sl_name_list_add(list, inner, strlen(inner));
    }
}

/* What writes records instead; NULL: nothing that is known. */
static const char *way_out(json_t *object)
{
    const char *first = json_object_iter_key(json_object_iter(object));
    const bool has_rows = first && first[strspn(first, "0123456789")] == '\0' &&
                          json_is_object(json_object_get(object, first));
    return has_rows || (json_object_get(object, "columns") && json_object_get(object, "data"))
               ? "; if pandas wrote it, write records instead: to_json(path, orient='records', "
                 "lines=True)"
               : NULL;
}

static bool fail_missing(const struct json_records *r, const char *name, struct sl_err *err)
{
    struct sl_name_list list = {0};
    const char *inner = r->count == 1 ? list_of_records(r->first) : NULL, *way = way_out(r->first);
    for (int level = 0; level < PATH_LEVELS; level++)
        list_paths(r->first, "", level, &list);
    if (name[strspn(name, "0123456789")] == '\0')
        return sl_fail(err, SL_BAD_INPUT,
                       "no column '%s': in JSON Lines columns have names, not numbers: %s", name,
                       sl_name_list_text(&list));
    (void)sl_fail(err, SL_BAD_INPUT, "no column '%s'; the object has: %s; set %stext to %s", name,
                  list.count ? sl_name_list_text(&list) : "nothing",
                  r->input->chosen.unlabelled ? "" : "label and ",
                  r->input->chosen.unlabelled ? "one of them" : "two of them");
    if (way)
        return sl_err_append(err, "%s", way);
    return inner &&
           sl_err_append(err, "; if the records are the list in '%.36s', write that alone", inner);
}

static void forget_first(struct json_records *r)
{
    json_decref(r->first);
    r->first = NULL;
}

/* A column that no object has, of those that were read, is misspelt. */
static bool check_seen(struct json_records *r, const struct sl_line_reader *lines,
                       struct sl_row *row, struct sl_err *err)
{
    const struct sl_chosen *chosen = &r->input->chosen;
    for (int i = 0; r->first && i < chosen->count; i++) {
        const bool is_optional = r->input->shape && i > chosen->labels;
        if (r->seen[i] || is_optional)
            continue;
        (void)fail_missing(r, chosen->names[i], err);
        (void)sl_err_set_field(err, chosen->names[i]);
        row->lacks_column = true;
        forget_first(r);
        return sl_line_reader_wrap(lines, r->first_line, err);
    }
    return true;
}

static bool fill_field(struct json_records *r, int column, struct sl_row *row, struct sl_err *err)
{
    const struct sl_chosen *chosen = &r->input->chosen;
    const char *name = chosen->names[column];
    json_t *value = sl_json_find(r->json.value, name);
    r->seen[column] = r->seen[column] || value;
    return column < chosen->labels && !chosen->unlabelled
               ? sl_json_label_field(&r->fields, value, name, column, row, err)
               : sl_json_text_field(&r->fields, value, name, column, row, err);
}

static bool fill_row(struct json_records *r, struct sl_row *row, struct sl_err *err)
{
    const struct sl_chosen *chosen = &r->input->chosen;
    for (int i = 0; i < chosen->count; i++)
        if (!fill_field(r, i, row, err))
            return sl_err_set_field(err, chosen->names[i]);
    row->count = chosen->count;
    return true;
}

static bool has_shape(const struct json_records *r, const char *name)
{
    return r->input->shape && strcmp(r->input->shape->name, name) == 0;
}

/* Of records that Prodigy writes: whether the annotator said that the labels are right. */
static const char *why_rejected(const struct json_records *r)
{
    const char *answer = json_string_value(json_object_get(r->json.value, "answer"));
    return answer && strcmp(answer, "accept") != 0 ? "its 'answer' is not 'accept'" : NULL;
}

/* Of Label Studio's tasks: takes away the annotations that were cancelled, and counts those that
 * differ. */
static const char *why_cancelled(struct json_records *r)
{
    json_t *list = json_object_get(r->json.value, "annotations");
    const size_t count = json_array_size(list);
    for (size_t i = count; i-- > 0;)
        if (json_is_true(json_object_get(json_array_get(list, i), "was_cancelled")))
            (void)json_array_remove(list, i);
    json_t *first = sl_json_find(r->json.value, r->input->shape->label);
    bool differs = false;
    for (size_t i = 1; i < json_array_size(list); i++) {
        json_t *other = sl_json_find(json_array_get(list, i), "result.0.value.choices");
        differs = differs || (first && other && !json_equal(first, other));
    }
    r->disputed += differs;
    return count > 0 && json_array_size(list) == 0 ? "its annotation was cancelled" : NULL;
}

static const char *why_left_out(struct json_records *r)
{
    return has_shape(r, "prodigy")        ? why_rejected(r)
           : has_shape(r, "label-studio") ? why_cancelled(r)
                                          : NULL;
}

static bool records_next(void *state, struct sl_line_reader *lines, struct sl_row *row,
                         struct sl_err *err)
{
    struct json_records *r = state;
    row->count = 0;
    row->is_list = false;
    const bool read = sl_json_reader_next(&r->json, lines, err);
    row->line = r->json.line;
    if (read && !r->json.value && r->disputed > 0)
        sl_note(row->notes, "%d task%s another annotation with other choices; the first is used",
                r->disputed, r->disputed == 1 ? " has" : "s have");
    if (!read || !r->json.value)
        return read && check_seen(r, lines, row, err);
    row->left_out = why_left_out(r);
    if (!row->left_out && r->count++ == 0) {
        r->first = json_incref(r->json.value);
        r->first_line = row->line;
    }
    if (!fill_row(r, row, err)) {
        forget_first(r); /* columns that were not looked at are not missing */
        return sl_line_reader_wrap(lines, row->line, err);
    }
    return r->input->skips_incomplete || check_seen(r, lines, row, err);
}

#define FUNCTIONS                                                                                  \
    .keyed = true, .size = sizeof(struct json_records), .open = records_open,                      \
    .next = records_next, .close = records_close

const struct sl_record_format sl_record_format_jsonl = {.name = "jsonl",
                                                        .extensions = {"jsonl", "ndjson"},
                                                        FUNCTIONS};
const struct sl_record_format sl_record_format_json = {.name = "json",
                                                       .extensions = {"json"},
                                                       FUNCTIONS};
