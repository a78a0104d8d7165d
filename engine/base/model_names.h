/* model_names.h - what models, their versions and the labels of versions may be called. A store has
 * them as directories, <store>/<model>/<version>; requests name `model@version` and `model:label`.
 *
 * The names stand unescaped in paths, URLs and metrics, and none can be taken for an option of a
 * command, a hidden file or, of a label, for a version. A version is written in one way only, so
 * that no two directories are the same version. */
#pragma once

#include <stdbool.h>

enum {
    SL_MODEL_NAME_BYTES_MAX = 100,
    SL_VERSION_DIGITS_MAX = 19, /* of INT64_MAX */
    SL_VERSION_LABEL_BYTES_MAX = 31
};

/* The same sentences wherever a name is refused. */
#define SL_MODEL_NAME_RULE                                                                         \
    "a model name is at most 100 of the characters A-Z, a-z, 0-9, '-', '_' and '.', the first a "  \
    "letter or digit"
#define SL_VERSION_FORM "a whole number from 1 to 9223372036854775807, without leading zeros"
#define SL_VERSION_RULE "a version is " SL_VERSION_FORM
#define SL_VERSION_LABEL_RULE                                                                      \
    "a label is at most 31 of the characters A-Z, a-z, 0-9, '-', '_' and '.', the first a letter"

bool sl_model_name_is_valid(const char *name);
bool sl_version_label_is_valid(const char *label);
/* The number that a version's name stands for; 0: it is no version. */
long sl_version_parse(const char *name);

/* Suffix of the directory of a version that is being written. */
#define SL_VERSION_UNFINISHED_SUFFIX ".sluice-tmp"

/* The highest version in a model's directory; 0: none. */
long sl_version_latest(const char *directory);
/* The version after it; 0: there is none. */
long sl_version_next(const char *directory);
