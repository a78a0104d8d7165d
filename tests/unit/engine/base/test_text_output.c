/* test_text_output.c - what all programs write with: buffers, JSON, lists, characters. */
#include "base/buffer.h"
#include "base/comma_list.h"
#include "base/json_writer.h"
#include "base/random.h"
#include "base/utf8.h"
#include "cli/report/report_html.h"
#include "support/test.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(writing, a_buffer_takes_what_it_is_given_up_to_its_bound)
{
    struct sl_err err = {0};
    struct sl_buffer b = {.bytes_max = 12};
    sl_buffer_printf(&b, "%s-%d", "ab", 7);
    sl_buffer_append_int(&b, INT64_C(-42));
    sl_buffer_append_float(&b, 0.1f);
    cr_assert_str_eq(b.data, "ab-7-420.1");
    cr_assert(sl_buffer_check(&b, &err));
    sl_buffer_append_string(&b, "xyz");
    cr_assert_str_eq(b.data, "ab-7-420.1", "a piece that does not fit leaves all as it was");
    cr_assert(b.failed && b.is_full);
    cr_assert_not(sl_buffer_check(&b, &err));
    cr_assert_str_eq(err.text, "more than 12 bytes");
    sl_buffer_release(&b);
    cr_assert_null(b.data);
    cr_assert_eq(b.bytes_max, 12);
}

Test(writing, json_has_its_commas_and_nothing_else)
{
    struct sl_buffer out = {0};
    struct sl_json_writer json = {.out = &out};
    sl_json_begin_object(&json);
    sl_json_add_string(sl_json_key(&json, "a\"b"), "line\nbreak \x01 \xC3\xA9 \xFF");
    sl_json_add_string(sl_json_key(&json, "none"), NULL);
    sl_json_begin_array(sl_json_key(&json, "list"));
    sl_json_add_int(&json, INT64_MIN);
    sl_json_begin_array(&json);
    sl_json_end_array(&json);
    sl_json_begin_object(&json);
    sl_json_end_object(&json);
    sl_json_add_raw(&json, "1,2", 3);
    sl_json_printf(&json, "%.2f", 0.5);
    sl_json_end_array(&json);
    sl_json_add_bool(sl_json_key(&json, "yes"), true);
    sl_json_end_object(&json);
    cr_assert_str_eq(out.data, "{\"a\\\"b\":\"line\\nbreak \\u0001 \xC3\xA9 \xEF\xBF\xBD\","
                               "\"none\":null,\"list\":[-9223372036854775808,[],{},1,2,0.50],"
                               "\"yes\":true}");
    cr_assert_eq(json.depth, 0);
    sl_buffer_release(&out);
}

Test(writing, json_from_a_template_is_the_same_as_piece_by_piece)
{
    struct sl_buffer out = {0};
    struct sl_json_writer json = {.out = &out};
    const char *volatile none = NULL;
    sl_json_add(&json, "{'a':%s,'none':%s,%s:[%d,%lld,%zu,-1", "x\"y", none, "li\"st", -7,
                (long long)INT64_MIN, SIZE_MAX >> 1);
    sl_json_add(&json, "%i,%i,null,[],{}],'part':%.*s,'text':'it, [is] {so}'", true, false, 2,
                "abc");
    sl_json_add(&json, "'reals':[%f,%.4f,%g,%.6g,%f,%.1f],'next':", (double)(1.0f / 3.0f), 0.5,
                1e-7, 1.0 / 3.0, (double)NAN, (double)INFINITY);
    sl_json_add_bool(&json, true);
    sl_json_add(&json, "}");
    cr_assert_str_eq(out.data,
                     "{\"a\":\"x\\\"y\",\"none\":null,\"li\\\"st\":[-7,-9223372036854775808,"
                     "9223372036854775807,-1,true,false,null,[],{}],\"part\":\"ab\","
                     "\"text\":\"it, [is] {so}\",\"reals\":[0.33333334,0.5000,1e-07,0.333333,"
                     "null,null],\"next\":true}");
    cr_assert_eq(json.depth, 0);
    sl_buffer_release(&out);
}

Test(writing, json_in_lines_has_them_down_to_a_depth)
{
    struct sl_buffer out = {0};
    struct sl_json_writer json = {.out = &out, .line_depth = 2};
    sl_json_begin_object(&json);
    sl_json_add_int(sl_json_key(&json, "a"), 1);
    sl_json_begin_array(sl_json_key(&json, "b"));
    sl_json_begin_object(&json);
    sl_json_add_int(sl_json_key(&json, "c"), 2);
    sl_json_add_int(sl_json_key(&json, "d"), 3);
    sl_json_end_object(&json);
    sl_json_end_array(&json);
    sl_json_begin_object(sl_json_key(&json, "e"));
    sl_json_end_object(&json);
    sl_json_end_object(&json);
    cr_assert_str_eq(out.data, "{\n"
                               "  \"a\": 1,\n"
                               "  \"b\": [\n"
                               "    {\"c\": 2, \"d\": 3}\n"
                               "  ],\n"
                               "  \"e\": {}\n"
                               "}");
    sl_buffer_release(&out);
}

