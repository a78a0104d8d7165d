/* test_joined_labels.c - which labels look like several. */
#include "cli/evaluation/joined_labels.h"
#include "support/test.h"

#include <assert.h>
#include <string.h>

static const struct {
    const char *labels[6], *first, *separator; /* NULL: none */
    int count;
} cases[] = {
    {{"a|b", "b", "a", "b|a|b"}, "a|b", "|", 2},
    {{"red", "green", "green, red"}, "green, red", ", ", 1},
    {{"a", "b", "a/b", "a;b", "b;a"}, "a;b", ";", 2},
    {{"a b", "c", "c | a b"}, "c | a b", " | ", 1},
    /* A part is no label, but recurs. */
    {{"a", "b", "a#x", "b#x"}, "a#x", "#", 2},
    {{"a, x", "b, x", "a", "b"}, "a, x", ", ", 2},
    {{"#a", "#a #x", "#b", "#b #x"}, "#a #x", " ", 2},
    {{"news/a", "news/b", "x"}, NULL, NULL, 0},
    /* A part is no label, or is empty. */
    {{"a", "b", "a|c"}, NULL, NULL, 0},
    {{"a", "b", "|a", "b|"}, NULL, NULL, 0},
    {{"|", "a"}, NULL, NULL, 0},
    {{"R", "C", "C++"}, NULL, NULL, 0},
};

Test(joined_labels, consist_of_other_labels)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct sl_labels labels = {0};
        struct joined_labels joined;
        struct sl_err err = {0};
        for (int k = 0; k < 6 && cases[i].labels[k]; k++) {
            const char *key = cases[i].labels[k];
            cr_assert(sl_labels_add(&labels, key, strlen(key), &err), "%s", err.text);
        }
        joined_labels_find(&joined, &labels);
        cr_assert_eq(joined.count, cases[i].count, "%zu: %d", i, joined.count);
        if (joined.count > 0) {
            assert(labels.list);
            cr_expect_str_eq(labels.list[joined.first].name, cases[i].first);
            cr_expect_str_eq(joined.separator, cases[i].separator);
        }
        sl_labels_release(&labels);
    }
}
