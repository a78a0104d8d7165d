/* dataset.h - labelled texts from TSV, CSV, JSON or fastText's format, plain or compressed with
 * gzip or xz.
 *
 *     struct sl_dataset *set = sl_dataset_load("reviews.tsv", NULL, &err);
 *     for (int i = 0; i < sl_dataset_size(set); i++) {
 *         struct sl_dataset_example e = sl_dataset_example(set, i);
 *         printf("%s\t%.*s\n", sl_dataset_label(set, e.label), (int)e.bytes, e.text);
 *     }
 *     sl_dataset_destroy(set);
 *
 * A data set owns its memory and never changes; any thread may read it. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sl_dataset;

/* Which columns to read: by name, and then TSV and CSV files begin with a line of names, or by
 * number from 1, and then they do not. Several text columns are joined by a space: "title,body". */
struct sl_dataset_options {
    const char *format; /* a --format of `sluice train`; NULL: by the file's name and content */
    const char *label;  /* column, or one for each label; NULL: "label" */
    const char *text;   /* columns; NULL: "text" */
    const char *labels; /* file with one label per line, in the order of classes; NULL: those found,
                         * sorted */
    /* Between the labels of a text, as "|" in "sport|politics": 1 to SL_LABEL_SEPARATOR_BYTES_MAX
     * bytes. Then a text may have several labels, or none if the field is empty. NULL: a field is
     * one label. In JSON Lines a list of labels needs no separator. */
    const char *label_separator;
};

enum { SL_LABEL_SEPARATOR_BYTES_MAX = 8 };

/* NULL is fine. */
SL_PUBLIC bool sl_label_separator_check(const char *separator, struct sl_err *err) SL_MUST_CHECK;

/* Reads a whole file. options NULL: the defaults. Errors name the file, the line and the column. */
SL_PUBLIC struct sl_dataset *sl_dataset_load(const char *path,
                                             const struct sl_dataset_options *options,
                                             struct sl_err *err) SL_MUST_CHECK;
/* Whether the file is recognised as labelled texts, by its name or by its content. */
SL_PUBLIC bool sl_dataset_is_recognised(const char *path);
SL_PUBLIC void sl_dataset_destroy(struct sl_dataset *set); /* NULL is fine */

SL_PUBLIC int sl_dataset_size(const struct sl_dataset *set);        /* examples */
SL_PUBLIC int sl_dataset_label_count(const struct sl_dataset *set); /* classes */
/* The name of a class, 0 .. label_count - 1; belongs to the set. */
SL_PUBLIC const char *sl_dataset_label(const struct sl_dataset *set, int label);

struct sl_dataset_example {
    const char *text; /* UTF-8, `bytes` long, not terminated; belongs to the set */
    size_t bytes;
    int label; /* 0 .. label_count - 1; of a text with several its first, with none -1 */
    const int32_t *labels; /* all of them, in rising order; belongs to the set */
    int labels_count;
    int64_t line; /* of the file, from 1 */
};

/* index: 0 .. size - 1, in the order of the file. */
SL_PUBLIC struct sl_dataset_example sl_dataset_example(const struct sl_dataset *set, int index);

#ifdef __cplusplus
}
#endif
