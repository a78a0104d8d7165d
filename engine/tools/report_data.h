/* report_data.h - reports the labelled texts of a training run before it starts: how many, their
 * labels, how many are truncated. Does nothing for language models. */
#pragma once

#include "train/trainer.h"

struct json_t;

/* Adds the report to a JSON object. */
void report_data_put(const struct sl_trainer *trainer, struct json_t *object);
void report_data_print(const struct sl_trainer *trainer);
/* Without --labels, warns on standard error of labels that occur only once: likely mistakes. */
void report_data_warn(const struct sl_trainer *trainer);
