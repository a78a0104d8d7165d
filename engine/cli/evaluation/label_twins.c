/* label_twins.c - see label_twins.h. */
#include "cli/evaluation/label_twins.h"

#include "sluice/model.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A label without what may differ. */
struct plain {
    char text[SL_LABEL_BYTES_MAX + 1];
    int32_t label;
};

static void simplify(struct plain *plain, const char *name, int32_t label)
{
    size_t count = 0;
    for (const char *c = name; *c && count < SL_LABEL_BYTES_MAX; c++)
        if (!isspace((unsigned char)*c) && *c != '_')
            plain->text[count++] = (char)tolower((unsigned char)*c);
    plain->text[count] = '\0';
    plain->label = label;
}

static int compare(const void *a, const void *b)
{
    const struct plain *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->label > y->label) - (x->label < y->label);
}

/* Keeps the first two, in the order of ids. */
static void insert(struct label_twins *twins, struct label_twin pair)
{
    if (twins->count == 0 || pair.one < twins->first[0].one) {
        twins->first[1] = twins->first[0];
        twins->first[0] = pair;
    } else if (twins->count == 1 || pair.one < twins->first[1].one) {
        twins->first[1] = pair;
    }
    twins->count++;
}

bool label_twins_find(struct label_twins *twins, const struct sl_labels *labels, struct sl_err *err)
{
    struct plain *all = calloc((size_t)labels->count, sizeof *all);
    *twins = (struct label_twins){0};
    if (!all)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d labels", labels->count);
    for (int i = 0; i < labels->count; i++)
        simplify(&all[i], labels->list[i].name, i);
    qsort(all, (size_t)labels->count, sizeof *all, compare);
    for (int i = 1; i < labels->count; i++) {
        if (strcmp(all[i].text, all[i - 1].text) != 0)
            continue;
        insert(twins, (struct label_twin){all[i - 1].label, all[i].label});
    }
    free(all);
    return true;
}
