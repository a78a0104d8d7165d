/* label_lists.h - which labels each text of a data set has: one each, or any number, also none. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>
#include <stdint.h>

struct sl_label_lists {
    int64_t *first; /* text i has ids[first[i]] to ids[first[i + 1] - 1] */
    int32_t *ids;   /* of each text in rising order */
    int count;      /* of texts */
    size_t first_room, ids_room;
};

/* Appends a text. ids: different ones, in any order. */
bool sl_label_lists_add(struct sl_label_lists *lists, const int32_t *ids, int count,
                        struct sl_err *err) SL_MUST_CHECK;
void sl_label_lists_release(struct sl_label_lists *lists); /* a zeroed one is fine */
/* fresh[i]: the new id of what had the id i. */
void sl_label_lists_renumber(struct sl_label_lists *lists, const int32_t *fresh);

/* The labels of one text. */
struct sl_label_list {
    const int32_t *ids; /* in rising order */
    int count;
};

static inline struct sl_label_list sl_label_list(const struct sl_label_lists *lists, int text)
{
    return (struct sl_label_list){.ids = lists->ids + lists->first[text],
                                  .count = (int)(lists->first[text + 1] - lists->first[text])};
}

/* Whether it has this id, which comes after the one asked for before. *at: 0 at first. */
static inline bool sl_label_list_next(struct sl_label_list list, int *at, int32_t id)
{
    bool has = *at < list.count && list.ids[*at] == id;
    *at += has;
    return has;
}

/* The label of a text that has exactly one. */
static inline int32_t sl_label_only(const struct sl_label_lists *lists, int text)
{
    return lists->ids[lists->first[text]];
}

/* Labels of texts and predicted ones. */
struct sl_label_counts {
    int64_t labels, predicted, right; /* right: predicted labels that their text has */
    int64_t texts_right;              /* texts that have the predicted labels and no others */
};

/* Adds a text. predicted: `count` ids in rising order. */
void sl_label_counts_add(struct sl_label_counts *counts, struct sl_label_list labels,
                         const int *predicted, int count);
/* 2 right / (labels + predicted); 0 if there are none. With one of each per text it is the
 * accuracy. */
double sl_label_counts_micro_f1(const struct sl_label_counts *counts);

bool sl_label_list_equals(struct sl_label_list list, struct sl_label_list other);
