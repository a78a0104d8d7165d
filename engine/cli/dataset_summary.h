/* dataset_summary.h - reports the labelled texts of a training run before it starts: how many,
 * their labels, how many are truncated. Does nothing for language models. */
#pragma once

#include "train/trainer.h"

struct json_t;

/* Adds the report to a JSON object. */
void dataset_summary_add(const struct sl_trainer *trainer, struct json_t *object);
void dataset_summary_print(const struct sl_trainer *trainer);
/* Without --labels, warns on standard error of labels that occur only once: likely mistakes. */
void dataset_summary_warn(const struct sl_trainer *trainer);
/* Warns of records without a label or a text, which are left out. */
void dataset_summary_warn_skipped(const char *command, const char *path, struct sl_skipped skipped);
/* Warns of labels that occur only once. validation: NULL: none. */
void dataset_summary_warn_rare(const struct sl_dataset *train, const struct sl_dataset *validation);
