/* eval_source.h - what `eval` and `operating-points` evaluate a model on: a part of a text,
 * labelled texts, or texts and their translations. */
#pragma once

#include "base/option_parser.h"
#include "data/corpus.h"
#include "data/dataset.h"
#include "train/evaluate.h"

struct eval_source_options {
    const char *corpus, *prompt_separator, *data, *labels, *part, *truncate;
    const char *from, *to; /* columns of a text and its translation */
    struct sl_record_options columns;
    double train_fraction, validation_fraction; /* 0: not given */
    enum sl_truncation truncation;              /* from `truncate`, set by the check */
    bool keep_text;                             /* of --data; no option */
};

/* For a parser's table, with a struct eval_source_options. */
extern const struct sl_option eval_source_rows[];

/* The options fit together: exactly one of --corpus and --data, and what belongs to it. */
bool eval_source_check(struct eval_source_options *options, struct sl_err *err) SL_MUST_CHECK;

struct eval_source {
    const struct sl_model *model;
    struct sl_labels labels;
    struct sl_dataset set;          /* of a classifier; of a translator the texts to translate, */
    struct sl_dataset translations; /* and theirs; else this: */
    struct sl_corpus corpus;
    struct sl_span part;
    struct sl_completions completions; /* of the part; count 0: it is one text */
};

/* Fails if the model is for the other task. `command`: for warnings. */
bool eval_source_open(struct eval_source *source, const struct eval_source_options *options,
                      const struct sl_model *model, const char *command, struct sl_err *err)
    SL_MUST_CHECK;
void eval_source_close(struct eval_source *source); /* a zeroed one is fine */
/* Evaluates the model under a policy. */
bool eval_source_run(const struct eval_source *source, const struct sl_policy *policy,
                     struct sl_evaluation *out, struct sl_err *err) SL_MUST_CHECK;
