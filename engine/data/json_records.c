/* json_records.c - objects whose members are columns: one per line, in an array, or one after
 * another. */
#include "data/json_members.h"
#include "data/name_list.h"

#include <jansson.h>
#include <string.h>

struct json_records {
    const struct sl_record_input *input;
    struct sl_json_reader json;
    struct sl_json_members fields;
    bool seen[SL_CHOSEN_MAX]; /* a column that an object had: others may leave it out */
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
}

/* The member that holds a list of records, if the object is the only one; or NULL. */
static const char *list_of_records(json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach (object, key, value) {
        if (json_is_object(json_array_get(value, 0)))
            return key;
    }
    return NULL;
}

static bool fail_missing(const struct json_records *r, const char *name, struct sl_err *err)
{
    struct sl_name_list list = {0};
    json_t *object = r->json.value;
    const char *key, *inner = list_of_records(object);
    json_t *value;
    bool number = name[strspn(name, "0123456789")] == '\0';
    json_object_foreach (object, key, value) {
        sl_name_list_add(&list, key, strlen(key));
    }
    (void)value;
    if (number)
        return sl_fail(err, SL_BAD_INPUT,
                       "no column '%s': in JSON Lines columns have names, not numbers: %s", name,
                       sl_name_list_text(&list));
    (void)sl_fail(err, SL_BAD_INPUT, "no column '%s'; the object has: %s; set %stext to %s", name,
                  list.count ? sl_name_list_text(&list) : "nothing",
                  r->input->chosen.unlabelled ? "" : "label and ",
                  r->input->chosen.unlabelled ? "one of them" : "two of them");
    if (json_object_get(object, "columns") && json_object_get(object, "data"))
        return sl_err_append(err, "; if pandas wrote it, write records instead: to_json(path, "
                                  "orient='records', lines=True)");
    return inner &&
           sl_err_append(err, "; if the records are the list in '%.36s', write that alone", inner);
}

static bool fill_field(struct json_records *r, int column, struct sl_row *row, struct sl_err *err)
{
    const struct sl_chosen *chosen = &r->input->chosen;
    const char *name = chosen->names[column];
    json_t *value = sl_json_find(r->json.value, name);
    if (!value && !r->seen[column] && !(r->input->shape && column > chosen->labels))
        return fail_missing(r, name, err);
    r->seen[column] = true;
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

/* Of records that Prodigy writes: whether the annotator said that the labels are right. */
static const char *why_left_out(const struct json_records *r)
{
    const char *answer = json_string_value(json_object_get(r->json.value, "answer"));
    const struct sl_record_shape *shape = r->input->shape;
    return shape && strcmp(shape->name, "prodigy") == 0 && answer && strcmp(answer, "accept") != 0
               ? "its 'answer' is not 'accept'"
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
    if (!read || !r->json.value)
        return read;
    row->left_out = why_left_out(r);
    return fill_row(r, row, err) || sl_line_reader_wrap(lines, row->line, err);
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
