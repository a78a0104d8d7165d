/* dataset_facts.c - compares all texts of a data set, and counts its labels. */
#include "cli/evaluation/dataset_facts.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

/* ---- equal texts ----------------------------------------------------------------------------- */

/* earlier: a text of the facts' set. */
static void add_pair(const struct dataset_facts *f, struct text_pairs *pairs,
                     const struct sl_dataset *set, int text, int earlier)
{
    if (pairs->count < TEXT_PAIRS_SHOWN)
        pairs->first[pairs->count] =
            (struct text_pair){.line = set->examples[text].line,
                               .earlier_line = f->set->examples[earlier].line,
                               .earlier = earlier,
                               .labels = sl_label_list(&set->label_lists, text),
                               .earlier_labels = sl_label_list(&f->set->label_lists, earlier)};
    pairs->count++;
}

/* first: the first text that each equals. */
static void find_repeats(struct dataset_facts *f, const int32_t *first)
{
    for (int i = 0; i < f->set->count; i++) {
        if (first[i] == i)
            continue;
        add_pair(f, &f->duplicates, f->set, i, first[i]);
        if (!sl_label_list_equals(sl_label_list(&f->set->label_lists, i),
                                  sl_label_list(&f->set->label_lists, first[i])))
            add_pair(f, &f->conflicts, f->set, i, first[i]);
    }
}

/* The first text with this hash; NULL: there is none. */
static const struct sl_numbered_example *find_hash(const struct sl_numbered_example *texts,
                                                   int count, uint64_t hash)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (texts[middle].number < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && texts[low].number == hash ? &texts[low] : NULL;
}

/* texts: by hash. */
static void find_leaks(struct dataset_facts *f, const struct sl_numbered_example *texts)
{
    for (int i = 0; f->validation && i < f->validation->count; i++) {
        const struct sl_numbered_example *same =
            find_hash(texts, f->set->count, sl_dataset_hash(f->validation, i));
        if (same)
            add_pair(f, &f->leaks, f->validation, i, same->example);
    }
}

/* ---- counting -------------------------------------------------------------------------------- */

