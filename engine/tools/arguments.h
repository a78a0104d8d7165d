/* arguments.h - command lines: tables of options, and errors that say what would be accepted. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>

enum option_kind { OPTION_SWITCH, OPTION_TEXT, OPTION_WHOLE, OPTION_NUMBER };

/* One option of a command. The member at offset is a bool, a const char *, an int or a double. */
struct option_row {
    const char *name, *value, *help; /* without the dashes; what stands for the value in help */
    enum option_kind kind;
    size_t offset;
    double least, most; /* OPTION_WHOLE and OPTION_NUMBER */
};

/* How one command's line is read. */
struct option_reader {
    const struct option_row *rows; /* ends with a row without a name */
    void *values;                  /* what the offsets point into */
    /* An option that is not in the table; NULL: an error. Returns false with err. */
    bool (*other)(void *context, const char *name, const char *value, struct sl_err *err);
    void *context;
    const char **operands; /* words without dashes */
    int operands_most, operands_count;
};

bool options_read(struct option_reader *reader, int count, char **words, struct sl_err *err)
    SL_MUST_CHECK;
/* Prints the table. */
void options_help(const struct option_row *rows);

/* A number, whole text and nothing after it. */
bool option_number(const char *name, const char *text, double *out, struct sl_err *err)
    SL_MUST_CHECK;

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
