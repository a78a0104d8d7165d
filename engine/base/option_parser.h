/* option_parser.h - command lines of all programs, from tables of options.
 *
 * A row defines an option once: its type, its bounds and its help. Every program also has -h,
 * --help and --version. Names may be shortened as long as they are unambiguous. After `--` all
 * words are operands. A '_' in a table is a '-' on the command line. Errors name the option, its
 * value and what is expected. */
#pragma once

#include "base/option_table.h"

#include <stdio.h>

/* Reads the words after the name of the program or command. */
bool sl_options_parse(struct sl_option_parser *parser, int count, char **words, struct sl_err *err)
    SL_MUST_CHECK;

/* Sets a parameter as an option of its name does. Errors name it --like-this. */
bool sl_option_set_param(const struct sl_param *row, void *values, const char *text,
                         struct sl_err *err) SL_MUST_CHECK;

/* An option, and whether the command line has it. */
struct sl_option_given {
    const char *name;
    bool given;
};

/* The first of these that was given; NULL: none. The list ends with a row of zeros. */
const char *sl_option_first_given(const struct sl_option_given *options);

/* Prints --help. */
void sl_options_help(const struct sl_option_parser *parser, FILE *out);
