/* version_labels.h - the labels of one model, in memory. */
#pragma once

#include "core/limits.h"

#include <stdbool.h>

/* A label other than `stable`. Its version need not be loaded, or even be in the store. */
struct sv_label {
    char name[SL_VERSION_LABEL_BYTES_MAX + 1];
    long version;
};

struct sv_labels {
    long stable, previous; /* versions, or 0 */
    bool pinned;           /* `stable` does not follow the highest version */
    int weight;            /* of `canary` */
    int count;
    struct sv_label items[SV_LABELS_MAX - 1];
};

extern const char sv_stable[], sv_canary[]; /* "stable", "canary" */

/* The version of a label; 0: there is no such label. */
long sv_labels_find(const struct sv_labels *labels, const char *label);
/* Adds or moves a label. False: there are too many. */
bool sv_labels_set(struct sv_labels *labels, const char *label, long version);
bool sv_labels_remove(struct sv_labels *labels, const char *label); /* false: there is none */
/* Whether a version stays loaded because of the labels. */
bool sv_labels_keep(const struct sv_labels *labels, long version);
/* Whether a label other than `stable` names that version. */
bool sv_labels_name(const struct sv_labels *labels, long version);
