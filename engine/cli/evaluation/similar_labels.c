/* similar_labels.c - folds labels to a common form, and finds those that share one. */
#include "cli/evaluation/similar_labels.h"

#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A label without what may differ. */
struct plain {
    char *text;
    int32_t label;
};

/* Drops underscores and the dot that a folded Turkish capital I leaves, and writes the digits of
 * other alphabets as 0 to 9. */
static void fold_more(char *text)
{
    static const uint32_t zeros[] = {0x660, 0x6F0, 0x966}; /* Arabic, Persian, Devanagari */
    const size_t bytes = strlen(text);
    char *out = text;
    uint32_t point;
    for (size_t at = 0, first = 0; at < bytes && sl_utf8_next(text, bytes, &at, &point);
         first = at) {
        const bool is_dot = point == 0x307 && out > text && out[-1] == 'i';
        for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++)
            if (point >= zeros[i] && point < zeros[i] + 10)
                point = '0' + point - zeros[i];
        if (point < 0x80 && point != '_')
            *out++ = (char)point;
        for (; point >= 0x80 && !is_dot && first < at; first++)
            *out++ = text[first];
    }
    *out = '\0';
}

/* 007, +7, 7.0 and 7e0 are 7. More digits than a double keeps are no number but a name. */
static void fold_number(char **text)
{
    enum { DIGITS_MAX = 15 };

    char number[32], *end;
    const double value = strtod(*text, &end);
    const size_t bytes = strlen(*text);
    if (*end || bytes == 0 || strspn(*text, "0123456789.+-e") < bytes || !isfinite(value) ||
        strspn(*text, "+-0.") + DIGITS_MAX < bytes)
        return;
    (void)snprintf(number, sizeof number, "%.*g", DIGITS_MAX, value + 0.0);
    char *copy = strdup(number);
    if (!copy)
        return;
    free(*text);
    *text = copy;
}

static bool simplify(struct plain *plain, const char *name, int32_t label, struct sl_err *err)
{
    *plain = (struct plain){.text = sl_utf8_fold(name), .label = label};
    if (!plain->text)
        return sl_fail(err, SL_NO_MEMORY, "no memory to compare labels");
    fold_more(plain->text);
    fold_number(&plain->text);
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct plain *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->label > y->label) - (x->label < y->label);
}

/* Keeps the first ones, in the order of ids. */
static void insert(struct similar_labels *similar, struct similar_pair pair)
{
    int at = similar->count < SIMILAR_PAIRS_SHOWN ? similar->count : SIMILAR_PAIRS_SHOWN;
    similar->count++;
    for (; at > 0 && pair.one < similar->first[at - 1].one; at--)
        if (at < SIMILAR_PAIRS_SHOWN)
            similar->first[at] = similar->first[at - 1];
    if (at < SIMILAR_PAIRS_SHOWN)
        similar->first[at] = pair;
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
