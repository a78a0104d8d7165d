/* labels.c - lists of labels, with binary search. */
#include "data/labels.h"

#include "base/byte_string.h"
#include "base/dynarray.h"
#include "data/line_reader.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int compare(const char *a, const char *b, size_t b_bytes)
{
    return sl_bytes_compare(a, strlen(a), b, b_bytes); /* of UTF-8: the order of code points */
}

/* The first index in the sorted list whose key is not below the given one. */
static int place_of(const struct sl_labels *labels, const char *key, size_t bytes)
{
    int low = 0, high = labels->key_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (compare(labels->keys[middle].key, key, bytes) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int32_t sl_labels_find(const struct sl_labels *labels, const char *key, size_t bytes)
{
    assert(labels);
    assert(key);
    int place = place_of(labels, key, bytes);
    if (place == labels->key_count)
        return -1;
    return compare(labels->keys[place].key, key, bytes) == 0 ? labels->keys[place].id : -1;
}

/* Returns the copy of the key, or NULL. */
static char *key_add(struct sl_labels *labels, const char *key, size_t bytes, int32_t id,
                     struct sl_err *err)
{
    const int place = place_of(labels, key, bytes);
    if (labels->key_count == SL_LABELS_MAX) {
        sl_fail(err, SL_BAD_INPUT, "more than %d different labels", SL_LABELS_MAX);
        return NULL;
    }
    if (!sl_dynarray_reserve(&labels->keys, &labels->keys_room, (size_t)labels->key_count + 1,
                             sizeof *labels->keys, err))
        return NULL;
    char *own = sl_bytes_copy(key, bytes);
    if (!own) {
        sl_fail(err, SL_NO_MEMORY, "no memory for %d labels", labels->key_count + 1);
        return NULL;
    }
    memmove(labels->keys + place + 1, labels->keys + place,
            (size_t)(labels->key_count - place) * sizeof *labels->keys);
    labels->keys[place] = (struct sl_label_key){.key = own, .id = id};
    labels->key_count++;
    return own;
}

/* A key that has a name of its own. */
static bool label_add(struct sl_labels *labels, const char *key, size_t key_bytes, const char *name,
                      size_t name_bytes, struct sl_err *err)
{
    if (!sl_dynarray_reserve(&labels->list, &labels->list_room, (size_t)labels->count + 1,
                             sizeof *labels->list, err))
        return false;
    struct sl_label fresh = {.name = sl_bytes_copy(name, name_bytes)};
    if (!fresh.name)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d labels", labels->count + 1);
    fresh.key = key_add(labels, key, key_bytes, labels->count, err);
    if (!fresh.key) {
        free(fresh.name);
        return false;
    }
    labels->list[labels->count++] = fresh;
    return true;
}

static const struct sl_label *find_name(const struct sl_labels *labels, const char *name,
                                        size_t bytes)
{
    for (int i = 0; i < labels->count; i++)
        if (compare(labels->list[i].name, name, bytes) == 0)
            return &labels->list[i];
    return NULL;
}

/* Of labels with the same names. */
static bool copy_other_keys(struct sl_labels *labels, const struct sl_labels *from,
                            struct sl_err *err)
{
    for (int i = 0; i < from->key_count; i++) {
        const char *key = from->keys[i].key, *name = from->list[from->keys[i].id].name;
        if (sl_labels_find(labels, key, strlen(key)) >= 0)
            continue;
        const struct sl_label *label = find_name(labels, name, strlen(name));
        assert(label);
        if (!key_add(labels, key, strlen(key), (int32_t)(label - labels->list), err))
            return false;
    }
    return true;
}

bool sl_labels_add(struct sl_labels *labels, const char *key, size_t bytes, struct sl_err *err)
{
    assert(sl_labels_find(labels, key, bytes) < 0);
    return label_add(labels, key, bytes, key, bytes, err);
}

bool sl_labels_copy(struct sl_labels *labels, const struct sl_labels *from, struct sl_err *err)
{
    struct sl_labels fresh = {0};
    bool ok = true;
    for (int i = 0; i < from->count && ok; i++) {
        const struct sl_label *l = &from->list[i];
        ok = label_add(&fresh, l->key, strlen(l->key), l->name, strlen(l->name), err);
    }
    ok = ok && copy_other_keys(&fresh, from, err);
    if (ok)
        *labels = fresh;
    else
        sl_labels_release(&fresh);
    return ok;
}

bool sl_labels_reorder(struct sl_labels *labels, char *const *names, int count, struct sl_err *err)
{
    struct sl_labels ordered = {0};
    bool ok = true;
    for (int i = 0; i < count && ok; i++) {
        const struct sl_label *l = find_name(labels, names[i], strlen(names[i]));
        ok = l ? label_add(&ordered, l->key, strlen(l->key), l->name, strlen(l->name), err)
               : sl_fail(err, SL_BAD_INPUT, "the label '%s' of the model is missing", names[i]);
    }
    for (int i = 0; i < labels->count && ok; i++)
        if (!find_name(&ordered, labels->list[i].name, strlen(labels->list[i].name)))
            ok = sl_fail(err, SL_BAD_INPUT, "the model has no label '%s'", labels->list[i].name);
    ok = ok && copy_other_keys(&ordered, labels, err);
    sl_labels_release(ok ? labels : &ordered);
    if (ok)
        *labels = ordered;
    return ok;
}

void sl_labels_release(struct sl_labels *labels)
{
    assert(labels);
    for (int i = 0; i < labels->count; i++)
        free(labels->list[i].name);
    for (int i = 0; i < labels->key_count; i++)
        free(labels->keys[i].key);
    free(labels->list);
    free(labels->keys);
    *labels = (struct sl_labels){0};
}

/* ---- a file of labels ----------------------------------------------------------------------- */

static bool part_check(const char *what, const char *part, size_t bytes, struct sl_err *err)
{
    if (bytes == 0)
        return sl_fail(err, SL_BAD_INPUT,
                       "the %s is empty; expected a label, or a label, a tab and its name", what);
    if (bytes > SL_LABEL_BYTES_MAX)
        return sl_fail(err, SL_BAD_INPUT, "the %s has %zu bytes: expected at most %d", what, bytes,
                       SL_LABEL_BYTES_MAX);
    const char *control = sl_find_control(part, bytes);
    return !control || sl_fail(err, SL_BAD_INPUT, "the %s contains the control character 0x%02x",
                               what, (unsigned)*control);
}

/* Keys with one name are one label, spelt in several ways. */
static bool key_take(struct sl_labels *labels, const char *key, size_t key_bytes, const char *name,
                     size_t name_bytes, struct sl_err *err)
{
    const struct sl_label *same = find_name(labels, name, name_bytes);
    if (same)
        return key_add(labels, key, key_bytes, (int32_t)(same - labels->list), err);
    return label_add(labels, key, key_bytes, name, name_bytes, err);
}

/* *columns: how many the file has, 0 before its first line. */
static bool line_take(struct sl_labels *labels, const struct sl_line *line, int *columns,
                      struct sl_err *err)
{
    const char *tab = memchr(line->text, '\t', line->bytes);
    size_t key_bytes = tab ? (size_t)(tab - line->text) : line->bytes;
    const char *name = tab ? tab + 1 : line->text;
    size_t name_bytes = tab ? line->bytes - key_bytes - 1 : line->bytes;
    int here = tab ? 2 : 1;
    if (*columns != 0 && *columns != here)
        return sl_fail(err, SL_BAD_INPUT,
                       "%d column%s: expected %d as in line 1; either all labels have a name after "
                       "a tab, or none",
                       here, here == 1 ? "" : "s", *columns);
    *columns = here;
    if (memchr(name, '\t', name_bytes) && name != line->text)
        return sl_fail(err, SL_BAD_INPUT,
                       "more than one tab; expected a label, a tab and its name");
    if (!part_check("label", line->text, key_bytes, err) ||
        !part_check("name", name, name_bytes, err))
        return false;
    if (sl_labels_find(labels, line->text, key_bytes) >= 0)
        return sl_fail(err, SL_BAD_INPUT, "label '%.*s' appears twice", (int)key_bytes, line->text);
    return key_take(labels, line->text, key_bytes, name, name_bytes, err);
}

static bool lines_take(struct sl_labels *labels, struct sl_line_reader *lines, struct sl_err *err)
{
    struct sl_line line;
    int columns = 0;
    for (;;) {
        if (!sl_line_reader_next(lines, &line, err))
            return false;
        if (!line.text)
            break;
        if (!line_take(labels, &line, &columns, err))
            return sl_line_reader_wrap(lines, line.number, err);
    }
    return labels->count >= SL_LABELS_MIN ||
           sl_fail(err, SL_BAD_INPUT,
                   "'%s' has %d label%s: expected %d to %d, all that the texts have",
                   sl_line_reader_name(lines), labels->count, labels->count == 1 ? "" : "s",
                   SL_LABELS_MIN, SL_LABELS_MAX);
}

bool sl_labels_read(struct sl_labels *labels, const char *path, struct sl_err *err)
{
    struct sl_labels fresh = {0};
    struct sl_line_reader *lines =
        sl_line_reader_open(path, NULL, &(struct sl_data_limits){0}, err);
    bool ok = lines && lines_take(&fresh, lines, err);
    sl_line_reader_close(lines);
    if (ok)
        *labels = fresh;
    else
        sl_labels_release(&fresh);
    return ok || sl_wrap(err, "labels");
}

/* ---- the order of labels that were found ---------------------------------------------------- */

/* The sort key of a label. */
struct entry {
    struct sl_label label;
    long long number; /* the key's value, if all keys are numbers; else 0 */
    int32_t id, rank; /* the present one; the place by code point */
};

/* A whole number that a long long holds. */
static bool number_read(const char *key, long long *number)
{
    enum { DIGITS_MAX = 18 };

    const char *digits = key + (key[0] == '-');
    size_t count = strspn(digits, "0123456789");
    if (count == 0 || count > DIGITS_MAX || digits[count] != '\0')
        return false;
    *number = strtoll(key, NULL, 10);
    return true;
}

static int entries_compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void entries_fill(const struct sl_labels *labels, struct entry *entries)
{
    bool numbers = true;
    for (int rank = 0; rank < labels->count; rank++) {
        int32_t id = labels->keys[rank].id;
        entries[rank] = (struct entry){.label = labels->list[id], .id = id, .rank = rank};
        numbers = numbers && number_read(labels->list[id].key, &entries[rank].number);
    }
    for (int rank = 0; !numbers && rank < labels->count; rank++)
        entries[rank].number = 0;
}

bool sl_labels_arrange(struct sl_labels *labels, int32_t *fresh, struct sl_err *err)
{
    size_t count = (size_t)labels->count;
    assert(labels->key_count == labels->count);
    struct entry *entries = calloc(count + 1, sizeof *entries);
    if (!entries)
        return sl_fail(err, SL_NO_MEMORY, "no memory to sort %zu labels", count);
    entries_fill(labels, entries);
    qsort(entries, count, sizeof *entries, entries_compare);
    for (int32_t id = 0; id < labels->count; id++) {
        labels->list[id] = entries[id].label;
        labels->keys[entries[id].rank].id = id;
        fresh[entries[id].id] = id;
    }
    free(entries);
    return true;
}

const char *sl_labels_shown(const struct sl_labels *labels, int label, char name[SL_NAME_SHORT])
{
    const char *whole = labels->list[label].name;
    return sl_name_shorten(whole, strlen(whole), name);
}

bool sl_label_names_equal(char *const *a, int a_count, char *const *b, int b_count)
{
    bool equal = a_count == b_count;
    for (int i = 0; equal && i < a_count; i++)
        equal = strcmp(a[i], b[i]) == 0;
    return equal;
}
