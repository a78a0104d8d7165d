/* tuning_run.h - what `sluice adapt` and `sluice distill` share: texts without labels, steps, and
 * where the result is published. */
#pragma once

#include "base/option_table.h"
#include "data/dataset.h"
#include "train/run_dir.h"
#include "tuning/text_distillation.h"

struct tuning_arguments {
    const char *texts, *text, *text_pair, *format, *run, *out;
    struct sl_given_int steps, batch_size;
    bool resume, overwrite;
};

/* Rows of a command whose arguments have a struct tuning_arguments `tuning`. */
#define TUNING_TEXT_OPTIONS(type)                                                                  \
    SL_OPTION_ROW("texts", "FILE",                                                                 \
                  "texts to learn from, without labels: one per line, or a column of --text",      \
                  SL_OPTION_STRING, offsetof(type, tuning.texts), 0, 0),                           \
        SL_OPTION_ROW("text", "COLUMN", "column of CSV, TSV or JSON Lines that has the texts [1]", \
                      SL_OPTION_STRING, offsetof(type, tuning.text), 0, 0),                        \
        SL_OPTION_ROW("format", "NAME", "file format, as of `sluice train` [from the file]",       \
                      SL_OPTION_STRING, offsetof(type, tuning.format), 0, 0),                      \
        SL_OPTION_ROW("steps", "N", "optimizer steps [2000]", SL_OPTION_GIVEN_INT,                 \
                      offsetof(type, tuning.steps), 1, 100000000),                                 \
        SL_OPTION_ROW("batch-size", "N", "texts of a step [32]", SL_OPTION_GIVEN_INT,              \
                      offsetof(type, tuning.batch_size), 1, 65536)
#define TUNING_OUTPUT_OPTIONS(type)                                                                \
    SL_OPTION_ROW("run-dir", "DIR", "directory for what --resume needs, written every 5 minutes",  \
                  SL_OPTION_STRING, offsetof(type, tuning.run), 0, 0),                             \
        SL_OPTION_ROW("resume", NULL,                                                              \
                      "continue the run in --run-dir: give the command that started it, with "     \
                      "this option",                                                               \
                      SL_OPTION_FLAG, offsetof(type, tuning.resume), 0, 0),                        \
        SL_OPTION_ROW("output", "DIR", "where to publish the model, <store>/<model>/<version>",    \
                      SL_OPTION_STRING, offsetof(type, tuning.out), 0, 0),                         \
        SL_OPTION_ROW("overwrite", NULL, "replace the model that is in --output", SL_OPTION_FLAG,  \
                      offsetof(type, tuning.overwrite), 0, 0)

int tuning_steps(const struct tuning_arguments *a);
int tuning_batch_size(const struct tuning_arguments *a);

struct command;
/* Before anything is opened. model: NULL: none was named. */
bool tuning_check(const struct command *command, const char *model,
                  const struct tuning_arguments *a, struct sl_err *err) SL_MUST_CHECK;

/* Reads the texts, as tokens; of pairs of them, if there is a --text-pair. */
bool tuning_open_texts(struct sl_dataset *set, const struct tuning_arguments *a,
                       const struct sl_tokenizer *tokens, int context, struct sl_err *err)
    SL_MUST_CHECK;

/* Locks --run-dir, if it is given; sl_run_dir_close() it at the end. */
bool tuning_open_run(struct sl_run_dir *run, const struct tuning_arguments *a, struct sl_err *err)
    SL_MUST_CHECK;

/* All steps, or those that are left; shows how far they are. */
bool tuning_train(struct sl_text_distillation *d, const struct sl_run_dir *run,
                  const struct tuning_arguments *a, bool json, struct sl_err *err) SL_MUST_CHECK;