Test(writing, numbers_in_json_are_the_shortest_that_read_back)
{
    struct sl_buffer out = {0};
    struct sl_json_writer json = {.out = &out};
    sl_json_begin_array(&json);
    sl_json_add_real(&json, 0.1);
    sl_json_add_real(&json, 1.0 / 3.0);
    sl_json_add_real(&json, (double)NAN);
    sl_json_add_float(&json, 1.0f / 3.0f);
    sl_json_add_float(&json, INFINITY);
    sl_json_end_array(&json);
    cr_assert_str_eq(out.data, "[0.1,0.3333333333333333,null,0.33333334,null]");
    sl_buffer_release(&out);
}

/* The fewest of 6 to 9 digits that read back, as printf writes them. */
static void expect_shortest(float value)
{
    char digits[32];
    struct sl_buffer out = {0};
    for (int count = 6; count <= 9; count++) {
        (void)snprintf(digits, sizeof digits, "%.*g", count, (double)value);
        if (strtof(digits, NULL) == value)
            break;
    }
    sl_buffer_append_float(&out, value);
    cr_assert_str_eq(out.data, digits);
    sl_buffer_release(&out);
}

Test(writing, floats_of_every_size_are_the_shortest_that_read_back)
{
    static const float some[] = {0.0f, -0.0f,  1.0f,      1e-4f,  9.9999e-5f,  0.00012345f,
                                 0.1f, 1e5f,   99999.99f, 123.5f, 0.99999994f, 9.999999f,
                                 1e6f, -1e-3f, 0.5f,      1e-30f, 16777216.0f, 65536.0f};
    uint64_t key = sl_random_key(7, "floats");
    for (size_t i = 0; i < COUNT(some); i++)
        expect_shortest(some[i]);
    for (uint64_t i = 0; i < 200000; i++) {
        double size = pow(10.0, 12.0 * sl_random_uniform(key, 2 * i) - 6.0);
        expect_shortest((float)(size * (2.0 * sl_random_uniform(key, 2 * i + 1) - 1.0)));
    }
}

Test(writing, a_list_that_is_too_long_ends_with_dots_and_never_inside_an_item)
{
    static const char *const items[] = {"first", "second", "third", "fourth", NULL};
    char list[32] = "", roomy[64] = "", quoted[64] = "";
    cr_assert_str_eq(sl_list_join(list, sizeof list, items), "first, second, third, ...");
    sl_list_add(list, sizeof list, "x");
    cr_assert_str_eq(list, "first, second, third, ...");
    cr_assert_str_eq(sl_list_join(roomy, sizeof roomy, items), "first, second, third, fourth");
    sl_list_add_quoted(quoted, sizeof quoted, "a");
    sl_list_add_quoted(quoted, sizeof quoted, "b");
    cr_assert_str_eq(quoted, "'a', 'b'");
}

Test(writing, utf8_is_strict)
{
    static const char *const bad[] = {
        "\xC0\x80",         "\x80",        "\xE2\x82", "\xED\xA0\x80", "\xF4\x90\x80\x80",
        "\xF8\x88\x80\x80", "\xE0\x80\xAF"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(sl_utf8_length(bad[i], strlen(bad[i])), 0, "case %zu", i);
        cr_expect_eq(sl_utf8_step(bad[i], strlen(bad[i])), 1, "case %zu", i);
    }
    for (uint32_t point = 0; point < SL_CODE_POINTS; point++) {
        char text[SL_UTF8_MAX];
        size_t at = 0, bytes = sl_utf8_put(point, text);
        uint32_t back = 0;
        bool surrogate = point >= 0xD800 && point < 0xE000;
        cr_assert_eq(sl_utf8_next(text, bytes, &at, &back), !surrogate, "U+%04X", point);
        cr_assert(surrogate || (back == point && at == bytes), "U+%04X", point);
        for (size_t cut = 1; cut < bytes; cut++)
            cr_assert_eq(sl_utf8_incomplete(text, cut), cut, "U+%04X", point);
        cr_assert_eq(sl_utf8_incomplete(text, bytes), 0, "U+%04X", point);
    }
}

