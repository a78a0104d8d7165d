/* test_big_numbers.c - numbers that are out of range become strings; everything else stays. */
#include "base/big_numbers.h"

#include "support/test.h"

static void expect_quoted(const char *json, const char *expected)
{
    struct sl_buffer out = {0};
    sl_big_numbers_quote(json, strlen(json), &out);
    cr_assert_not(out.failed);
    cr_assert_str_eq(out.data, expected, "%s", json);
    sl_buffer_release(&out);
}

Test(big_numbers, become_strings)
{
    expect_quoted("9223372036854775808", "\"\\u00009223372036854775808\"");
    expect_quoted("[-9223372036854775809,1e999]",
                  "[\"\\u0000-9223372036854775809\",\"\\u00001e999\"]");
    expect_quoted("{\"a\": -2.5E+400 }", "{\"a\": \"\\u0000-2.5E+400\" }");
}

Test(big_numbers, other_values_stay)
{
    static const char *const same[] = {
        "9223372036854775807",
        "-9223372036854775808",
        "1e308",
        "1e-999",
        "{\"1e999\":\"9223372036854775808\",\"\\\"1e999\":null}",
        "[\"not closed 1e999",
        "-",
        "1.",
        "1e",
        "1e+",
        "",
    };
    for (size_t i = 0; i < COUNT(same); i++)
        expect_quoted(same[i], same[i]);
}

Test(big_numbers, are_recognised)
{
    cr_assert_str_eq(sl_big_number("\0"
                                   "1e999",
                                   6),
                     "1e999");
    cr_assert_null(sl_big_number("1e999", 5));
    cr_assert_null(sl_big_number("\0", 1));
    cr_assert_null(sl_big_number(NULL, 0));
}
