/* labels.h - the classes of a data set: each has a key in the data, or several, a name for people,
 * and its index in the list as id. */
#pragma once

#include "data/name_list.h"
#include "sluice/err.h"
#include "sluice/model.h"

#include <stddef.h>
#include <stdint.h>

enum { SL_LABELS_MIN = SL_CLASSES_MIN, SL_LABELS_MAX = SL_CLASSES_MAX };

struct sl_label {
    char *key;  /* in the data, the first of them; its bytes are those in `keys` */
    char *name; /* for people; the same, unless a file says otherwise */
};

struct sl_label_key {
    char *key;
    int32_t id;
};

struct sl_labels {
    struct sl_label *list;     /* by id */
    struct sl_label_key *keys; /* in the order of their bytes */
    int count, key_count;
    size_t list_room, keys_room;
};

/* Reads a file, in its order: one label per line, which is key and name; or key, tab, name. Keys
 * must be unique; those with one name are one label. */
bool sl_labels_read(struct sl_labels *labels, const char *path, struct sl_err *err) SL_MUST_CHECK;
bool sl_labels_copy(struct sl_labels *labels, const struct sl_labels *from, struct sl_err *err)
    SL_MUST_CHECK;
void sl_labels_release(struct sl_labels *labels); /* a zeroed one is fine */

/* The id of a key, or -1. */
int32_t sl_labels_find(const struct sl_labels *labels, const char *key, size_t bytes);

/* Appends a new label, named like its key. */
bool sl_labels_add(struct sl_labels *labels, const char *key, size_t bytes, struct sl_err *err)
    SL_MUST_CHECK;

/* Puts labels in the order of these names, of which each label must have one. */
bool sl_labels_reorder(struct sl_labels *labels, char *const *names, int count, struct sl_err *err)
    SL_MUST_CHECK;

/* Sorts labels, which have one key each: by number if all keys are whole numbers, else by code
 * point. fresh[i] is the new id of the label that had id i. */
bool sl_labels_arrange(struct sl_labels *labels, int32_t *fresh, struct sl_err *err) SL_MUST_CHECK;

/* Whether two lists of names are the same, in the same order. */
bool sl_label_names_equal(char *const *a, int a_count, char *const *b, int b_count);

/* A label's name, shortened: a wrong label column can make whole sentences labels. */
const char *sl_labels_shown(const struct sl_labels *labels, int label, char name[SL_NAME_SHORT]);
