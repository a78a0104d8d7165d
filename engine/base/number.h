/* number.h - structs of numbers that have names: one row per member says what it is called, what it
 * means, what is accepted and what it is when nobody says. Command lines, files, checks, help and
 * tests all walk the same rows. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>

enum sl_number_kind {
    SL_INTEGER, /* an int */
    SL_REAL,    /* a float */
    SL_CHOICE,  /* an int: which of `choices`, by name */
    SL_FLAG     /* a bool: true or false */
};

struct sl_number {
    const char *name, *help;
    enum sl_number_kind kind;
    double least, most, standard;
    size_t offset;              /* in the struct */
    const char *const *choices; /* ends with NULL */
    unsigned cases; /* bits: the cases that the number is for, as its table defines them; 0: all */
};

/* Rows of a table, named like the member of `of` they stand for; a table ends with {0}. */
#define SL_NUMBER_ROW(of, member, sort, low, high, usual, says, names)                             \
    SL_NUMBER_ROW_AT(0, of, member, sort, low, high, usual, says, names, 0)
#define SL_INTEGER_ROW(of, member, least, most, standard, help)                                    \
    SL_NUMBER_ROW(of, member, SL_INTEGER, least, most, standard, help, NULL)
#define SL_REAL_ROW(of, member, least, most, standard, help)                                       \
    SL_NUMBER_ROW(of, member, SL_REAL, least, most, standard, help, NULL)
/* choices: an array of names that ends with NULL; last: the number of the last one. */
#define SL_CHOICE_ROW(of, member, choices, last, standard, help)                                   \
    SL_NUMBER_ROW(of, member, SL_CHOICE, 0, last, standard, help, choices)
#define SL_FLAG_ROW(of, member, standard, help)                                                    \
    SL_NUMBER_ROW(of, member, SL_FLAG, 0, 1, standard, help, NULL)

/* For a struct that begins `start` bytes into the object, and for some cases only. */
#define SL_NUMBER_ROW_AT(start, of, member, sort, low, high, usual, says, names, bits)             \
    {                                                                                              \
        .name = #member, .help = (says), .kind = (sort), .least = (low), .most = (high),           \
        .standard = (usual), .offset = (start) + offsetof(struct of, member), .choices = (names),  \
        .cases = (bits)                                                                            \
    }

/* Gives every member its standard. */
void sl_numbers_standard(const struct sl_number *rows, void *object);

/* The row with this name, or NULL. */
const struct sl_number *sl_number_find(const struct sl_number *rows, const char *name);

double sl_number_get(const struct sl_number *row, const void *object);
/* What is out of bounds is named with what would do. */
bool sl_number_set(const struct sl_number *row, void *object, double value, struct sl_err *err)
    SL_MUST_CHECK;
/* The same from text: a number, the name of a choice, true or false. */
bool sl_number_read(const struct sl_number *row, void *object, const char *text, struct sl_err *err)
    SL_MUST_CHECK;

enum { SL_NUMBER_TEXT = 64 };

/* The value as text, as sl_number_read takes it: whole numbers with all their digits, others with
 * six. */
void sl_number_text(double value, char text[SL_NUMBER_TEXT]);
void sl_number_print(const struct sl_number *row, double value, char text[SL_NUMBER_TEXT]);
/* "a, b, c": what there is, for messages. */
void sl_number_choices(const struct sl_number *row, char *list, size_t size);
