/* data_check.h - what a file of labelled texts holds, and what stops training on it or may be
 * wrong, before anybody trains. */
#pragma once

#include "cli/evaluation/dataset_facts.h"
#include "cli/evaluation/dataset_words.h"
#include "data/file_columns.h"

struct data_check {
    struct sl_file_columns columns;
    struct sl_inspection inspection; /* the problems, and the columns that were read */
    struct sl_dataset set;           /* what can be read, with its texts */
    int *label_texts;                /* per label */
    struct dataset_warnings warnings;
};

/* Where options name no columns and the usual ones are not there, columns that can only be the
 * label and the text are taken, and a note says so. Fails if the file cannot be opened, or without
 * memory. */
bool data_check_open(struct data_check *check, const char *path,
                     const struct sl_record_options *options, struct sl_err *err) SL_MUST_CHECK;
void data_check_close(struct data_check *check); /* a zeroed one is fine */
