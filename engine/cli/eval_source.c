/* eval_source.c - what `eval` and `operating-points` evaluate a model on. */
#include "cli/eval_source.h"
#include "cli/command.h"
#include "cli/evaluation/label_names.h"
#include "cli/training/dataset_summary.h"
#include "data/data_options.h"

#include <string.h>

const struct sl_option eval_source_rows[] = {
    {"corpus", "FILE",
     "text that a language model was trained on; it is split as in training, and --split chooses "
     "what to evaluate on",
     SL_OPTION_STRING, offsetof(struct eval_source_options, corpus), 0, 0},
    {"prompt-separator", "TEXT",
     "each line of --corpus is a prompt, this character and a completion, which is evaluated "
     "[--corpus is one text]",
     SL_OPTION_STRING, offsetof(struct eval_source_options, prompt_separator), 0, 0},
    {"data", "FILE",
     "labelled texts to evaluate a classifier on, or texts and their translations: TSV, CSV or "
     "JSON Lines, also .gz or .xz",
     SL_OPTION_STRING, offsetof(struct eval_source_options, data), 0, 0},
    {"labels", "FILE",
     "file that translates labels; each line is a label of --data, a tab and the model's label; "
     "every label of the model needs a line",
     SL_OPTION_STRING, offsetof(struct eval_source_options, labels), 0, 0},
    {"label", "COLUMN", SL_LABEL_HELP, SL_OPTION_STRING,
     offsetof(struct eval_source_options, columns.label), 0, 0},
    {"label-separator", "TEXT",
     "separator between the labels of a text, if the model gives texts several [| in TSV and "
     "CSV; JSON Lines have lists]",
     SL_OPTION_STRING, offsetof(struct eval_source_options, columns.label_separator), 0, 0},
    {"text", "COLUMNS", "column of the text; several, such as title,body, are joined [text]",
     SL_OPTION_STRING, offsetof(struct eval_source_options, columns.text), 0, 0},
    {"source", "COLUMN", "of --data: the texts to translate [1]", SL_OPTION_STRING,
     offsetof(struct eval_source_options, from), 0, 0},
    {"target", "COLUMN", "of --data: their translations [2]", SL_OPTION_STRING,
     offsetof(struct eval_source_options, to), 0, 0},
    {"format", "NAME", SL_FORMAT_HELP, SL_OPTION_STRING,
     offsetof(struct eval_source_options, columns.format), 0, 0},
    TRUNCATE_OPTION(struct eval_source_options),
    {"split", "NAME", "part of --corpus to evaluate on: train, validation or test [validation]",
     SL_OPTION_STRING, offsetof(struct eval_source_options, part), 0, 0},
    {"train-fraction", "X", "fraction of --corpus that was for training [0.8]", SL_OPTION_REAL,
     offsetof(struct eval_source_options, train_fraction), 0.01, 0.99},
    {"validation-fraction", "X",
     "fraction of --corpus that was for validation; it follows the training part [0.1]",
     SL_OPTION_REAL, offsetof(struct eval_source_options, validation_fraction), 0.001, 0.99},
    {0}};

/* ---- the options ----------------------------------------------------------------------------- */

/* Options that choose a part of --corpus would have no effect on --data. */
static bool check_part(const struct eval_source_options *o, struct sl_err *err)
{
    const char *option = sl_option_first_given(
        (const struct sl_option_given[]){{"split", o->part},
                                         {"prompt-separator", o->prompt_separator},
                                         {"train-fraction", o->train_fraction > 0.0},
                                         {"validation-fraction", o->validation_fraction > 0.0},
                                         {0}});
    return !o->data || !option ||
           sl_fail(err, SL_BAD_INPUT,
                   "--%s has no effect on --data, of which all texts are evaluated; it needs "
                   "--corpus",
                   option);
}

static bool check_labelled(const struct eval_source_options *o, struct sl_err *err)
{
    const char *option = sl_option_first_given(
        (const struct sl_option_given[]){{"labels", o->labels},
                                         {"label", o->columns.label},
                                         {"label-separator", o->columns.label_separator},
                                         {"text", o->columns.text},
                                         {"source", o->from},
                                         {"target", o->to},
                                         {"format", o->columns.format},
                                         {"truncate", o->truncate},
                                         {0}});
    return o->data || !option || fail_needs_data(option, err);
}

static bool choose_part(const char *name, enum sl_split *part, struct sl_err *err)
{
    static const char *const parts[SL_SPLITS] = {"train", "validation", "test"};
    for (int i = 0; i < SL_SPLITS; i++)
        if (strcmp(name, parts[i]) == 0) {
            *part = (enum sl_split)i;
            return true;
        }
    return sl_fail(err, SL_BAD_INPUT, "invalid --split '%s': expected train, validation or test",
                   name);
}

bool eval_source_check(struct eval_source_options *options, struct sl_err *err)
{
    return command_check_source(options->corpus, options->data, err) && check_part(options, err) &&
           check_labelled(options, err) &&
           command_truncation(options->truncate, &options->truncation, err);
}

/* ---- the source ------------------------------------------------------------------------------ */

/* The model's labels as the data spells them. */
static bool list_labels(const struct sl_model *m, const char *path, struct sl_labels *labels,
                        struct sl_err *err)
{
    if (path)
        return (sl_labels_read(labels, path, err) &&
                sl_labels_reorder(labels, m->labels, m->config.classes, err)) ||
               sl_wrap(err, "--labels '%s'", path);
    for (int i = 0; i < m->config.classes; i++)
        if (!sl_labels_add(labels, m->labels[i], strlen(m->labels[i]), err))
            return false;
    return true;
}

