/* report_evaluation.h - the HTML report of an evaluation: of a model on labelled texts, or of a
 * training of an architecture, with its curves. */
#pragma once

#include "cli/evaluation/label_evaluation.h"
#include "cli/report/report_sections.h"

struct report_evaluation {
    const char *title;                 /* of the page */
    const char *what;                  /* before the name of the data: such as "evaluated on" */
    const char *how;                   /* on which texts the figures are: a sentence */
    const char *log;                   /* the log of the training; NULL: none */
    const struct dataset_facts *facts; /* of the data */
    const struct sl_model *of;
    const struct label_evaluation *evaluation;
};

/* Writes index.html to the directory and, of an evaluation, predictions.jsonl (prediction_list.h).
 * That of a training would have the few texts alone that were held out. */
bool report_evaluation_write(const struct report_evaluation *report, const char *directory,
                             struct sl_err *err) SL_MUST_CHECK;

/* The parts of the page about the log of a training. */
bool report_training_curves(struct sl_buffer *out, const char *log, struct sl_err *err)
    SL_MUST_CHECK;
