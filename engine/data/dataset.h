/* dataset.h - labelled texts as token ids, to train and evaluate a classifier.
 *
 *     read the texts  ->  split off validation texts  ->  encode  ->  visit in a random order
 *
 * Examples are numbered from 0 in the order of the file. Random choices depend on (seed, purpose,
 * index) and are the same on every machine. A data set owns its memory; once encoded it is
 * immutable. */
#pragma once

#include "data/label_lists.h"
#include "data/labels.h"
#include "data/problem_list.h"
#include "data/record_reader.h"
#include "sluice/dataset.h"
#include "sluice/tokenizer.h"

struct sl_example {
    int32_t tokens; /* how many, once encoded */
    int64_t ids;    /* where they begin in the set's ids */
    int64_t text;   /* where the text begins in the set's text */
    int64_t bytes;  /* of text */
    int64_t line;   /* of the file, where the example begins */
};

struct sl_dataset {
    char *path; /* where it came from, for errors */
    struct sl_labels labels;
    bool multi_label;                  /* an example may have several labels, or none; else */
    struct sl_label_lists label_lists; /* each has one */
    struct sl_example *examples;
    int count;
    struct sl_skipped skipped; /* records without a label or a text */
    struct sl_notes notes;     /* what had to be assumed */
    bool has_lists;            /* labels are in lists */

    /* The texts, each followed by a line feed: together one text to learn a vocabulary from. NULL
     * once they are encoded, unless keeping them was requested. */
    char *text;
    size_t text_bytes;

    int32_t *ids; /* of all examples; NULL before they are encoded */
    size_t ids_count;
    int32_t *types; /* of each id: 0 first text, 1 second; NULL: there is only one */
    int truncated;  /* number of truncated examples */

    size_t examples_room, text_room, ids_room, types_room;
};

/* Reads a file. labels: the accepted labels; NULL for those that occur, sorted by number if all are
 * whole numbers, else by code point. */
bool sl_dataset_open(struct sl_dataset *set, const char *path,
                     const struct sl_record_options *options, const struct sl_labels *labels,
                     struct sl_err *err) SL_MUST_CHECK;

/* What a file is refused for. */
struct sl_inspection {
    struct sl_problem_list problems;
    bool lacks_column;  /* nothing was read: mostly because a column is not there */
    char *label, *text; /* the columns that were read, as options name them; NULL: not known */
};

/* Reads a file as far as that is possible, with the labels that occur. Records that are refused are
 * left out of the set, which is also there if it is none to train on: even without texts. Fails if
 * the file cannot be opened, or without memory. */
bool sl_dataset_inspect(struct sl_dataset *set, struct sl_inspection *inspection, const char *path,
                        const struct sl_record_options *options, struct sl_err *err) SL_MUST_CHECK;
void sl_inspection_release(struct sl_inspection *inspection); /* a zeroed one is fine */

/* Names or numbers; NULL: 1 and 2. */
struct sl_pair_columns {
    const char *source, *target;
};

/* Reads two columns of a file, texts and their translations, as sets of as many texts, without
 * labels. A record without one of them is an error. */
bool sl_dataset_open_pairs(struct sl_dataset *source, struct sl_dataset *target, const char *path,
                           const struct sl_record_options *options, struct sl_pair_columns columns,
                           struct sl_err *err) SL_MUST_CHECK;
/* Fails if a model could learn nothing, because all texts have the same labels, or no two texts one
 * in common. */
bool sl_dataset_check_labels(const struct sl_dataset *set, struct sl_err *err) SL_MUST_CHECK;
/* Makes a set one for a model: where its texts may have several labels, so may those of the set.
 * Fails if they may not, but do. */
bool sl_dataset_fit_to(struct sl_dataset *set, bool multi_label, struct sl_err *err) SL_MUST_CHECK;
void sl_dataset_close(struct sl_dataset *set); /* a zeroed one is fine */

/* How many texts have each label. counts: as many as there are labels. */
void sl_dataset_count_labels(const struct sl_dataset *set, int *counts);

/* Sets of each example the label that divides the set evenly: the rarest one of its labels; of one
 * without labels, their number. */
bool sl_dataset_strata(const struct sl_dataset *set, int32_t *strata, struct sl_err *err)
    SL_MUST_CHECK;

/* An example with a number: random bits, or a hash. */
struct sl_numbered_example {
    uint64_t number;
    int32_t stratum, example;
};

/* All examples by stratum, and within one in a random order; free() the list. NULL: no memory. */
struct sl_numbered_example *sl_dataset_by_stratum(const struct sl_dataset *set, uint64_t key,
                                                  struct sl_err *err) SL_MUST_CHECK;

/* Of an encoded example: equal if the tokens are, and else, in practice, different. */
uint64_t sl_dataset_hash(const struct sl_dataset *set, int example);
/* All encoded examples by their hashes, equal ones in the order of the file, without strata; free()
 * the list. NULL: no memory. */
struct sl_numbered_example *sl_dataset_by_hash(const struct sl_dataset *set, struct sl_err *err)
    SL_MUST_CHECK;
/* Sets of each example the first one that equals it. by_hash: the list above. */
void sl_dataset_firsts(const struct sl_numbered_example *by_hash, int count, int32_t *first);

/* Moves a fraction (between 0 and 1) of the examples to a second set: that fraction of each
 * stratum's, rounded, but never all of them. The choice depends on the seed and the examples'
 * numbers. Only before encoding. On failure both sets are unchanged. */
bool sl_dataset_split(struct sl_dataset *set, double share, uint64_t seed, struct sl_dataset *cut,
                      struct sl_err *err) SL_MUST_CHECK;

struct sl_dataset_encoding {
    int context; /* tokens of an example, at most */
    enum sl_truncation truncation;
    enum sl_unknown unknown;
    bool keep_text;
};

bool sl_dataset_encode(struct sl_dataset *set, const struct sl_tokenizer *tokens,
                       const struct sl_dataset_encoding *encoding, struct sl_err *err)
    SL_MUST_CHECK;

/* Encodes each example with that of the same number in another set as its second text, as much of
 * both as a context holds, and drops the texts of both. */
bool sl_dataset_encode_pairs(struct sl_dataset *set, struct sl_dataset *second,
                             const struct sl_tokenizer *tokens,
                             const struct sl_dataset_encoding *encoding, struct sl_err *err)
    SL_MUST_CHECK;

/* The token ids of an encoded example. */
const int32_t *sl_dataset_ids(const struct sl_dataset *set, int example, int *count);
/* Of each of them: 0 first text, 1 second; NULL: there is only one. */
const int32_t *sl_dataset_types(const struct sl_dataset *set, int example);
/* The text of an example, while texts are kept; not NUL-terminated. */
const char *sl_dataset_text(const struct sl_dataset *set, int example, size_t *bytes);

/* Frees the texts of an encoded set. */
void sl_dataset_drop_text(struct sl_dataset *set);

/* The order in which an epoch visits examples: 0 to count - 1, each once. */
void sl_dataset_order(uint64_t seed, uint64_t epoch, int count, int32_t *out);
