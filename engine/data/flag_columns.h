/* flag_columns.h - a column for each label, which says of every text whether it has the label. */
#pragma once

#include "data/record_format.h"

/* 1: the text has the label (1, true, yes); 0: it has not (0, false, no, nothing); -1: the field
 * says something else. */
int sl_flag_read(const struct sl_field *field);

enum { SL_FLAG_NAMES_BYTES = 4096 };

/* The names of the columns whose fields are 0 or 1 in the first rows of a file with a line of
 * names, with commas between them; "" if there are none or too many. A single one is not always
 * 1. */
bool sl_flag_columns_find(const struct sl_record_format *format,
                          const struct sl_record_input *input, char names[SL_FLAG_NAMES_BYTES],
                          struct sl_err *err) SL_MUST_CHECK;
