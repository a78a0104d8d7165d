/* record_options.h - how a file of records is to be read. */
#pragma once

#include "data/line_reader.h"

/* Which columns to read. By name: the first line of a TSV or CSV file is a header line. By number,
 * from 1: it is not. Several text columns, as in "title,description", are joined by a space; empty
 * ones are skipped. Several label columns, as in "sport,food", hold 0 or 1, and their names are the
 * labels. JSON always has names, or paths: "data.text". */
struct sl_record_options {
    const char *format; /* a name of the tables in record_formats.c; NULL: from the file's name and
                           content */
    const char *label;  /* NULL: "label" */
    const char *text;   /* NULL: "text" */
    /* Between the labels of a text, which then may have several, or none if the field is empty.
     * NULL: a field is one label. A list is several labels either way. */
    const char *label_separator;
    /* Instead of NULL, but not in JSON Lines, whose lists leave any character to labels. */
    const char *table_label_separator;
    bool unlabelled;      /* do not read a label column; records have no label */
    bool skip_incomplete; /* skip records whose label is missing or whose text is empty or blank,
                             instead of failing */
    struct sl_data_limits limits;
    const char *display_name; /* the file's name in errors, which says its format; NULL: its path */
};
