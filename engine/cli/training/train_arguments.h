/* train_arguments.h - the command line of `sluice train` and `sluice init`: options and help. Both
 * begin with an architecture, on which their options depend. */
#pragma once

#include "cli/command.h"
#include "train/trainer.h"

struct train_arguments {
    const char *corpus, *run, *out, *report, *report_title, *isa, *precision;
    const char *truncate, *task;
    bool resume, overwrite, bf16, json, best;
    int threads, seed;
    struct sl_train_options training;
};

/* Which of the two commands. */
extern const struct sl_option train_rows[], init_rows[];

/* Reads the words after the command's name. */
bool train_arguments_read(struct train_arguments *a, const struct sl_option *rows, int count,
                          char **words, struct sl_err *err) SL_MUST_CHECK;

/* Whether `sluice train` has an option, given without dashes, with any of the architectures. */
bool train_has_option(const char *option);

/* Whether the word is an architecture; the error lists all. */
bool train_check_architecture(const char *word, struct sl_err *err) SL_MUST_CHECK;

/* Print --help. name: an architecture, or NULL. */
void train_help(const struct command *command, const char *name);
void init_help(const struct command *command, const char *name);
