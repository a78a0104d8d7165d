/* automatic_results.h - what a training without an architecture found: the texts, the recipes that
 * it tried, and how good the chosen one is on texts left out of training. */
#pragma once

#include "cli/evaluation/dataset_facts.h"
#include "cli/evaluation/label_evaluation.h"
#include "linear/linear_training.h"

/* Prints lengths, labels, duplicates and contradictions. */
void automatic_results_texts(const struct sl_linear_training *l, const struct dataset_facts *facts,
                             const char *why_no_base);

/* Warns that the given base is not used, if so. */
void automatic_results_warn_base(const struct sl_linear_training *l, const char *base);

/* A line for the last trial. */
void automatic_results_trial(const struct sl_linear_search *search, bool multi_label, bool json);

struct automatic_results {
    const struct sl_linear_training *l;
    const struct dataset_facts *facts;
    struct label_evaluation evaluation;     /* of the texts left out; of `e` the loss alone */
    struct minimum_score minimum;           /* precision 0: none was asked for */
    const struct sl_evaluation *validation; /* of facts->validation; NULL: there is none */
};

/* validation: the model's result on facts->validation; NULL: none. min_precision: 0: no minimum
 * score is wanted. */
bool automatic_results_open(struct automatic_results *report, const struct sl_linear_training *l,
                            const struct dataset_facts *facts,
                            const struct sl_evaluation *validation, double min_precision,
                            struct sl_err *err) SL_MUST_CHECK;
void automatic_results_close(struct automatic_results *report);
/* model, page: where the model and the HTML report are; page may be NULL. */
void automatic_results_print(const struct automatic_results *report, const char *model,
                             const char *page, bool json);
/* A JSON object for config.json; free() it. */
char *automatic_results_provenance(const struct automatic_results *report, const char *data,
                                   struct sl_err *err) SL_MUST_CHECK;

/* Of the validation file, if there is one, else of the predictions. */
double automatic_results_accuracy(const struct automatic_results *report);
double automatic_results_loss(const struct automatic_results *report);

/* Sentences of the terminal and of the HTML report. */
enum { RECIPE_TEXT = 192, CONCLUSION_TEXT = 320 };

/* Before the first trial and after it: how long the search takes, if that is long; else "". */
const char *automatic_results_estimate(const struct sl_linear_training *l,
                                       char text[CONCLUSION_TEXT]);

/* What was done with more time than the usual recipes take; "" if there was none. */
const char *automatic_results_time(const struct sl_linear_training *l, char text[CONCLUSION_TEXT]);
/* What the words of recipes, and the losses beside them, mean. */
const char *automatic_results_legend(const struct sl_linear_training *l,
                                     char text[CONCLUSION_TEXT]);
/* A recipe in words. */
const char *automatic_results_recipe(const struct sl_linear_trial *trial, char text[RECIPE_TEXT]);
/* What the learning curve says of more texts, a sentence. */
const char *automatic_results_conclude(const struct sl_learning_curve *curve,
                                       char text[CONCLUSION_TEXT]);
/* On which texts the figures are. */
const char *automatic_results_method(const struct automatic_results *report,
                                     char text[CONCLUSION_TEXT]);
/* The result on the validation file; "" if there is none. */
const char *automatic_results_validation(const struct automatic_results *report,
                                         char text[CONCLUSION_TEXT]);
/* Which score to trust; "" if that was not asked for. */
const char *automatic_results_minimum_score(const struct automatic_results *report,
                                            char text[CONCLUSION_TEXT]);
