/* test_listops.c - expressions have the values and lengths of the published task. */
#include "base/random.h"
#include "cli/reproduce/listops.h"

#include "support/test.h"

#include <string.h>

static int value_of(const char *text)
{
    return listops_value(text, strlen(text));
}

Test(listops, values_are_the_published_ones)
{
    /* From the test part of Nangia and Bowman. */
    cr_assert_eq(value_of("s6590]"), 0);
    cr_assert_eq(value_of("m6350]"), 0);
    cr_assert_eq(value_of("d410]"), 1);
    cr_assert_eq(value_of("smm5s541]049]876]1173]"), 2);
    cr_assert_eq(value_of("x15m925]]"), 5);
    cr_assert_eq(value_of("xs85m661]]d01486]77]"), 7);
    /* The median of an even number of digits is rounded down. */
    cr_assert_eq(value_of("d7843]"), 5);
    cr_assert_eq(value_of("7"), 7);
}

Test(listops, what_is_no_expression_has_no_value)
{
    static const char *const wrong[] = {
        "",   "]",    "x1]",   "x12",   "x12]]",
        "12", "y12]", "x12]3", "x1 2]", "mmmmmmmmmm12]2]2]2]2]2]2]2]2]2]"};
    for (size_t i = 0; i < COUNT(wrong); i++)
        cr_expect_eq(value_of(wrong[i]), -1, "%s", wrong[i]);
    cr_assert_eq(value_of("mmmmmmmmm12]2]2]2]2]2]2]2]2]"), 1);
    cr_assert_eq(value_of("m12345678901]"), -1); /* eleven arguments */
}

Test(listops, drawn_expressions_have_values_and_lengths)
{
    enum { LENGTH = 200, DRAWN = 300 };

    char text[LENGTH];
    int values[10] = {0}, others = 0;
    for (int i = 0; i < DRAWN; i++) {
        size_t bytes = listops_draw(text, LENGTH, sl_random_bits(1, (uint64_t)i));
        cr_assert(bytes < LENGTH && bytes > LENGTH / 4, "%zu tokens", bytes);
        int value = listops_value(text, bytes);
        cr_assert(value >= 0 && value <= 9);
        values[value]++;
        others += i > 0 && value != listops_value(text, bytes - 1);
    }
    for (int v = 0; v < 10; v++)
        cr_expect_gt(values[v], DRAWN / 100, "value %d", v);
    cr_assert_eq(others, DRAWN - 1);
}

Test(listops, the_shortest_are_digits)
{
    char text[2];
    for (uint64_t i = 0; i < 20; i++) {
        cr_assert_eq(listops_draw(text, sizeof text, i), 1);
        cr_assert(text[0] >= '0' && text[0] <= '9');
    }
}
