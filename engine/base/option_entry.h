/* option_entry.h - one option after another of all tables of a command line, for the option parser
 * and its help. */
#pragma once

#include "base/option_parser.h"

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
