/* dataset_facts.c - see dataset_facts.h. */
#include "cli/evaluation/dataset_facts.h"

#include "base/explained_words.h"
#include "base/utf8.h"
#include "cli/evaluation/label_names.h"
#include "tokenizer/tokenizer.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS_SHOWN = 20, TEXT_SHOWN = 60 };

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

double dataset_facts_labels_per_text(const struct dataset_facts *f)
{
    return (double)f->set->label_lists.first[f->set->count] / f->set->count;
}

bool dataset_facts_open(struct dataset_facts *f, const struct sl_dataset *set,
                        const struct sl_dataset *validation, const struct sl_tokenizer *tokens,
                        struct sl_err *err)
{
    size_t texts = (size_t)set->count;
    *f = (struct dataset_facts){.set = set, .validation = validation};
    struct sl_numbered_example *by_hash = sl_dataset_by_hash(set, err);
    int32_t *first = malloc(texts * sizeof *first);
    f->label_texts = calloc((size_t)set->labels.count, sizeof *f->label_texts);
    bool ok =
        by_hash && ((first && f->label_texts) ||
                    sl_fail(err, SL_NO_MEMORY, "no memory for a summary of %zu texts", texts));
    ok = ok && label_twins_find(&f->twins, &set->labels, err);
    if (ok && !set->multi_label)
        joined_labels_find(&f->joined, &set->labels);
    if (ok) {
        count_tokens(f, tokens, first);
        count_labels(f);
        sl_dataset_firsts(by_hash, set->count, first);
        find_repeats(f, first);
        find_leaks(f, by_hash);
    } else {
        dataset_facts_close(f);
    }
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
    put_int(object, "similar_labels", f->twins.count);
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

/* ---- printing -------------------------------------------------------------------------------- */

void dataset_facts_print_lengths(const struct dataset_facts *f, int context)
{
    printf("%d texts of %d to %d tokens, median %d", f->set->count, f->shortest, f->longest,
           f->median);
    if (f->unknown > 0.0)
        printf("; %.1f %% of the tokens are not in the vocabulary", 100.0 * f->unknown);
    printf("\n");
    if (f->set->truncated > 0)
        printf("%d texts are truncated to %d tokens\n", f->set->truncated, context);
}

void dataset_facts_print_labels(const struct dataset_facts *f)
{
    const int labels = f->set->labels.count;
    char name[SL_NAME_SHORT], quoted[LABEL_QUOTED];
    printf("%d labels:", labels);
    for (int i = 0; i < labels && i < LABELS_SHOWN; i++)
        printf("%s %s %d", i ? "," : "",
               label_quoted(sl_labels_shown(&f->set->labels, i, name), quoted), f->label_texts[i]);
    if (labels > LABELS_SHOWN)
        printf(" and %d more", labels - LABELS_SHOWN);
    printf("\n");
    if (f->set->multi_label)
        printf("%.2f labels per text, at most %d; %d text%s no label\n",
               dataset_facts_labels_per_text(f), f->most_labels, f->unlabelled,
               f->unlabelled == 1 ? " has" : "s have");
}

static int shown_of(const struct text_pairs *pairs)
{
    return pairs->count < TEXT_PAIRS_SHOWN ? pairs->count : TEXT_PAIRS_SHOWN;
}

static void print_rest(const struct text_pairs *pairs)
{
    if (pairs->count > TEXT_PAIRS_SHOWN)
        printf("  and %d more\n", pairs->count - TEXT_PAIRS_SHOWN);
}

static void print_beginning(const struct dataset_facts *f, int32_t example)
{
    size_t bytes;
    if (!f->set->text)
        return;
    const char *text = sl_dataset_text(f->set, example, &bytes);
    const size_t shown = sl_utf8_fit(text, bytes, TEXT_SHOWN);
    printf(": ");
    sl_print_text(text, shown);
    printf("%s", shown < bytes ? "..." : "");
}

void dataset_facts_print_repeats(const struct dataset_facts *f)
{
    char one[SL_NAME_SHORT], other[SL_NAME_SHORT];
    const int duplicates = f->duplicates.count, conflicts = f->conflicts.count;
    if (duplicates > 0)
        printf("%d text%s an earlier one\n", duplicates, duplicates == 1 ? " repeats" : "s repeat");
    if (conflicts > 0)
        printf("%d of them %s %s than before; correct the wrong one:\n", conflicts,
               conflicts == 1 ? "has" : "have",
               f->set->multi_label ? "other labels" : "another label");
    for (int i = 0; i < shown_of(&f->conflicts); i++) {
        const struct text_pair *pair = &f->conflicts.first[i];
        printf("  line %lld '%s', line %lld '%s'", (long long)pair->earlier_line,
               label_names_short(&f->set->labels, pair->earlier_labels, one), (long long)pair->line,
               label_names_short(&f->set->labels, pair->labels, other));
        print_beginning(f, pair->earlier);
        printf("\n");
    }
    print_rest(&f->conflicts);
}

void dataset_facts_warn_leaks(const struct dataset_facts *f)
{
    const struct text_pair *pair = &f->leaks.first[0];
    if (f->leaks.count == 0)
        return;
    (void)fprintf(stderr,
                  "sluice train: warning: %d of %d validation texts %s in the training texts, too, "
                  "the first in line %lld (there line %lld); results on them are too good\n",
                  f->leaks.count, f->validation->count, f->leaks.count == 1 ? "is" : "are",
                  (long long)pair->line, (long long)pair->earlier_line);
}

/* The other pairs: the second one's name, or the number of all. */
static void add_twins(const struct dataset_facts *f, char *text, size_t size)
{
    const struct label_twins *t = &f->twins;
    char one[SL_NAME_SHORT], other[SL_NAME_SHORT];
    text[0] = '\0';
    if (t->count == 2)
        (void)snprintf(text, size, ", and so do '%s' and '%s'",
                       sl_labels_shown(&f->set->labels, t->first[1].one, one),
                       sl_labels_shown(&f->set->labels, t->first[1].other, other));
    else if (t->count > 2)
        (void)snprintf(text, size, ", and so do %d more pairs", t->count - 1);
}

/* Where a label is for the first time. */
static int64_t first_line(const struct sl_dataset *set, int32_t label)
{
    for (int i = 0; i < set->count; i++) {
        const struct sl_label_list list = sl_label_list(&set->label_lists, i);
        for (int k = 0; k < list.count; k++)
            if (list.ids[k] == label)
                return set->examples[i].line;
    }
    return 0;
}

void dataset_facts_warn_twins(const struct dataset_facts *f)
{
    const struct label_twin first = f->twins.first[0];
    const bool swap = f->label_texts[first.one] < f->label_texts[first.other];
    const int32_t usual = swap ? first.other : first.one, rare = swap ? first.one : first.other;
    char one[SL_NAME_SHORT], other[SL_NAME_SHORT], more[128];
    if (f->twins.count == 0)
        return;
    add_twins(f, more, sizeof more);
    (void)fprintf(
        stderr,
        "sluice train: warning: the labels '%s' and '%s' (first in line %lld) differ only "
        "in case or spaces%s; if they are one, spell it in one way, or give both one name "
        "with --labels FILE, a list of all labels\n",
        sl_labels_shown(&f->set->labels, usual, one), sl_labels_shown(&f->set->labels, rare, other),
        (long long)first_line(f->set, rare), more);
}

void dataset_facts_warn_joined(const struct dataset_facts *f)
{
    const struct joined_labels *j = &f->joined;
    char name[SL_NAME_SHORT];
    if (j->count == 0)
        return;
    (void)fprintf(stderr, "sluice train: warning: the label '%s' (first in line %lld)",
                  sl_labels_shown(&f->set->labels, j->first, name),
                  (long long)first_line(f->set, j->first));
    if (j->count > 1)
        (void)fprintf(stderr, " and %d others consist", j->count - 1);
    else
        (void)fprintf(stderr, " consists");
    (void)fprintf(stderr,
                  " of other labels; if a text may have several, give --label-separator '%s'\n",
                  j->separator);
}
