/* dataset_summary.h - reports the labelled texts of a training run before it starts: how many,
 * their labels, how many are truncated. Does nothing for language models. */
#pragma once

#include "cli/evaluation/dataset_facts.h"
#include "train/trainer.h"

struct json_t;

/* Finds the facts, for the functions below; those of language models stay zero. */
bool dataset_summary_open(struct dataset_facts *facts, const struct sl_trainer *trainer,
                          struct sl_err *err) SL_MUST_CHECK;
/* Adds the report to a JSON object. */
void dataset_summary_add(const struct sl_trainer *trainer, const struct dataset_facts *facts,
                         struct json_t *object);
void dataset_summary_print(const struct sl_trainer *trainer, const struct dataset_facts *facts);
/* Warns on standard error of validation texts that are training texts and, without --labels, of
 * labels that occur only once or that differ in case only: likely mistakes. */
void dataset_summary_warn(const struct sl_trainer *trainer, const struct dataset_facts *facts);
/* Warns of records without a label or a text, which are left out. */
void dataset_summary_warn_skipped(const char *command, const char *path, struct sl_skipped skipped);
/* Warns of labels that occur only once. validation: NULL: none. */
void dataset_summary_warn_rare(const struct sl_dataset *train, const struct sl_dataset *validation);
