/* train_report.h - the report of a training of an architecture on labelled texts: evaluates the
 * published model on the validation texts, as it is served. */
#pragma once

#include "train/trainer.h"

/* model: the directory of the published model. log: that of the training. Writes index.html to the
 * directory. The validation texts must have been kept (struct sl_data_sources). */
bool train_report_write(struct sl_engine *engine, const struct sl_trainer *trainer,
                        const char *model, const char *log, const char *directory,
                        struct sl_err *err) SL_MUST_CHECK;
