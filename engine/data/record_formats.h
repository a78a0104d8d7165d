/* record_formats.h - the tables of formats and of shapes of records, and which of them a file has:
 * by its name, or by what it begins with. */
#pragma once

#include "data/record_format.h"
#include "data/record_options.h"

struct sl_record_choice {
    const struct sl_record_format *format;
    const struct sl_record_shape *shape; /* of its JSON objects; NULL: the columns are members */
    bool by_lines;                       /* JSON has an object in each line */
};

/* Fails if the file is none that is read. What was assumed becomes notes. */
bool sl_record_choose(const char *path, const struct sl_record_options *options,
                      struct sl_record_choice *choice, struct sl_notes *notes, struct sl_err *err)
    SL_MUST_CHECK;

/* Whether the name says which format the file has. */
bool sl_record_format_knows(const char *path);
