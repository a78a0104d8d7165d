/* option_table.h - tables of the options of a command line. */
#pragma once

#include "base/names.h"
#include "base/param_table.h"

#include <stdint.h>

enum { SL_OPTION_TABLES = 16, SL_OPTION_STRINGS_MAX = 16 };

/* For options that may be absent, and that may be repeated. */
struct sl_given_int {
    bool given;
    int64_t value;
};

struct sl_given_real {
    bool given;
    double value;
};

struct sl_strings {
    int count;
    const char *items[SL_OPTION_STRINGS_MAX];
};

/* The type of the member at the option's offset. Strings point into the command line. */
enum sl_option_kind {
    SL_OPTION_FLAG,    /* bool */
    SL_OPTION_SWITCH,  /* bool, with an optional value; only in tables with a function */
    SL_OPTION_STRING,  /* const char * */
    SL_OPTION_STRINGS, /* struct sl_strings */
    SL_OPTION_INT,     /* int */
    SL_OPTION_REAL,    /* double */
    SL_OPTION_GIVEN_INT,
    SL_OPTION_GIVEN_REAL
};

struct sl_option {
    const char *name, *value, *help; /* name: without dashes; value: its placeholder in help */
    enum sl_option_kind kind;
    size_t offset;
    double min, max; /* of numbers */
};

/* A row, where rows are a macro. */
#define SL_OPTION_ROW(name, value, help, kind, offset, min, max)                                   \
    {                                                                                              \
        name, value, help, kind, offset, min, max                                                  \
    }

/* Options under one heading in help. They end with a row of zeros. */
struct sl_option_table {
    const char *heading;            /* NULL: none */
    const struct sl_option *rows;   /* either these */
    const struct sl_param *numbers; /* or these */
    const char *const *sections;    /* a heading for each row, instead of one for all; NULL: none */
    const char *default_text; /* what help calls the default of all numbers; NULL: their own */
    void *values;             /* the struct that the offsets refer to */
    /* If not NULL, called with each value instead of writing to `values`. */
    bool (*set)(void *context, const char *name, const char *value, struct sl_err *err);
    void *context;
};

/* A second name for an option. Help shows both. */
struct sl_option_alias {
    const char *name, *option; /* as on a command line, without dashes */
};

/* How one command line is read. */
struct sl_option_parser {
    const char *program; /* "sluice train", for help */
    const char *usage;   /* its operands, for help: "MODEL-DIR"; NULL: none */
    const char *about;   /* the first sentence of help; NULL: none */
    const char *notes;   /* the lines after the options, each with its end; NULL: none */
    struct sl_option_table tables[SL_OPTION_TABLES]; /* unused ones are zero */

    const struct sl_option_alias *aliases; /* end with a row of zeros; NULL: none */

    const char **operands; /* words that are not options; an array of operands_max */
    int operands_max;
    const char *surplus; /* advice after the error about a surplus word; NULL: none */
    bool stops_at_operand;

    /* Results. */
    int operand_count;
    int read; /* number of words read, with stops_at_operand */
    bool wants_help, wants_version;
    /* After a failure: the option that no table has, without dashes, or "". */
    char unknown[SL_NAME_BYTES];
};

/* ---- one option after another, for the parser and its help ----------------------------------- */

/* Begins as zeros. */
struct sl_option_entry {
    const struct sl_option_table *table;
    const struct sl_option *row;   /* either this */
    const struct sl_param *number; /* or this is set */
    bool is_common;                /* --help or --version; offsets refer to the parser */
    char name[SL_NAME_BYTES];      /* as on a command line */
    int next_table, next_row;
};

/* Moves to the next option; the common ones come last. False: there are no more. */
bool sl_option_next(const struct sl_option_parser *parser, struct sl_option_entry *e) SL_MUST_CHECK;
