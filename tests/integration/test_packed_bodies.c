/* test_packed_bodies.c - requests with Content-Encoding: gzip, sound, damaged and too large. */
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/model_fixture.h"
#include "support/test.h"

#include <stdlib.h>
#include <zlib.h>

enum { PACKED_MAX = 1 << 16, GZIP = 16, BODY_MAX = 100000 };

static struct daemon d;

static void start(void)
{
    DAEMON_START(&d, "--max-body-bytes", "100000");
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(packed_bodies, .init = start, .fini = stop);

struct packed {
    char bytes[PACKED_MAX];
    size_t count;
};

static void pack(struct packed *to, const char *text, size_t count)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)text,
                  .avail_in = (unsigned)count,
                  .next_out = (unsigned char *)to->bytes + to->count,
                  .avail_out = (unsigned)(sizeof to->bytes - to->count)};
    cr_assert_eq(deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    to->count += z.total_out;
    cr_assert_eq(deflateEnd(&z), Z_OK);
}

static struct http_response send_packed(const struct packed *body, const char *encoding)
{
    char url[128];
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    headers = curl_slist_append(headers, encoding);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d/v1/completions", d.port);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)body->count);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->bytes);
    struct http_response response = http_perform(curl);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return response;
}

static void expect(const struct packed *body, const char *encoding, long status, const char *part)
{
    struct http_response response = send_packed(body, encoding);
    cr_assert_eq(response.status, status, "%ld: %s", response.status, response.body.data);
    cr_assert(strstr(response.body.data, part), "'%s' lacks '%s'", response.body.data, part);
    http_response_release(&response);
}

static const char request[] = "{\"model\":\"tiny\",\"prompt\":\"ab\",\"max_tokens\":2,\"seed\":1}";

Test(packed_bodies, are_unpacked)
{
    struct packed body = {.count = 0};
    pack(&body, request, strlen(request));
    expect(&body, "Content-Encoding: gzip", 200, "\"choices\"");
    expect(&body, "Content-Encoding: X-GZIP", 200, "\"choices\"");
}

/* As gzip's own tools write them. */
Test(packed_bodies, may_have_several_members)
{
    struct packed body = {.count = 0};
    pack(&body, request, 20);
    pack(&body, request + 20, strlen(request) - 20);
    expect(&body, "Content-Encoding: gzip", 200, "\"choices\"");
}

Test(packed_bodies, what_is_damaged_is_named)
{
    struct packed body = {.count = 0}, text = {.count = sizeof request - 1};
    memcpy(text.bytes, request, text.count);
    expect(&text, "Content-Encoding: gzip", 400, "not valid gzip");
    pack(&body, request, strlen(request));
    body.count -= 4;
    expect(&body, "Content-Encoding: gzip", 400, "ends too early");
    body.bytes[body.count / 2] ^= 0x55;
    body.count += 4;
    expect(&body, "Content-Encoding: gzip", 400, "not valid gzip");
    body.count = 0;
    expect(&body, "Content-Encoding: gzip", 400, "The body is empty");
}

static void pack_blanks(struct packed *to, size_t blanks)
{
    size_t count = blanks + sizeof request - 1;
    char *text = malloc(count);
    cr_assert(text);
    memset(text, ' ', count);
    memcpy(text, request, sizeof request - 1);
    pack(to, text, count);
    free(text);
}

/* The bound is that of the body as it is read, so a few bytes cannot become millions. */
Test(packed_bodies, are_bounded_unpacked)
{
    struct packed fits = {.count = 0}, larger = {.count = 0}, bomb = {.count = 0};
    pack_blanks(&fits, BODY_MAX - strlen(request));
    pack_blanks(&larger, BODY_MAX + 1 - strlen(request));
    pack_blanks(&bomb, 50 << 20);
    expect(&fits, "Content-Encoding: gzip", 200, "\"choices\"");
    expect(&larger, "Content-Encoding: gzip", 413, "larger than 100000 bytes");
    expect(&bomb, "Content-Encoding: gzip", 413, "larger than 100000 bytes");
}

Test(packed_bodies, other_encodings_are_refused_with_those_that_are_not)
{
    struct packed body = {.count = sizeof request - 1};
    memcpy(body.bytes, request, body.count);
    expect(&body, "Content-Encoding: identity", 200, "\"choices\"");
    struct http_response response = send_packed(&body, "Content-Encoding: br");
    cr_assert_eq(response.status, 415);
    cr_assert(strstr(response.body.data, "accepted: gzip"), "%s", response.body.data);
    cr_assert_str_eq(http_response_header(&response, "Accept-Encoding"), "gzip");
    http_response_release(&response);
}
