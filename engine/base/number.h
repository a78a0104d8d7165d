/* number.h - structs of numbers that have names: one row per member says what it is called, what it
 * means, what is accepted and what it is when nobody says. Command lines, files, checks, help and
 * tests all walk the same rows. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>

enum sl_number_kind {
    SL_INTEGER, /* an int */
    SL_REAL,    /* a float */
    SL_CHOICE   /* an int: which of `choices`, by name */
};

struct sl_number {
    const char *name, *help;
    enum sl_number_kind kind;
    double least, most, standard;
    size_t offset;              /* in the struct */
    const char *const *choices; /* ends with NULL */
};

/* Rows of a table, named like the member of `of` they stand for; a table ends with {0}. */
#define SL_NUMBER_ROW(of, member, sort, low, high, usual, says, names)                             \
    {                                                                                              \
        .name = #member, .help = (says), .kind = (sort), .least = (low), .most = (high),           \
        .standard = (usual), .offset = offsetof(struct of, member), .choices = (names)             \
    }
#define SL_INTEGER_ROW(of, member, least, most, standard, help)                                    \
    SL_NUMBER_ROW(of, member, SL_INTEGER, least, most, standard, help, NULL)
#define SL_REAL_ROW(of, member, least, most, standard, help)                                       \
    SL_NUMBER_ROW(of, member, SL_REAL, least, most, standard, help, NULL)
/* choices: an array of names that ends with NULL; last: the number of the last one. */
#define SL_CHOICE_ROW(of, member, choices, last, standard, help)                                   \
    SL_NUMBER_ROW(of, member, SL_CHOICE, 0, last, standard, help, choices)

/* Gives every member its standard. */
void sl_numbers_standard(const struct sl_number *rows, void *object);

double sl_number_get(const struct sl_number *row, const void *object);
/* What is out of bounds is named with what would do. */
bool sl_number_set(const struct sl_number *row, void *object, double value, struct sl_err *err)
    SL_MUST_CHECK;
/* The same from text: a number, or the name of a choice. */
bool sl_number_read(const struct sl_number *row, void *object, const char *text, struct sl_err *err)
    SL_MUST_CHECK;

enum { SL_NUMBER_TEXT = 64 };

/* The value as text, as sl_number_read takes it: whole numbers with all their digits, others with
 * six. */
void sl_number_text(double value, char text[SL_NUMBER_TEXT]);
void sl_number_print(const struct sl_number *row, double value, char text[SL_NUMBER_TEXT]);
/* "a, b, c": what there is, for messages. */
void sl_number_choices(const struct sl_number *row, char *list, size_t size);
