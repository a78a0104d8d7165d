/* label_lists.c - the lists of all texts in one array, and counts of hits in them. */
#include "data/label_lists.h"

#include "base/dynarray.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort(int32_t *ids, int64_t count)
{
    if (count > 1)
        qsort(ids, (size_t)count, sizeof *ids, compare);
}

bool sl_label_lists_add(struct sl_label_lists *lists, const int32_t *ids, int count,
                        struct sl_err *err)
{
    const size_t texts = (size_t)lists->count, used = texts ? (size_t)lists->first[texts] : 0;
    /* One more, so that there is an array where no text has a label. */
    if (!sl_dynarray_reserve(&lists->first, &lists->first_room, texts + 2, sizeof *lists->first,
                             err) ||
        !sl_dynarray_reserve(&lists->ids, &lists->ids_room, used + (size_t)count + 1,
                             sizeof *lists->ids, err))
        return false;
    if (count > 0)
        memcpy(lists->ids + used, ids, (size_t)count * sizeof *ids);
    sort(lists->ids + used, count);
    lists->first[texts] = (int64_t)used;
    lists->first[texts + 1] = (int64_t)used + count;
    lists->count++;
    return true;
}

void sl_label_lists_release(struct sl_label_lists *lists)
{
    free(lists->first);
    free(lists->ids);
    *lists = (struct sl_label_lists){0};
}

void sl_label_lists_renumber(struct sl_label_lists *lists, const int32_t *fresh)
{
    for (int i = 0; i < lists->count; i++) {
        const int64_t first = lists->first[i], end = lists->first[i + 1];
        for (int64_t at = first; at < end; at++)
            lists->ids[at] = fresh[lists->ids[at]];
        sort(lists->ids + first, end - first);
    }
}

bool sl_label_list_equals(struct sl_label_list list, struct sl_label_list other)
{
    return list.count == other.count &&
           memcmp(list.ids, other.ids, (size_t)list.count * sizeof *list.ids) == 0;
}

void sl_label_counts_add(struct sl_label_counts *counts, struct sl_label_list labels,
                         const int *predicted, int count)
{
    int right = 0, at = 0;
    for (int i = 0; i < count; i++) {
        while (at < labels.count && labels.ids[at] < predicted[i])
            at++;
        right += sl_label_list_next(labels, &at, predicted[i]);
    }
    counts->labels += labels.count;
    counts->predicted += count;
    counts->right += right;
    counts->texts_right += right == labels.count && right == count;
}

double sl_label_counts_micro_f1(const struct sl_label_counts *counts)
{
    const int64_t both = counts->labels + counts->predicted;
    return both > 0 ? 2.0 * (double)counts->right / (double)both : 0.0;
}
