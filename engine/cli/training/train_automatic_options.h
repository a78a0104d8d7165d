/* train_automatic_options.h - the command line of `sluice train --data FILE` without an
 * architecture. */
#pragma once

#include "base/option_parser.h"
#include "train/dataloader.h"

struct train_automatic_options {
    struct sl_data_sources sources;
    const char *base, *run, *out, *report, *report_title, *truncate, *time, *isa, *precision;
    double seconds; /* from `time`; 0: not given */
    bool overwrite, standalone, quick, json;
    int threads;
    double min_precision;
};

/* Whether a command line has labelled texts and no architecture. */
bool train_is_automatic(int count, char **words);

/* The options that training of an architecture does not have. */
extern const struct sl_option train_automatic_rows[];

/* Its part of `sluice train --help`. */
void train_automatic_help(void);

/* words: the command line after `sluice train`. unknown: after a failure, the option that there is
 * not, or "". */
bool train_automatic_options_read(struct train_automatic_options *options, int count, char **words,
                                  char unknown[static SL_NAME_BYTES], struct sl_err *err)
    SL_MUST_CHECK;

/* Their names, for an error. */
void train_automatic_options_list(char *out, size_t size);
