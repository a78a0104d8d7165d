/* test_model_names.c - what models, versions and labels may be called. */
#include "base/model_names.h"
#include "support/test.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char longest[] =
    "0123456789012345678901234567890123456789012345678901234567890123456789"
    "01234567890123456789012345678x";

Test(model_names, a_model_has_a_name_that_needs_no_escaping)
{
    static const char *const good[] = {"a", "7", "Mood-2_b.v1", "a.", longest};
    static const char *const bad[] = {"",    ".",   "..",  ".a",  "-a",        "_a",  "my model",
                                      "a:b", "a@b", "a/b", "a\n", "a\xC3\xBC", "a+b", "a%20"};
    cr_assert_eq(strlen(longest), SL_MODEL_NAME_BYTES_MAX);
    for (size_t i = 0; i < COUNT(good); i++)
        cr_expect(sl_model_name_is_valid(good[i]), "%s", good[i]);
    for (size_t i = 0; i < COUNT(bad); i++)
        cr_expect_not(sl_model_name_is_valid(bad[i]), "%s", bad[i]);
    char more[SL_MODEL_NAME_BYTES_MAX + 2];
    (void)snprintf(more, sizeof more, "%sx", longest);
    cr_expect_not(sl_model_name_is_valid(more));
}

/* So that `model:1` is not a version, and 1 not a label. */
Test(model_names, a_label_begins_with_a_letter)
{
    static const char *const bad[] = {"", "1", "1a", "-a", "a b", "a:b", longest};
    cr_expect(sl_version_label_is_valid("blue-2.x_y"));
    cr_expect(sl_version_label_is_valid("a123456789012345678901234567890"));
    cr_expect_not(sl_version_label_is_valid("a1234567890123456789012345678901"));
    for (size_t i = 0; i < COUNT(bad); i++)
        cr_expect_not(sl_version_label_is_valid(bad[i]), "%s", bad[i]);
}

Test(model_names, a_version_is_written_in_one_way)
{
    static const char *const bad[] = {"",
                                      "0",
                                      "01",
                                      "007",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.0",
                                      "v1",
                                      "1a",
                                      "0x1",
                                      "1e3",
                                      "9223372036854775808",
                                      "10000000000000000000"};
    cr_expect_eq(sl_version_parse("1"), 1);
    cr_expect_eq(sl_version_parse("1795775185"), 1795775185);
    cr_expect_eq(sl_version_parse("9223372036854775807"), LONG_MAX);
    for (size_t i = 0; i < COUNT(bad); i++)
        cr_expect_eq(sl_version_parse(bad[i]), 0, "%s", bad[i]);
}

Test(model_names, the_next_version_is_one_after_the_highest)
{
    static const char *const names[] = {"3", "1795775185", "09999999999", "v99999999999", ".tmp"};
    char directory[PATH_MAX], path[PATH_MAX];
    test_directory_create(directory);
    cr_expect_eq(sl_version_next(directory), 1);
    for (size_t i = 0; i < COUNT(names); i++)
        cr_assert_eq(mkdir(test_path(path, directory, names[i]), 0700), 0);
    cr_expect_eq(sl_version_latest(directory), 1795775185);
    cr_expect_eq(sl_version_next(directory), 1795775186);
    cr_assert_eq(mkdir(test_path(path, directory, "9223372036854775807"), 0700), 0);
    cr_expect_eq(sl_version_next(directory), 0);
    cr_expect_eq(sl_version_next("/nonexistent"), 1);
    test_directory_remove(directory);
}