Test(writing, an_error_keeps_its_innermost_location_in_fields)
{
    struct sl_err err;
    cr_assert_not(sl_fail(&err, SL_IO, "No such file"));
    cr_assert_str_eq(sl_err_reason(&err), "No such file");
    cr_assert_eq(err.index, -1);
    (void)sl_err_set_path(&err, "/a/b");
    (void)sl_wrap(&err, "open '/a/b'");
    (void)sl_err_set_path(&err, "/a");
    (void)sl_err_set_place(&err, 3, 7);
    (void)sl_err_set_place(&err, 1, 1);
    (void)sl_err_set_field(&err, "slots");
    (void)sl_wrap(&err, "load");
    cr_assert_str_eq(err.text, "load: open '/a/b': No such file");
    cr_assert_str_eq(err.path, "/a/b");
    cr_assert_str_eq(sl_err_reason(&err), "No such file");
    cr_assert(err.line == 3 && err.column == 7 && err.index == -1);
    cr_assert_str_eq(err.field, "slots");
    cr_assert_not(sl_fail(&err, SL_IO, "other"));
    (void)sl_err_set_reason(&err);
    (void)sl_wrap(&err, "standard input");
    (void)sl_err_set_reason(&err);
    cr_assert_str_eq(sl_err_reason(&err), "other", "the first stays");
    cr_assert_not(sl_fail(&err, SL_IO, "other"));
    cr_assert(!err.path[0] && !err.field[0] && err.line == 0 && err.index == -1);
}

Test(writing, an_error_in_a_file_says_where)
{
    struct sl_err err;
    cr_assert_not(sl_fail(&err, SL_BAD_INPUT, "no label"));
    cr_assert_not(sl_wrap_file(&err, "a.tsv", 3));
    cr_assert_not(sl_wrap_file(&err, "b.tsv", 0));
    cr_assert_str_eq(err.text, "'b.tsv': 'a.tsv' line 3: no label");
    cr_assert_str_eq(err.path, "a.tsv");
    cr_assert_eq(err.line, 3);
    cr_assert_str_eq(sl_err_reason(&err), "no label");
}

Test(writing, codes_have_names)
{
    for (int code = SL_BAD_INPUT; code <= SL_NOT_FINITE; code++)
        cr_assert_eq((int)sl_code_find(sl_code_name((enum sl_code)code)), code);
    cr_assert_eq(sl_code_find("terrible"), SL_OK);
}

Test(writing, a_field_is_called_as_the_caller_spells_it)
{
    struct sl_err err;
    cr_assert_not(sl_fail_value(&err, "learning_rate", "7", "expected at most %d", 1));
    cr_assert_eq(err.code, SL_BAD_INPUT);
    cr_assert_str_eq(err.field, "learning_rate");
    cr_assert_str_eq(err.text, "invalid learning_rate '7': expected at most 1");
    (void)sl_wrap(&err, "learning_rate of '%s'", "mood");
    cr_assert_not(sl_err_spell_field(&err, "--lr"));
    cr_assert_str_eq(err.text, "learning_rate of 'mood': invalid --lr '7': expected at most 1");
    (void)sl_err_spell_field(&err, "the learning rate");
    cr_assert_str_eq(err.text,
                     "learning_rate of 'mood': invalid the learning rate '7': expected at most 1");
    cr_assert_str_eq(err.field, "learning_rate");
}

Test(writing, only_a_value_has_a_field_to_spell)
{
    struct sl_err err;
    char name[2 * SL_ERR_TEXT_MAX];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)sl_fail_value(&err, "width", "7", "expected more");
    (void)sl_fail(&err, SL_IO, "width");
    (void)sl_err_spell_field(&err, "--width");
    cr_assert_str_eq(err.text, "width");
    (void)sl_fail_value(&err, "width", "7", "expected %s", name);
    (void)sl_wrap(&err, "%s", name); /* its middle, with the field, is cut out */
    char before[SL_ERR_TEXT_MAX];
    memcpy(before, err.text, sizeof before);
    (void)sl_err_spell_field(&err, "--width");
    cr_assert_str_eq(err.text, before);
    (void)sl_fail_value(&err, "width", name, "expected more");
    cr_assert_lt(strlen(err.text), 100, "a value is repeated whole");
    cr_assert_not(sl_fail_value(NULL, "width", "7", "expected more"));
    cr_assert_not(sl_err_spell_field(NULL, "--width"));
}

/* Cut at any byte, too: what is left is still shown as it is. */
Test(writing, html_shows_a_text_and_never_becomes_markup)
{
    static const char text[] = "<script>alert('x' & \"y\")</script>\n\tcaf\xC3\xA9 \xFF\xC3\x01";
    static const char shown[] =
        "&lt;script&gt;alert(&#39;x&#39; &amp; &quot;y&quot;)&lt;/script&gt;  "
        "caf\xC3\xA9 " SL_UTF8_REPLACEMENT SL_UTF8_REPLACEMENT SL_UTF8_REPLACEMENT;
    struct sl_buffer b = {0};
    sl_html_append(&b, text, sizeof text - 1);
    cr_assert_str_eq(b.data, shown);
    for (size_t bytes = 0; bytes < sizeof text; bytes++) {
        sl_buffer_clear(&b);
        sl_html_append(&b, text, bytes);
        cr_assert(bytes == 0 || !strpbrk(b.data, "<>\"'"), "%s", b.data);
        cr_assert(sl_utf8_is_valid(b.data ? b.data : "", b.bytes));
    }
    sl_buffer_release(&b);
}
