/* dataset.h - labelled texts as token ids, for training a classifier and for measuring one.
 *
 *     read the texts  ->  cut a share off to validate on  ->  encode  ->  walk in a random order
 *
 * Examples are numbered from 0 in the order of the file. All that is random depends on (seed,
 * purpose, index) and is the same on every machine. A data set owns its memory; once encoded it
 * never changes. */
#pragma once

#include "data/labels.h"
#include "data/record_reader.h"
#include "sluice/dataset.h"
#include "sluice/tokens.h"

struct sl_example {
    int32_t label;  /* its id */
    int32_t tokens; /* how many, once encoded */
    int64_t ids;    /* where they begin in the set's ids */
    int64_t text;   /* where the text begins in the set's text */
    int64_t bytes;  /* of text */
    int64_t line;   /* of the file, where the example begins */
};

struct sl_dataset {
    char *path; /* where it came from, for errors */
    struct sl_labels labels;
    struct sl_example *examples;
    int count;

    /* The texts, each followed by a line feed: all of them are one text to learn a vocabulary from.
     * NULL once they are encoded, unless they were to be kept. */
    char *text;
    size_t text_bytes;

    int32_t *ids; /* of all examples; NULL before they are encoded */
    size_t ids_count;
    int truncated; /* examples that had more tokens than were kept */

    size_t examples_room, text_room, ids_room;
};

/* Reads a file. Labels: those that an example may have; NULL for those that occur, which are then
 * put in order: by number if all are whole numbers, else by code point. */
bool sl_dataset_open(struct sl_dataset *set, const char *path,
                     const struct sl_record_options *options, const struct sl_labels *labels,
                     struct sl_err *err) SL_MUST_CHECK;
void sl_dataset_close(struct sl_dataset *set); /* a zeroed one is fine */

/* Moves a share of the examples (0 to 1, neither included) to a second set: that share of each
 * label's, rounded to the nearest, but never all of them. Which ones is a function of the seed and
 * of the examples' numbers. Only before encoding. On failure both sets are as they were. */
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

/* The token ids of an encoded example. */
const int32_t *sl_dataset_ids(const struct sl_dataset *set, int example, int *count);
/* The text of an example, as long as it is kept; no NUL follows. */
const char *sl_dataset_text(const struct sl_dataset *set, int example, size_t *bytes);

/* The order in which an epoch visits examples: 0 to count - 1, each once. */
void sl_dataset_order(uint64_t seed, uint64_t epoch, int count, int32_t *out);
