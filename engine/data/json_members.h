/* json_members.h - members of a JSON object as fields of a record.
 *
 * A member is named, or reached by a path through objects and arrays: "data.text",
 * "annotations.0.value". */
#pragma once

#include "data/json_reader.h"
#include "data/record_format.h"

enum { SL_JSON_NUMBER_BYTES = 32 };

/* Keeps what a record's fields point to, beside the JSON itself. */
struct sl_json_members {
    struct sl_field *list; /* labels, if they are a list */
    size_t list_room;
    char (*numbers)[SL_JSON_NUMBER_BYTES]; /* numbers as text */
    size_t numbers_room;
    char scalars[SL_CHOSEN_MAX][SL_JSON_NUMBER_BYTES]; /* of each column */
};

void sl_json_members_release(struct sl_json_members *fields);

/* NULL: there is none. */
struct json_t *sl_json_find(struct json_t *object, const char *path);

/* Calls `visit` for each member of an object, and of objects in it, with its path; `text` has data
 * if it is a string. Stops when that fails. */
bool sl_json_each_member(struct json_t *object,
                         bool (*visit)(void *context, const char *path, const struct sl_field *text,
                                       struct sl_err *err),
                         void *context, struct sl_err *err) SL_MUST_CHECK;

/* A value that is null, or NULL, gives a field without data; one of another type is an error that
 * names the member. A label may be a string, a number, true or false, a list of them, or an object
 * of labels with 0 or 1; a text a string or a number. column: which of the row's fields it is. */
bool sl_json_label_field(struct sl_json_members *fields, struct json_t *value, const char *name,
                         int column, struct sl_row *row, struct sl_err *err) SL_MUST_CHECK;
bool sl_json_text_field(struct sl_json_members *fields, const struct json_t *value,
                        const char *name, int column, struct sl_row *row, struct sl_err *err)
    SL_MUST_CHECK;
