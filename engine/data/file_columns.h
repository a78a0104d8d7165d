/* file_columns.h - the columns of a file of records, before anybody chose some: their names, and
 * which of them look like the label and the text. */
#pragma once

#include "data/record_options.h"

enum { SL_COLUMN_NUMBER_BYTES = 12 };

struct sl_file_columns {
    const char *format; /* its name; NULL: not known */
    char **names;       /* of a table's columns, or of members of the first JSON objects: paths */
    int count;          /* 0: the format has no columns */
    bool numbered;      /* a table without a line of names: they are "1", "2", ... */
    int label, text;    /* what they seem to be; -1: that is not sure */
    size_t room;
};

/* Looks at the first records. Of a file that cannot be read, there are as many names as were read:
 * what is wrong is found when it is read as records. Fails without memory only. */
bool sl_file_columns_read(struct sl_file_columns *columns, const char *path,
                          const struct sl_record_options *options, struct sl_err *err)
    SL_MUST_CHECK;
void sl_file_columns_release(struct sl_file_columns *columns); /* a zeroed one is fine */

/* -1: there is none of this name. */
int sl_file_columns_find(const struct sl_file_columns *columns, const char *name);
