/* report_sections.h - the parts of a report that several commands share: what the data holds, and
 * how good predictions are. */
#pragma once

#include "base/buffer.h"
#include "cli/evaluation/dataset_facts.h"
#include "cli/evaluation/label_evaluation.h"

/* Before the work: makes the directory of a report (NULL: none is wanted). A title needs one. */
bool report_prepare(const char *directory, const char *title, struct sl_err *err) SL_MUST_CHECK;

/* The title of a report: the given one or, if that is NULL, <model>/<version> of the model's
 * directory. */
const char *report_title(const char *given, const char *model);

/* Begins the page. what, file: such as "tested on" and a path, of which the name is shown. */
void report_begin(struct sl_buffer *out, const char *title, const char *what, const char *file);

void report_dataset(struct sl_buffer *out, const struct dataset_facts *facts, int context);

/* Predictions, and what they were compared with. */
struct report_predictions {
    const struct sl_model *model; /* its labels */
    const struct label_evaluation *evaluation;
    const struct sl_tokenizer *tokens; /* the model's */
    bool left_out; /* predicted by models that left the text out, which `model` has learnt */
};

/* Key figures of predictions; `skipped`: fraction of token-layer operations that were skipped, or
 * NAN. how: on which texts. */
void report_figures(struct sl_buffer *out, const struct report_predictions *p, double skipped,
                    const char *how);
/* Recall and precision, the confusion matrix, the reliability diagram, the most confident mistakes.
 * Texts, with the words that moved the score marked, are shown if the set still has them. */
bool report_predictions(struct sl_buffer *out, const struct report_predictions *p,
                        struct sl_err *err) SL_MUST_CHECK;
