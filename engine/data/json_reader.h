/* json_reader.h - the JSON values of a file one by one: an object per line (JSON Lines), or one
 * array of objects, or objects that span lines.
 *
 * Numbers may have any size: one that no double or 64-bit integer holds is read as its digits,
 * which sl_json_big_number recognises. */
#pragma once

#include "data/line_reader.h"

struct json_t;

struct sl_json_reader {
    bool by_lines; /* each line is an object; else objects may span lines, also in an array */
    bool begun, in_array, ended;
    struct json_t *value; /* the present one */
    int64_t line;         /* where it begins */
    char *text;           /* of a value that spans lines; used + 1 bytes */
    size_t used, room;
    struct sl_line rest; /* what is not read of the present line */
    int depth;           /* of brackets, at the end of `text` */
    bool in_string, is_escaped;
};

/* Sets value, or NULL past the last. Errors name file and line. */
bool sl_json_reader_next(struct sl_json_reader *json, struct sl_line_reader *lines,
                         struct sl_err *err) SL_MUST_CHECK;
void sl_json_reader_release(struct sl_json_reader *json);

/* "an object", "null" and so on. */
const char *sl_json_type_name(const struct json_t *value);
/* The digits of a number that is out of range; NULL: the value is something else. */
const char *sl_json_big_number(const struct json_t *value);