static bool open_labelled(struct eval_source *source, const struct eval_source_options *o,
                          const char *command, struct sl_err *err)
{
    const struct sl_model *m = source->model;
    struct sl_dataset_encoding encoding = {.context = m->config.context_length,
                                           .truncation = o->truncation,
                                           .unknown = SL_UNKNOWN_REPLACE,
                                           .keep_text = o->keep_text};
    struct sl_record_options columns = o->columns;
    if (m->config.multi_label)
        columns.table_label_separator = LABEL_SEPARATOR;
    if (!list_labels(m, o->labels, &source->labels, err) ||
        !sl_dataset_open(&source->set, o->data, &columns, &source->labels, err) ||
        !sl_dataset_fit_to(&source->set, m->config.multi_label, err) ||
        !sl_dataset_encode(&source->set, m->tokenizer, &encoding, err))
        return false;
    dataset_summary_warn_skipped(command, source->set.path, source->set.skipped);
    return true;
}

static bool open_pairs(struct eval_source *source, const struct eval_source_options *o,
                       struct sl_err *err)
{
    const struct sl_model *m = source->model;
    const struct sl_dataset_encoding encoding = {.context = m->config.context_length,
                                                 .truncation = o->truncation,
                                                 .unknown = SL_UNKNOWN_REPLACE,
                                                 .keep_text = true};
    const struct sl_pair_columns columns = {o->from, o->to};
    return sl_dataset_open_pairs(&source->set, &source->translations, o->data, &o->columns, columns,
                                 err) &&
           sl_dataset_encode(&source->set, m->tokenizer, &encoding, err) &&
           sl_dataset_encode(&source->translations, m->tokenizer, &encoding, err);
}

/* A text with characters that the model does not know is a likely mistake. */
static bool open_corpus(struct sl_corpus *corpus, const char *path, const struct sl_model *m,
                        struct sl_err *err)
{
    if (sl_corpus_open(corpus, path, m->tokenizer, err))
        return true;
    const struct sl_err why = *err;
    bool is_foreign = strcmp(why.field, "vocabulary") == 0;
    return is_foreign && sl_fail(err, why.code,
                                 "%s; evaluate the model on text made of the characters that it "
                                 "was trained on",
                                 why.text);
}

static bool open_completions(struct eval_source *source, const struct eval_source_options *o,
                             struct sl_err *err)
{
    const struct sl_completion_form form = {source->model->tokenizer, o->prompt_separator,
                                            source->model->config.context_length};
    return sl_completions_open(&source->completions, &source->corpus, source->part, &form, err) ||
           sl_wrap_file(err, o->corpus, 0);
}

static bool open_part(struct eval_source *source, const struct eval_source_options *o,
                      struct sl_err *err)
{
    struct sl_span parts[SL_SPLITS];
    const struct sl_model *m = source->model;
    struct sl_split_fractions fractions = {o->train_fraction > 0.0 ? o->train_fraction : 0.8,
                                           o->validation_fraction > 0.0 ? o->validation_fraction
                                                                        : 0.1};
    enum sl_split part = SL_VALIDATION;
    bool ok = (!o->part || choose_part(o->part, &part, err)) &&
              open_corpus(&source->corpus, o->corpus, m, err) &&
              (sl_corpus_split(&source->corpus, fractions, m->config.context_length, parts, err) ||
               sl_wrap(err, "'%s'", o->corpus));
    if (ok)
        source->part = parts[part];
    return ok && (!o->prompt_separator || open_completions(source, o, err));
}

bool eval_source_open(struct eval_source *source, const struct eval_source_options *options,
                      const struct sl_model *model, const char *command, struct sl_err *err)
{
    const enum sl_task task = model->config.task;
    const bool classifies = task == SL_TASK_CLASSIFICATION,
               translates = task == SL_TASK_TRANSLATION;
    *source = (struct eval_source){.model = model};
    if (model->config.task == SL_TASK_PRETRAINING)
        return sl_fail(
            err, SL_BAD_INPUT,
            "the model is only pretrained; first train a classifier from it with `sluice "
            "train ARCHITECTURE --data FILE --init-from MODEL-DIR`");
    if ((classifies || translates) != (options->data != NULL))
        return sl_fail(err, SL_BAD_INPUT, "the model is for %s; evaluate it with %s FILE",
                       sl_task_name(task), classifies || translates ? "--data" : "--corpus");
    return classifies   ? open_labelled(source, options, command, err)
           : translates ? open_pairs(source, options, err)
                        : open_part(source, options, err);
}

void eval_source_close(struct eval_source *source)
{
    sl_dataset_close(&source->set);
    sl_dataset_close(&source->translations);
    sl_labels_release(&source->labels);
    sl_completions_close(&source->completions);
    sl_corpus_close(&source->corpus);
}

bool eval_source_run(const struct eval_source *source, const struct sl_policy *policy,
                     struct sl_evaluation *out, struct sl_err *err)
{
    if (source->model->config.task == SL_TASK_CLASSIFICATION)
        return sl_evaluate_labelled(source->model, &source->set, policy, out, NULL, err);
    if (source->model->config.task == SL_TASK_TRANSLATION)
        return sl_evaluate_translations(source->model, &source->set, &source->translations, policy,
                                        out, err);
    if (source->completions.count > 0)
        return sl_evaluate_completions(source->model, &source->completions, policy, out, err);
    return sl_evaluate_corpus(source->model, source->part, policy, out, err);
}
