/* report_data.h - what a run learns from, told before it begins: how many texts, of which
 * labels, how many are cut. A text to be completed has none of this. */
#pragma once

#include "train/trainer.h"

struct json_t;

/* Adds it to a JSON object. */
void report_data_put(const struct sl_trainer *trainer, struct json_t *object);
void report_data_print(const struct sl_trainer *trainer);
/* On standard error, of labels that nobody listed: one that is there once is a likely slip. */
void report_data_warn(const struct sl_trainer *trainer);
