/* test_multipart.c - forms read in pieces of every size, and what is refused. */
#include "api/multipart.h"
#include "base/buffer.h"
#include "support/test.h"

#define TYPE "multipart/form-data; boundary=xYz"

static bool on_begin(void *context, const char *name, const char *filename, struct sv_error *error)
{
    if (strcmp(name, "refused") == 0)
        return sv_fail(error, SV_UNKNOWN_PARAMETER, name, "refused");
    sl_buffer_printf(context, "[%s|%s]", name, filename ? filename : "-");
    return true;
}

static bool on_data(void *context, const char *bytes, size_t count, struct sv_error *error)
{
    (void)error;
    sl_buffer_append(context, bytes, count);
    return true;
}

/* Feeds a body in pieces of `step` bytes. Returns what the reader was told, or the error. */
static void read_form(const char *type, const char *body, size_t step, struct sl_buffer *out)
{
    struct sv_form form;
    struct sv_error error = {0};
    const struct sv_form_reader reader = {.context = out, .begin = on_begin, .data = on_data};
    size_t bytes = strlen(body);
    bool ok = sv_form_begin(&form, type, &reader, &error);
    for (size_t at = 0; ok && at < bytes; at += step)
        ok = sv_form_feed(&form, body + at, bytes - at < step ? bytes - at : step, &error);
    if (!ok || !sv_form_end(&form, &error))
        sl_buffer_printf(out, "!%s", error.message);
}

/* Whatever the pieces, the outcome is the same: the parts, or the words of an error. */
static void expect_outcome(const char *type, const char *body, const char *parts, const char *error)
{
    size_t bytes = strlen(body);
    for (size_t step = 1; step <= bytes + 1; step++) {
        struct sl_buffer out = {0};
        read_form(type, body, step, &out);
        const char *have = out.data ? out.data : "";
        const char *told = strchr(have, '!');
        bool same = error ? told && strstr(told, error) : strcmp(have, parts) == 0;
        cr_assert(same, "pieces of %zu: '%s', not '%s'", step, have, error ? error : parts);
        sl_buffer_release(&out);
    }
}

static void expect(const char *type, const char *body, const char *parts)
{
    expect_outcome(type, body, parts, NULL);
}

static void expect_error(const char *type, const char *body, const char *error)
{
    expect_outcome(type, body, NULL, error);
}

#define HEAD(rest) "Content-Disposition: form-data; " rest "\r\n\r\n"

Test(multipart, parts_and_their_names)
{
    /* clang-format off */
    static const char body[] =
        "--xYz\r\n" HEAD("name=\"purpose\"") "fine-tune\r\n"
        "--xYz\r\ncontent-type: text/plain\r\n" HEAD("name=\"file\"; filename=\"C:\\\\a\\\\b\"")
        "a\tb\r\n\r\n--xY\r\n--xYz--\r\nepilogue";
    /* clang-format on */
    expect(TYPE, body, "[purpose|-]fine-tune[file|b]a\tb\r\n\r\n--xY");
    expect("Multipart/Form-Data; charset=utf-8; boundary=\"x Y\"",
           "preamble\r\n--x Y \r\n" HEAD("filename=x; name=n") "\r\r\n\r\r\n--x Y--",
           "[n|x]\r\r\n\r");
    expect(TYPE, "--xYz--", "");
}

Test(multipart, what_is_refused)
{
    expect_error("application/json", "", "must be multipart/form-data");
    expect_error("multipart/form-data", "", "boundary");
    expect_error("multipart/form-data; boundary=", "", "boundary");
    expect_error(TYPE, "", "ends before");
    expect_error(TYPE, "--xYz\r\n" HEAD("name=a") "text", "ends before");
    expect_error(TYPE, "--xYzabc\r\n", "not followed");
    expect_error(TYPE, "--xYz\r\n\r\ntext\r\n--xYz--", "no Content-Disposition");
    expect_error(TYPE, "--xYz\r\n" HEAD("filename=a") "text\r\n--xYz--", "no valid name");
    expect_error(TYPE, "--xYz\r\n" HEAD("name=\"\xff\"") "text\r\n--xYz--", "no valid name");
    expect_error(TYPE, "--xYz\r\n" HEAD("name=refused") "text\r\n--xYz--", "refused");
}

Test(multipart, heads_and_parts_are_bounded)
{
    struct sl_buffer body = {0}, out = {0};
    sl_buffer_append_string(&body, "--xYz\r\nx:");
    for (int i = 0; i < SV_PART_HEAD_MAX; i++)
        sl_buffer_append_string(&body, "y");
    read_form(TYPE, body.data, body.bytes, &out);
    cr_assert(strstr(out.data, "too long"), "%s", out.data);
    sl_buffer_clear(&body);
    sl_buffer_clear(&out);
    for (int i = 0; i <= SV_PARTS_IN_FORM_MAX; i++)
        sl_buffer_append_string(&body, "--xYz\r\n" HEAD("name=a") "\r\n");
    read_form(TYPE, body.data, body.bytes, &out);
    cr_assert(strstr(out.data, "too many parts"), "%s", out.data);
    sl_buffer_release(&body);
    sl_buffer_release(&out);
}
