/* dataset_facts.h - what a set of labelled texts holds, and what may be wrong with it: texts that
 * repeat others, contradict them, or are in the validation texts, too; labels that are perhaps a
 * mistake. dataset_words.h says it in words.
 *
 * Texts are equal if their tokens are: then a model cannot tell them apart. */
#pragma once

#include "cli/evaluation/joined_labels.h"
#include "cli/evaluation/similar_labels.h"
#include "data/dataset.h"

struct json_t;

enum { TEXT_PAIRS_SHOWN = 5 };

/* A text, and an earlier one that equals it. */
struct text_pair {
    int64_t line, earlier_line;
    int32_t earlier; /* its number in the facts' set */
    struct sl_label_list labels, earlier_labels;
};

struct text_pairs {
    int count;
    struct text_pair first[TEXT_PAIRS_SHOWN]; /* in the order of the file */
};

/* Labels that occur only once. */
struct rare_labels {
    int count;
    int32_t first; /* in the order of the file */
    int64_t line;  /* of the first */
};

/* Where the labels come from: the texts, a file of the user's, or the model that is evaluated. */
enum label_origin { LABELS_FOUND, LABELS_LISTED, LABELS_OF_MODEL };

struct dataset_facts {
    const struct sl_dataset *set;
    int shortest, median, longest;           /* tokens of a text */
    double unknown;                          /* fraction of tokens not in the vocabulary; NAN: all
                                                are, because there is no token for others */
    int *label_texts;                        /* per label */
    int unlabelled, most_labels;             /* texts without a label; the most labels of a text */
    struct text_pairs duplicates, conflicts; /* texts that repeat the first one of their kind; those
                                                of them that have another label */
    const struct sl_dataset *validation;     /* NULL: none */
    struct text_pairs leaks;                 /* texts of it that are in the set, too */
    enum label_origin origin;                /* if the labels were found: */
    struct similar_labels similar;
    struct joined_labels joined; /* unless they are in lists */
    struct rare_labels rare;
};

/* Both sets must be encoded, and outlive the facts. Contradictions are shown with the beginning of
 * their text while the first set keeps its texts. */
bool dataset_facts_open(struct dataset_facts *facts, const struct sl_dataset *set,
                        const struct sl_dataset *validation, enum label_origin origin,
                        const struct sl_tokenizer *tokens, struct sl_err *err) SL_MUST_CHECK;
void dataset_facts_close(struct dataset_facts *facts); /* a zeroed one is fine */

double dataset_facts_labels_per_text(const struct dataset_facts *facts);
/* The line of the first text with a label. */
int64_t dataset_facts_first_line(const struct dataset_facts *facts, int32_t label);
/* Adds the numbers to a JSON object. */
void dataset_facts_add(const struct dataset_facts *facts, struct json_t *object);
