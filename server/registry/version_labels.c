/* version_labels.c - the labels of one model, in memory. */
#include "registry/version_labels.h"

#include <string.h>

const char sv_stable[] = "stable", sv_canary[] = "canary";

static struct sv_label *find(struct sv_labels *labels, const char *name)
{
    for (int i = 0; i < labels->count; i++)
        if (strcmp(labels->items[i].name, name) == 0)
            return &labels->items[i];
    return NULL;
}

long sv_labels_find(const struct sv_labels *labels, const char *label)
{
    if (strcmp(label, sv_stable) == 0)
        return labels->stable;
    for (int i = 0; i < labels->count; i++)
        if (strcmp(labels->items[i].name, label) == 0)
            return labels->items[i].version;
    return 0;
}

static void move_stable(struct sv_labels *labels, long version)
{
    if (version != labels->stable)
        labels->previous = labels->stable;
    labels->stable = version;
    if (sv_labels_find(labels, sv_canary) == version)
        (void)sv_labels_remove(labels, sv_canary);
}

bool sv_labels_set(struct sv_labels *labels, const char *label, long version)
{
    struct sv_label *item = find(labels, label);
    if (strcmp(label, sv_stable) == 0) {
        move_stable(labels, version);
        return true;
    }
    if (!item && labels->count == SV_LABELS_MAX - 1)
        return false;
    if (!item) {
        item = &labels->items[labels->count++];
        memcpy(item->name, label, strlen(label) + 1); /* it was checked */
    }
    item->version = version;
    return true;
}

bool sv_labels_remove(struct sv_labels *labels, const char *label)
{
    struct sv_label *item = find(labels, label);
    if (!item)
        return false;
    if (strcmp(label, sv_canary) == 0)
        labels->weight = 0;
    labels->count--;
    memmove(item, item + 1, (size_t)(&labels->items[labels->count] - item) * sizeof *item);
    return true;
}

bool sv_labels_name(const struct sv_labels *labels, long version)
{
    for (int i = 0; i < labels->count; i++)
        if (labels->items[i].version == version)
            return true;
    return false;
}

bool sv_labels_keep(const struct sv_labels *labels, long version)
{
    return version == labels->stable || version == labels->previous ||
           sv_labels_name(labels, version);
}
