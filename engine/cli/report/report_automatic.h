/* report_automatic.h - the HTML report of a training without an architecture. */
#pragma once

#include "cli/training/automatic_results.h"

/* Writes index.html and predictions.jsonl (prediction_list.h) to the directory. title: of the page;
 * data: the file of texts. */
bool report_automatic_write(const struct automatic_results *report, const char *title,
                            const char *data, const char *directory, struct sl_err *err)
    SL_MUST_CHECK;