static int compare_ints(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* lengths: room for as many as there are texts. */
static void count_tokens(struct dataset_facts *f, const struct sl_tokenizer *tokens,
                         int32_t *lengths)
{
    const struct sl_dataset *set = f->set;
    const int32_t unknown = sl_tokenizer_special(tokens, SL_SPECIAL_UNKNOWN);
    int64_t count = 0;
    for (int i = 0; i < set->count; i++)
        lengths[i] = set->examples[i].tokens;
    qsort(lengths, (size_t)set->count, sizeof *lengths, compare_ints);
    f->shortest = lengths[0];
    f->median = lengths[set->count / 2];
    f->longest = lengths[set->count - 1];
    for (size_t i = 0; i < set->ids_count; i++)
        count += set->ids[i] == unknown;
    f->unknown = unknown >= 0 ? (double)count / (double)set->ids_count : (double)NAN;
}

static void count_labels(struct dataset_facts *f)
{
    sl_dataset_count_labels(f->set, f->label_texts);
    for (int i = 0; i < f->set->count; i++) {
        const struct sl_label_list list = sl_label_list(&f->set->label_lists, i);
        f->unlabelled += list.count == 0;
        f->most_labels = list.count > f->most_labels ? list.count : f->most_labels;
    }
}

/* ---- labels that are perhaps a mistake ------------------------------------------------------- */

static void find_rare(struct dataset_facts *f)
{
    int validation[SL_LABELS_MAX] = {0};
    if (f->validation)
        sl_dataset_count_labels(f->validation, validation);
    for (int i = 0; i < f->set->count; i++) {
        const struct sl_label_list list = sl_label_list(&f->set->label_lists, i);
        for (int k = 0; k < list.count; k++) {
            const int32_t label = list.ids[k];
            if (f->label_texts[label] > 1 || validation[label] > 0)
                continue;
            if (f->rare.count++ == 0) {
                f->rare.first = label;
                f->rare.line = f->set->examples[i].line;
            }
        }
    }
}

/* Parts of joined labels are rare, too, and that is no second mistake. */
static bool find_label_mistakes(struct dataset_facts *f, struct sl_err *err)
{
    if (!similar_labels_find(&f->similar, &f->set->labels, err))
        return false;
    if (!f->set->has_lists)
        joined_labels_find(&f->joined, &f->set->labels);
    if (f->joined.count == 0)
        find_rare(f);
    return true;
}

int64_t dataset_facts_first_line(const struct dataset_facts *f, int32_t label)
{
    for (int i = 0; i < f->set->count; i++) {
        const struct sl_label_list list = sl_label_list(&f->set->label_lists, i);
        for (int k = 0; k < list.count; k++)
            if (list.ids[k] == label)
                return f->set->examples[i].line;
    }
    return 0;
}

double dataset_facts_labels_per_text(const struct dataset_facts *f)
{
    return (double)f->set->label_lists.first[f->set->count] / f->set->count;
}

/* first, by_hash: room for each text, and texts by their hashes. */
static bool find_all(struct dataset_facts *f, const struct sl_tokenizer *tokens, int32_t *first,
                     const struct sl_numbered_example *by_hash, struct sl_err *err)
{
    count_tokens(f, tokens, first);
    count_labels(f);
    sl_dataset_firsts(by_hash, f->set->count, first);
    find_repeats(f, first);
    find_leaks(f, by_hash);
    return f->origin != LABELS_FOUND || find_label_mistakes(f, err);
}

bool dataset_facts_open(struct dataset_facts *f, const struct sl_dataset *set,
                        const struct sl_dataset *validation, enum label_origin origin,
                        const struct sl_tokenizer *tokens, struct sl_err *err)
{
    size_t texts = (size_t)set->count;
    *f = (struct dataset_facts){.set = set, .validation = validation, .origin = origin};
    struct sl_numbered_example *by_hash = sl_dataset_by_hash(set, err);
    int32_t *first = malloc(texts * sizeof *first);
    f->label_texts = calloc((size_t)set->labels.count, sizeof *f->label_texts);
    bool ok =
        by_hash && ((first && f->label_texts) ||
                    sl_fail(err, SL_NO_MEMORY, "no memory for a summary of %zu texts", texts));
    ok = ok && find_all(f, tokens, first, by_hash, err);
    if (!ok)
        dataset_facts_close(f);
    free(by_hash);
    free(first);
    return ok;
}

void dataset_facts_close(struct dataset_facts *f)
{
    free(f->label_texts);
    *f = (struct dataset_facts){0};
}

static void put_int(json_t *object, const char *key, int value)
{
    (void)json_object_set_new(object, key, json_integer(value));
}

void dataset_facts_add(const struct dataset_facts *f, json_t *object)
{
    const struct sl_dataset *set = f->set;
    json_t *labels = json_object();
    put_int(object, "texts", set->count);
    if (f->validation)
        put_int(object, "validation_texts", f->validation->count);
    put_int(object, "texts_truncated", set->truncated);
    put_int(object, "records_skipped", (int)set->skipped.records);
    put_int(object, "duplicates", f->duplicates.count);
    put_int(object, "conflicting_labels", f->conflicts.count);
    put_int(object, "similar_labels", f->similar.count);
    put_int(object, "joined_labels", f->joined.count);
    put_int(object, "validation_duplicates", f->leaks.count);
    if (set->multi_label) {
        (void)json_object_set_new(object, "labels_per_text",
                                  json_real(dataset_facts_labels_per_text(f)));
        put_int(object, "texts_without_label", f->unlabelled);
    }
    for (int i = 0; i < set->labels.count; i++)
        put_int(labels, set->labels.list[i].name, f->label_texts[i]);
    (void)json_object_set_new(object, "labels", labels);
}
