/* record_columns.h - which columns of a file are labels and text: as the caller names them, by
 * number, or by the first line of the file. */
#pragma once

#include "data/record_format.h"
#include "data/record_options.h"

struct sl_record_columns {
    char *label, *text; /* as the caller wrote them, for errors */
    char *names;        /* the same, cut into names */
    struct sl_chosen *chosen;
    bool numbered;             /* columns are chosen by number */
    int places[SL_CHOSEN_MAX]; /* of the chosen columns in a row, from 0; -1: there is none */
};

/* Columns by their names, joined by commas. */
struct sl_column_names {
    const char *label, *text;
    bool keyed; /* the format finds columns by name itself */
};

/* *chosen is filled. */
bool sl_record_columns_choose(struct sl_record_columns *columns,
                              const struct sl_record_options *options,
                              const struct sl_column_names *names, struct sl_chosen *chosen,
                              struct sl_err *err) SL_MUST_CHECK;
void sl_record_columns_release(struct sl_record_columns *columns); /* a zeroed one is fine */

bool sl_record_columns_has(const struct sl_row *names, const char *name);
/* Whether the numbers that were chosen are names in this line, as pandas writes them; then columns
 * are chosen by name. */
bool sl_record_columns_are_names(struct sl_record_columns *columns, const struct sl_row *row);
/* Finds the places in the line of names. separator: of the format's fields, for errors. */
bool sl_record_columns_find(struct sl_record_columns *columns, const struct sl_row *names,
                            const char *separator, struct sl_err *err) SL_MUST_CHECK;

/* What a row of one field with tabs or bars in it hints at; or "". */
const char *sl_record_columns_hint(const struct sl_row *row);
