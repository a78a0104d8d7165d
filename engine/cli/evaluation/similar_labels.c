/* similar_labels.c - folds labels to a common form, and finds those that share one. */
#include "cli/evaluation/similar_labels.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* A label without what may differ. */
struct plain {
    char *text;
    int32_t label;
};

static void drop_underscores(char *text)
{
    char *out = text;
    for (; *text; text++)
        if (*text != '_')
            *out++ = *text;
    *out = '\0';
}

/* 007, 7. and 7.0 are 7. */
static void drop_zeros_of_number(char *text)
{
    char *digits = text + (text[0] == '-');
    const size_t whole = strspn(digits, "0123456789"), leading = strspn(digits, "0");
    char *point = digits + whole;
    const size_t fraction = *point == '.' ? strspn(point + 1, "0123456789") : 0;
    if (whole == 0 || (*point == '.' ? point[1 + fraction] : *point) != '\0')
        return;
    char *end = point + (*point == '.' ? 1 + fraction : 0);
    while (end > point && (end[-1] == '0' || end[-1] == '.'))
        end--;
    *end = '\0';
    const size_t drop = leading < whole ? leading : whole - 1;
    memmove(digits, digits + drop, strlen(digits + drop) + 1);
}

static bool simplify(struct plain *plain, const char *name, int32_t label, struct sl_err *err)
{
    *plain = (struct plain){.text = sl_utf8_fold(name), .label = label};
    if (!plain->text)
        return sl_fail(err, SL_NO_MEMORY, "no memory to compare labels");
    drop_underscores(plain->text);
    drop_zeros_of_number(plain->text);
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct plain *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->label > y->label) - (x->label < y->label);
}

/* Keeps the first two, in the order of ids. */
static void insert(struct similar_labels *similar, struct similar_pair pair)
{
    if (similar->count == 0 || pair.one < similar->first[0].one) {
        similar->first[1] = similar->first[0];
        similar->first[0] = pair;
    } else if (similar->count == 1 || pair.one < similar->first[1].one) {
        similar->first[1] = pair;
    }
    similar->count++;
}

static void find_pairs(struct similar_labels *similar, struct plain *all, int count)
{
    qsort(all, (size_t)count, sizeof *all, compare);
    for (int i = 1; i < count; i++)
        if (strcmp(all[i].text, all[i - 1].text) == 0)
            insert(similar, (struct similar_pair){all[i - 1].label, all[i].label});
}

bool similar_labels_find(struct similar_labels *similar, const struct sl_labels *labels,
                         struct sl_err *err)
{
    struct plain *all = calloc((size_t)labels->count, sizeof *all);
    bool ok = all || sl_fail(err, SL_NO_MEMORY, "no memory for %d labels", labels->count);
    *similar = (struct similar_labels){0};
    for (int i = 0; ok && i < labels->count; i++)
        ok = simplify(&all[i], labels->list[i].name, i, err);
    if (ok)
        find_pairs(similar, all, labels->count);
    for (int i = 0; all && i < labels->count; i++)
        free(all[i].text);
    free(all);
    return ok;
}
