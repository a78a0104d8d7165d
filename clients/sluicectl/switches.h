/* switches.h - the options of sluicectl's sub-commands: tables, and errors that say what is
 * accepted. */
#pragma once

#include "sluicectl/fault.h"

#include <stddef.h>
#include <stdint.h>

enum { SWITCH_TEXTS_MAX = 4, SWITCH_OPERANDS_MAX = 256 };

/* What an option of each kind fills in. Zeroed means: not given. */
struct switch_whole {
    bool given;
    int64_t value;
};

struct switch_number {
    bool given;
    double value;
};

struct switch_texts {
    int count;
    const char *items[SWITCH_TEXTS_MAX];
};

enum switch_kind {
    SWITCH_ON,     /* bool */
    SWITCH_TEXT,   /* const char * */
    SWITCH_TEXTS,  /* struct switch_texts: may be repeated */
    SWITCH_WHOLE,  /* struct switch_whole */
    SWITCH_NUMBER, /* struct switch_number */
};

struct switch_row {
    const char *name, *value, *help; /* without the dashes; what stands for the value in help */
    enum switch_kind kind;
    size_t offset;
    double least, most; /* SWITCH_WHOLE and SWITCH_NUMBER */
};

enum { SWITCH_TABLES = 2 };

/* How one command line is read: two tables side by side, and the words that are no options. */
struct switch_reader {
    struct {
        const struct switch_row *rows; /* ends with a row without a name; NULL: no table */
        void *values;                  /* what the offsets point into */
    } tables[SWITCH_TABLES];

    const char *operands[SWITCH_OPERANDS_MAX]; /* words without dashes */
    int operand_count, operands_most;          /* how many there were, and may be */
};

/* Reads words until their end, or until `stop_at_operand` finds one; returns how many were read, or
 * -1 with the fault. Behind a word `--` there are only operands. */
int switches_read(struct switch_reader *reader, int count, char **words, bool stop_at_operand,
                  struct fault *fault) MUST_CHECK;
/* Whether a table has an option of this name. */
bool switches_have(const struct switch_row *rows, const char *name);
/* Prints a table. */
void switches_help(const struct switch_row *rows);
