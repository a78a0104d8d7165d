/* json_io.h - reading and writing the JSON of checkpoints. Errors name the key and what is
 * expected. Objects are jansson's; free them with json_decref or json_auto_t. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>
#include <stdint.h>

struct json_t;
struct sl_param;

/* Parses a text that is one object. Duplicate keys are an error. */
struct json_t *sl_json_parse(const char *text, size_t bytes, struct sl_err *err) SL_MUST_CHECK;

/* The same of a file of at most so many bytes. */
struct json_t *sl_json_open(const char *path, size_t bytes_max, struct sl_err *err) SL_MUST_CHECK;
/* The same of a file of another program: an object or an array. In one with a whole number that is
 * too large, as 10^30 in tokenizer_config.json of many models, all numbers are real ones. */
struct json_t *sl_json_open_foreign(const char *path, size_t bytes_max, struct sl_err *err)
    SL_MUST_CHECK;

enum { SL_JSON_SHORT = 15, SL_JSON_EXACT = 17 }; /* digits: 0.1 stays 0.1; exact for every double */

/* The text of a value, indented, with a line break at the end; free() it. */
char *sl_json_print(const struct json_t *value, int digits, struct sl_err *err) SL_MUST_CHECK;

/* The same in one line, without a line break. */
char *sl_json_print_line(const struct json_t *value, int digits, struct sl_err *err) SL_MUST_CHECK;

/* A JSON string. Bytes that are not UTF-8 become U+FFFD. NULL: no memory. */
struct json_t *sl_json_string(const char *text);

/* The name of a file without its directories: models are passed on, and directories are private. */
struct json_t *sl_json_file_name(const char *path);

/* The finite number with the fewest digits that is the same float: 0.9, not 0.89999998. */
struct json_t *sl_json_float(float value);

/* An object with the numbers of a table by their names; choices are their names. cases: bits, only
 * rows that are for one of them; 0: all rows. NULL: no memory. */
struct json_t *sl_json_numbers(const struct sl_param *rows, const void *object, unsigned cases);

/* Fails for a key that is not among `accepted` (ends with NULL), and lists those that are. */
bool sl_json_keys(struct json_t *object, const char *const *accepted, struct sl_err *err)
    SL_MUST_CHECK;

/* Required members, by type. The results belong to the object; NULL on failure. */
const char *sl_json_text(const struct json_t *object, const char *key, struct sl_err *err)
    SL_MUST_CHECK;
struct json_t *sl_json_object(const struct json_t *object, const char *key, struct sl_err *err)
    SL_MUST_CHECK;

/* An optional number; NAN: it is missing, or something else. */
double sl_json_number(const struct json_t *object, const char *key);

/* The bounds of a whole number. */
struct sl_bounds {
    int64_t min, max;
};

bool sl_json_whole(const struct json_t *object, const char *key, struct sl_bounds bounds,
                   int64_t *out, struct sl_err *err) SL_MUST_CHECK;

/* Fails unless the member "format" is the one that this version of Sluice writes. */
extern const char sl_format[]; /* "sluice-1" */
bool sl_json_format(const struct json_t *object, struct sl_err *err) SL_MUST_CHECK;

/* "an object", "a string": for errors. */
const char *sl_json_type(const struct json_t *value);
