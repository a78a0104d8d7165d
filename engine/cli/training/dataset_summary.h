/* dataset_summary.h - reports the labelled texts of a training run before it starts: how many,
 * their labels, how many are truncated, what may be wrong. Does nothing for language models. */
#pragma once

#include "cli/evaluation/dataset_words.h"
#include "train/trainer.h"

struct json_t;

/* Finds the facts, for the functions below; those of language models stay zero. */
bool dataset_summary_open(struct dataset_facts *facts, const struct sl_trainer *trainer,
                          struct sl_err *err) SL_MUST_CHECK;
/* Adds the report to a JSON object. */
void dataset_summary_add(const struct sl_trainer *trainer, const struct dataset_facts *facts,
                         struct json_t *object);
/* On standard output: the facts; and before them the sizes of the run. */
void dataset_summary_print(const struct dataset_facts *facts, int context);
void dataset_summary_print_run(const struct sl_trainer *trainer, const struct dataset_facts *facts);
/* Warns on standard error. */
void dataset_summary_warn(const struct dataset_facts *facts);
/* Warns of records without a label or a text, which are left out. */
void dataset_summary_warn_skipped(const char *command, const char *path, struct sl_skipped skipped);
