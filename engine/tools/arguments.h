/* arguments.h - command lines: tables of options, and errors that say what would be accepted.
 *
 * In the name of an option '-' and '_' are the same; help has '-', the names in files '_'. */
#pragma once

#include "base/number.h"

#include <stddef.h>

enum option_kind { OPTION_SWITCH, OPTION_TEXT, OPTION_WHOLE, OPTION_NUMBER };

/* One option of a command. The member at offset is a bool, a const char *, an int or a double. */
struct option_row {
    const char *name, *value, *help; /* without the dashes; what stands for the value in help */
    enum option_kind kind;
    size_t offset;
    double least, most; /* OPTION_WHOLE and OPTION_NUMBER */
};

/* Options that are the numbers of a struct, by the names in its table. */
struct option_numbers {
    const struct sl_number *rows;
    void *object;
};

enum { OPTION_TABLES = 2 };

/* How one command's line is read. */
struct option_reader {
    const struct option_row *rows;                /* ends with a row without a name */
    void *values;                                 /* what the offsets point into */
    struct option_numbers numbers[OPTION_TABLES]; /* one may be without rows */
    const char **operands;                        /* words without dashes */
    int operands_most, operands_count;
    const char *surplus; /* what is said of a word too many; NULL: no more than that */
};

bool options_read(struct option_reader *reader, int count, char **words, struct sl_err *err)
    SL_MUST_CHECK;
/* Print a table. */
void options_help(const struct option_row *rows);
void numbers_help(const struct sl_number *rows);

/* The options that every command that computes has. */
#define ENGINE_OPTIONS(type)                                                                       \
    {"threads",                                                                                    \
     "N",                                                                                          \
     "processors to use; 0: as many as affinity and cgroup allow",                                 \
     OPTION_WHOLE,                                                                                 \
     offsetof(type, threads),                                                                      \
     0,                                                                                            \
     1024},                                                                                        \
        {"isa",                                                                                    \
         "LEVEL",                                                                                  \
         "ref, blas, avx2, avx512 or amx instead of the fastest",                                  \
         OPTION_TEXT,                                                                              \
         offsetof(type, isa),                                                                      \
         0,                                                                                        \
         0},                                                                                       \
    {                                                                                              \
        "json", NULL, "print JSON", OPTION_SWITCH, offsetof(type, json), 0, 0                      \
    }
