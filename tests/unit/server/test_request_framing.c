/* test_request_framing.c - what is passed on does not depend on how the bytes arrive. */
#include "http/request_framing.h"
#include "support/raw_requests.h"
#include "support/test.h"

struct outcome {
    struct sv_framing framing;
    size_t passed;
};

/* In two parts, the first of which has `first` bytes. What is not passed on comes again. */
static struct outcome read_in_parts(const struct raw_request *r, size_t first)
{
    struct outcome o = {0};
    char *bytes = malloc(r->count + 1);
    cr_assert(bytes);
    memcpy(bytes, r->bytes, r->count);
    o.passed = sv_framing_read(&o.framing, bytes, first);
    if (o.framing.state != SV_FRAMING_FAILED)
        o.passed += sv_framing_read(&o.framing, bytes + o.passed, r->count - o.passed);
    free(bytes);
    return o;
}

Test(request_framing, every_cut_gives_the_same)
{
    for (int i = 0; raw_requests[i].bytes; i++) {
        const struct raw_request *r = &raw_requests[i];
        struct outcome whole = read_in_parts(r, r->count);
        for (size_t first = 0; first < r->count; first++) {
            struct outcome parts = read_in_parts(r, first);
            cr_assert_eq(parts.passed, whole.passed, "row %d, cut at %zu", i, first);
            cr_assert_eq(parts.framing.state, whole.framing.state, "row %d, cut at %zu", i, first);
            cr_assert_eq(parts.framing.message, whole.framing.message, "row %d", i);
            cr_assert_eq(parts.framing.heads, whole.framing.heads, "row %d", i);
        }
        cr_assert_eq(whole.framing.state == SV_FRAMING_FAILED, r->what != NULL, "row %d", i);
    }
}

Test(request_framing, an_error_is_answered_in_the_api_of_its_path)
{
    static const struct {
        const char *request, *substitute;
    } cases[] = {
        {"GET /v1/models HTTP/1.1\r\n: x\r\n", "GET /v1 HTTP/1.0\r\n\r\n"},
        {"GET /v2?x HTTP/1.1\r\n: x\r\n", "GET /v2 HTTP/1.0\r\n\r\n"},
        {"GET /V1 HTTP/1.1\r\n: x\r\n", "GET / HTTP/1.0\r\n\r\n"},
        {"GET /abcdefghijklmnopqrstuvwxyz/ HTTP/1.1\r\n: x\r\n", "GET / HTTP/1.0\r\n\r\n"},
        {"\r\n\n", "GET / HTTP/1.0\r\n\r\n"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char bytes[128], out[SV_FRAMING_SUBSTITUTE_MAX] = "";
        struct sv_framing f = {0};
        (void)snprintf(bytes, sizeof bytes, "%s", cases[i].request);
        (void)sv_framing_read(&f, bytes, strlen(bytes));
        cr_assert_eq(f.state, SV_FRAMING_FAILED);
        cr_assert_eq(f.heads, 1);
        cr_assert_eq(sv_framing_substitute(&f, out), strlen(cases[i].substitute));
        cr_assert_str_eq(out, cases[i].substitute);
    }
}
