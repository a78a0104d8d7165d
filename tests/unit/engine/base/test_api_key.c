/* test_api_key.c - keys and the lines of a keys file. */
#include "base/api_key.h"

#include "support/test.h"

#define HASH "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct sl_err err;

Test(api_key, new_keys_differ_and_are_accepted)
{
    char a[SL_API_KEY_BYTES + 1], b[SL_API_KEY_BYTES + 1];
    unsigned char of_a[SL_API_KEY_HASH_BYTES], of_b[SL_API_KEY_HASH_BYTES];
    EXPECT_OK(sl_api_key_create(a, &err), err);
    EXPECT_OK(sl_api_key_create(b, &err), err);
    cr_assert_eq(strlen(a), SL_API_KEY_BYTES);
    cr_assert_str_neq(a, b);
    EXPECT_OK(sl_api_key_check(a, &err), err);
    sl_api_key_hash(a, of_a);
    sl_api_key_hash(b, of_b);
    cr_assert(sl_api_key_hashes_equal(of_a, of_a));
    cr_assert_not(sl_api_key_hashes_equal(of_a, of_b));
}

/* NIST's example: anybody can compute the hash of a key with sha256sum. */
Test(api_key, the_hash_is_sha_256)
{
    struct sl_api_key key = {.name = "a", .scopes = 1u << SL_SCOPE_INFER};
    struct sl_buffer line = {0};
    sl_api_key_hash("abc", key.hash);
    sl_api_key_write(&key, &line);
    cr_assert_str_eq(line.data, "a infer sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb41"
                                "0ff61f20015ad\n");
    sl_buffer_release(&line);
}

Test(api_key, a_line_is_read_as_it_was_written)
{
    static const char *const lines[] = {
        "grafana metrics " HASH "\n",
        "ops@site.example metrics,infer,train,admin " HASH " expires=2027-02-28T23:59:59Z\n",
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct sl_api_key key;
        struct sl_buffer out = {0};
        char line[512];
        (void)snprintf(line, sizeof line, "%.*s", (int)strlen(lines[i]) - 1, lines[i]);
        EXPECT_OK(sl_api_key_read(&key, line, &err), err);
        sl_api_key_write(&key, &out);
        cr_assert_str_eq(out.data, lines[i]);
        sl_buffer_release(&out);
    }
    struct sl_api_key key;
    EXPECT_OK(sl_api_key_read(&key, " \tx\tinfer,infer  " HASH " expires=2000-01-02 ", &err), err);
    cr_assert_eq(key.scopes, 1u << SL_SCOPE_INFER);
    cr_assert_eq(key.expires, 946771200);
}

Test(api_key, bad_lines_say_what_is_expected)
{
    static const struct {
        const char *line, *part;
    } cases[] = {
        {"", "expected NAME SCOPES sha256:HASH"},
        {"x infer", "expected NAME SCOPES sha256:HASH"},
        {"x infer " HASH " 2027-01-01", "[expires=DATE], as `sluicectl keys create`"},
        {"x infer " HASH " expires=2027-01-01 y", "expected NAME"},
        {"x/y infer " HASH, "invalid name 'x/y'"},
        {"\"x\" infer " HASH, "invalid name '\"x\"'"},
        {"x Infer " HASH, "invalid scope 'Infer': expected one or more of metrics, infer, train, "
                          "admin; separate several with commas"},
        {"x infer, " HASH, "invalid scope ''"},
        {"x ,infer " HASH, "invalid scope ''"},
        {"x inferx " HASH, "invalid scope 'inferx'"},
        {"x infer sha512:00", "invalid hash"},
        {"x infer " HASH "0", "invalid hash"},
        {"x infer sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
         "in lower case"},
        {"x infer " HASH " expires=", "invalid date ''"},
        {"x infer " HASH " expires=2027-02-29", "invalid date '2027-02-29'"},
        {"x infer " HASH " expires=2027-1-01", "invalid date"},
        {"x infer " HASH " expires=2027-01-01T00:00:00", "YYYY-MM-DDThh:mm:ssZ"},
        {"x infer " HASH " expires=1969-01-01", "invalid date"},
        {"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz infer " HASH, "expected 1 to 47"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct sl_api_key key;
        EXPECT_FAIL(sl_api_key_read(&key, cases[i].line, &err), err, SL_BAD_INPUT, cases[i].part);
    }
}

/* A key in an error message would end in a log. */
Test(api_key, messages_do_not_repeat_keys)
{
    struct sl_api_key key;
    EXPECT_FAIL(sl_api_key_read(&key, "x infer secret", &err), err, SL_BAD_INPUT, "invalid hash");
    cr_assert_not(strstr(err.text, "secret"));
    EXPECT_FAIL(sl_api_key_check("secret", &err), err, SL_BAD_INPUT, "expected 32 to 512");
    cr_assert_not(strstr(err.text, "secret"));
    EXPECT_FAIL(sl_api_key_check("secret secret secret secret secret secret", &err), err,
                SL_BAD_INPUT, "byte 7");
    cr_assert_not(strstr(err.text, "secret"));
}
