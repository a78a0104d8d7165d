/* dataset_load.c - the public interface of data sets: loads a file, reads examples by index. */
#include "base/allocate.h"
#include "data/dataset.h"
#include "data/record_formats.h"

#include <assert.h>
#include <stdlib.h>

static bool load(struct sl_dataset *set, const char *path, const struct sl_dataset_options *o,
                 struct sl_err *err)
{
    const struct sl_record_options columns = {.format = o->format,
                                              .label = o->label,
                                              .text = o->text,
                                              .label_separator = o->label_separator};
    struct sl_labels listed = {0};
    bool ok = (!o->labels || sl_labels_read(&listed, o->labels, err)) &&
              sl_dataset_open(set, path, &columns, o->labels ? &listed : NULL, err);
    sl_labels_release(&listed);
    return ok;
}

struct sl_dataset *sl_dataset_load(const char *path, const struct sl_dataset_options *options,
                                   struct sl_err *err)
{
    static const struct sl_dataset_options defaults;
    struct sl_dataset *set = sl_new(sizeof *set, "a data set", err);
    if (!set)
        return NULL;
    if (load(set, path, options ? options : &defaults, err))
        return set;
    sl_dataset_destroy(set);
    return NULL;
}

bool sl_dataset_is_recognised(const char *path)
{
    struct sl_err ignored;
    struct sl_notes notes = {0};
    struct sl_record_choice choice;
    return sl_record_choose(path, &(struct sl_record_options){0}, &choice, &notes, &ignored);
}

void sl_dataset_destroy(struct sl_dataset *set)
{
    if (!set)
        return;
    sl_dataset_close(set);
    free(set);
}

int sl_dataset_size(const struct sl_dataset *set)
{
    return set->count;
}

int sl_dataset_label_count(const struct sl_dataset *set)
{
    return set->labels.count;
}

const char *sl_dataset_label(const struct sl_dataset *set, int label)
{
    assert(label >= 0);
    assert(label < set->labels.count);
    return set->labels.list[label].name;
}

struct sl_dataset_example sl_dataset_example(const struct sl_dataset *set, int index)
{
    assert(index >= 0);
    assert(index < set->count);
    struct sl_dataset_example e = {.line = set->examples[index].line};
    const struct sl_label_list list = sl_label_list(&set->label_lists, index);
    e.labels = list.ids;
    e.labels_count = list.count;
    e.label = list.count > 0 ? list.ids[0] : -1;
    e.text = sl_dataset_text(set, index, &e.bytes);
    return e;
}
