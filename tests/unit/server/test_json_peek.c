/* test_json_peek.c - a string of a body before it is parsed. */
#include "support/test.h"
#include "json/json_peek.h"

static const char *peek(const char *text, char found[static 16])
{
    const struct sl_buffer body = {.data = (char *)(uintptr_t)text, .bytes = strlen(text)};
    return sv_json_peek_string(&body, "model", found, 16) ? found : NULL;
}

Test(json_peek, finds_a_string_of_the_object_itself)
{
    static const char *const bodies[] = {
        "{\"model\":\"a b\"}",
        "  {\n\"model\" : \t\"a b\" ,",
        "{\"x\":1.5e3,\"y\":null,\"model\":\"a b\"}",
        "{\"prompt\":\"\\\"model\\\":\\\"no\\\",\\\\\",\"model\":\"a b\"}",
        "{\"in\":{\"model\":\"no\",\"b\":[1,{\"model\":\"no\"}]},\"model\":\"a b\"}",
        "{\"x\":[\"]}\",\"model\"],\"model\":\"a b\"",
    };
    char found[16];
    for (size_t i = 0; i < COUNT(bodies); i++) {
        cr_assert(peek(bodies[i], found), "%s", bodies[i]);
        cr_assert_str_eq(found, "a b", "%s", bodies[i]);
    }
}

Test(json_peek, finds_nothing_that_the_parser_might_not)
{
    static const char *const bodies[] = {
        "",
        "{",
        "{}",
        "[\"model\",\"a\"]",
        "\"model\":\"a\"",
        "{\"model\":\"a",
        "{\"model\":1}",
        "{\"model\":[\"a\"]}",
        "{\"model\" \"a\"}",
        "{\"mod\\u0065l\":\"a\"}",
        "{\"model\":\"\\u0061\"}",
        "{\"model\":\"0123456789abcdef\"}",
        "{\"x\":]\"model\":\"a\"}",
        "{\"x\":{\"model\":\"a\"}}",
        "{\"x\":\"\\\",\"model\":\"a\"}",
        "{\"x\":1 \"model\":\"a\"}",
        "{x,\"model\":\"a\"}",
    };
    char found[16];
    for (size_t i = 0; i < COUNT(bodies); i++)
        cr_assert_null(peek(bodies[i], found), "%s: %s", bodies[i], found);
    char text[] = "{\"model\":\"a\0b\"}";
    const struct sl_buffer nul = {.data = text, .bytes = sizeof text - 1};
    cr_assert_not(sv_json_peek_string(&nul, "model", found, sizeof found));
}

/* The longest that fits. */
Test(json_peek, the_capacity_includes_the_end)
{
    char found[16];
    cr_assert_str_eq(peek("{\"model\":\"0123456789abcde\"}", found), "0123456789abcde");
}
