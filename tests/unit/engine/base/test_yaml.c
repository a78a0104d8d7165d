/* test_yaml.c - YAML as a tree: types, places, and files that are wrong or hostile. */
#include "base/yaml.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static char directory[PATH_MAX], path[PATH_MAX];

static void setup(void)
{
    test_directory_create(directory);
    test_path(path, directory, "x.yaml");
}

static void teardown(void)
{
    test_directory_remove(directory);
}

TestSuite(yaml, .init = setup, .fini = teardown);

static struct sl_yaml *open_text(const char *text, struct sl_err *err)
{
    static const struct sl_yaml_kind kind = {
        .name = "the example", .expected = "expected a mapping", .bytes_max = 4096};
    test_write_file(path, text);
    return sl_yaml_open(path, &kind, err);
}

Test(yaml, nested_values_are_read)
{
    struct sl_err err;
    struct sl_yaml *y = open_text("a: 1\nb:\n  - {c: x y}\n  - - z\nd: >-\n  p\n  q\n", &err);
    cr_assert(y, "%s", err.text);
    int root = sl_yaml_root(y);
    cr_assert_eq(sl_yaml_count(y, root), 3);
    cr_expect_str_eq(sl_yaml_key(y, root, 0, &err), "a");
    cr_expect_str_eq(sl_yaml_text(y, sl_yaml_item(y, root, 0), "a", &err), "1");
    int list = sl_yaml_item(y, root, 1);
    EXPECT_OK(sl_yaml_expect(y, list, SL_YAML_LIST, "b", &err), err);
    cr_assert_eq(sl_yaml_count(y, list), 2);
    int first = sl_yaml_item(y, list, 0);
    cr_expect_str_eq(sl_yaml_key(y, first, 0, &err), "c");
    cr_expect_str_eq(sl_yaml_text(y, sl_yaml_item(y, first, 0), "c", &err), "x y");
    cr_expect_str_eq(sl_yaml_text(y, sl_yaml_item(y, root, 2), "d", &err), "p q");
    cr_expect_not(sl_yaml_text(y, list, "b", &err));
    cr_expect(strstr(err.text, "x.yaml:3:3: b is a list; expected a mapping"), "%s", err.text);
    cr_expect_eq(err.line, 3);
    sl_yaml_close(y);
}

Test(yaml, an_empty_file_has_no_root)
{
    struct sl_err err;
    static const char *const texts[] = {"", "# nothing\n", "---\n...\n"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct sl_yaml *y = open_text(texts[i], &err);
        cr_assert(y, "%s", err.text);
        cr_expect_eq(sl_yaml_root(y), 0);
        sl_yaml_close(y);
    }
}

Test(yaml, broken_files_are_refused_with_their_place)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"a: [1\n", "x.yaml:2:1: did not find expected ',' or ']'; expected a mapping"},
        {"a: *b\n", "x.yaml:1:4: found undefined alias"},
        {"a: b\n---\nc: d\n", "x.yaml:2:1: a second document"},
        {"a: \xff\n", "x.yaml: byte 3"},
        {"a: \"b\n", "x.yaml:2:1"},
        {"\t- a\n", "a tab cannot indent"},
        {"a: !!binary [\n", "x.yaml:2:1"},
    };
    struct sl_err err;
    for (size_t i = 0; i < COUNT(cases); i++) {
        cr_assert_not(open_text(cases[i].text, &err), "%s", cases[i].text);
        cr_expect(strstr(err.text, cases[i].said), "%s", err.text);
    }
}

Test(yaml, keys_are_texts_and_occur_once)
{
    struct sl_err err;
    struct sl_yaml *y = open_text("a: 1\nb: 2\na: 3\n[c]: 4\n\"d\\0\": 5\n", &err);
    cr_assert(y, "%s", err.text);
    int root = sl_yaml_root(y);
    cr_expect_not(sl_yaml_key(y, root, 2, &err));
    cr_expect(strstr(err.text, "x.yaml:3:1: 'a' is already set in line 1"), "%s", err.text);
    cr_expect_not(sl_yaml_key(y, root, 3, &err));
    cr_expect(strstr(err.text, "x.yaml:4:1: a key is a list"), "%s", err.text);
    cr_expect_not(sl_yaml_key(y, root, 4, &err));
    cr_expect(strstr(err.text, "NUL"), "%s", err.text);
    sl_yaml_close(y);
}

/* A list that contains itself is a node like others. */
Test(yaml, a_circle_of_aliases_is_no_trap)
{
    struct sl_err err;
    struct sl_yaml *y = open_text("&a [x, *a]\n", &err);
    if (!y)
        return; /* libyaml may refuse it */
    int root = sl_yaml_root(y);
    cr_expect_eq(sl_yaml_count(y, root), 2);
    cr_expect_eq(sl_yaml_item(y, root, 1), root);
    sl_yaml_close(y);
}

Test(yaml, long_and_deep_files_are_refused)
{
    char text[5000];
    struct sl_err err;
    memset(text, '#', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cr_assert_not(open_text(text, &err));
    cr_expect(strstr(err.text, "cannot read the example") && strstr(err.text, "4096 bytes"), "%s",
              err.text);
    memset(text, '[', 4000);
    text[4000] = '\0';
    cr_assert_not(open_text(text, &err));
    cr_expect_eq(err.code, SL_BAD_INPUT, "%s", err.text);
}
