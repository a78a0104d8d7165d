/* param_table.h - structs of named parameters: one row per member gives its name, help text, range
 * and default. Command lines, config files, checks, help texts and tests all read the same rows. */
#pragma once

#include "base/number_text.h"

#include <stddef.h>

enum sl_param_kind {
    SL_INTEGER, /* an int */
    SL_REAL,    /* a float */
    SL_CHOICE,  /* an int: which of `choices`, by name */
    SL_FLAG     /* a bool: true or false */
};

struct sl_param {
    const char *name, *help;
    enum sl_param_kind kind;
    double min, max, default_value;
    size_t offset;              /* in the struct */
    const char *const *choices; /* ends with NULL */
    unsigned cases; /* bit set of the cases that it applies to, defined by the table; 0: all */
};

/* Rows of a table, named like the member of `of` they stand for; a table ends with a row of
 * zeros. */
#define SL_PARAM_ROW(of, member, kind_, min_, max_, default_, help_, choices_)                     \
    SL_PARAM_ROW_AT(0, of, member, kind_, min_, max_, default_, help_, choices_, 0)
#define SL_INTEGER_ROW(of, member, min, max, default_value, help)                                  \
    SL_PARAM_ROW(of, member, SL_INTEGER, min, max, default_value, help, NULL)
#define SL_REAL_ROW(of, member, min, max, default_value, help)                                     \
    SL_PARAM_ROW(of, member, SL_REAL, min, max, default_value, help, NULL)
/* choices: an array of names that ends with NULL; last: the number of the last one. */
#define SL_CHOICE_ROW(of, member, choices, last, default_value, help)                              \
    SL_PARAM_ROW(of, member, SL_CHOICE, 0, last, default_value, help, choices)
#define SL_FLAG_ROW(of, member, default_value, help)                                               \
    SL_PARAM_ROW(of, member, SL_FLAG, 0, 1, default_value, help, NULL)

/* For a struct that starts `start` bytes into the object; bits: see `cases`. */
#define SL_PARAM_ROW_AT(start, of, member, kind_, min_, max_, default_, help_, choices_, bits)     \
    {                                                                                              \
        .name = #member, .help = (help_), .kind = (kind_), .min = (min_), .max = (max_),           \
        .default_value = (default_), .offset = (start) + offsetof(struct of, member),              \
        .choices = (choices_), .cases = (bits)                                                     \
    }

/* Sets every member to its default. */
void sl_params_set_defaults(const struct sl_param *rows, void *object);

/* The row with this name, or NULL. */
const struct sl_param *sl_param_find(const struct sl_param *rows, const char *name);

double sl_param_get(const struct sl_param *row, const void *object);
/* The error for a value out of range gives the range. */
bool sl_param_set(const struct sl_param *row, void *object, double value, struct sl_err *err)
    SL_MUST_CHECK;
/* true or false, also yes, no, on, off, 1 and 0. False: it is none of them. */
bool sl_bool_parse(const char *text, bool *value) SL_MUST_CHECK;

/* Sets a member from text: a number, the name of a choice, a bool. */
bool sl_param_parse(const struct sl_param *row, void *object, const char *text, struct sl_err *err)
    SL_MUST_CHECK;

enum { SL_PARAM_TEXT = SL_NUMBER_TEXT };

/* The value as text, as sl_param_parse takes it. */
void sl_param_format(const struct sl_param *row, double value, char text[SL_PARAM_TEXT]);
/* "a, b, c": the choices, for messages. */
void sl_param_choices(const struct sl_param *row, char *list, size_t size);
