/* prediction_list.h - what was predicted for each text, as a file for programs. */
#pragma once

#include "cli/evaluation/label_predictions.h"

/* Writes predictions.jsonl to the directory, if each text has one label: a line for each text, in
 * the order of the file, {"line":2,"label":"a","predicted":"b","score":0.9,"text":"..."}. score is
 * the probability of `predicted`. Texts are there if the set still has them. */
bool prediction_list_write(const struct label_predictions *predictions, const char *directory,
                           struct sl_err *err) SL_MUST_CHECK;
