/* train_report.h - the report of a training of an architecture on labelled texts: evaluates the
 * published model on the validation texts, as it is served. */
#pragma once

#include "train/trainer.h"

struct train_report {
    const char *directory; /* where index.html goes */
    const char *title;     /* NULL: the end of the model's path */
    const char *model;     /* the directory of the published model */
    const char *log;       /* the log of the training */
};

/* The validation texts must have been kept (struct sl_data_sources). */
bool train_report_write(struct sl_engine *engine, const struct sl_trainer *trainer,
                        const struct train_report *report, struct sl_err *err) SL_MUST_CHECK;
