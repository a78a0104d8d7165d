/* test_tokenize_http.c - what sluiced answers about tokens as Text Embeddings Inference asks for
 * them: texts to tokens with their places, and back. */
#include "base/buffer.h"
#include "core/limits.h"
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/json_query.h"
#include "support/raw_socket.h"
#include "support/tei_client.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"

#include <pthread.h>

static struct daemon d;

static void start(void)
{
    daemon_make_store(&d);
    tiny_classifiers_make(d.store);
    tiny_others_make(d.store);
    daemon_serve(&d, (const char *const[]){"--default-classifier", MOOD, NULL});
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(tokens_http, .init = start, .fini = stop);

static json_t *posted(const char *path, const char *body)
{
    return tei_post(&d, path, body);
}

/* A token as it should be. */
struct wanted {
    const char *text;
    int start, stop; /* bytes; -1: it is a special one, which is nowhere */
};

static void expect_tokens(const json_t *list, const struct wanted *wanted, size_t count)
{
    cr_assert_eq(json_array_size(list), count);
    for (size_t i = 0; i < count; i++) {
        const json_t *token = json_array_get(list, i);
        bool special = wanted[i].start < 0;
        cr_assert_str_eq(json_string_at(token, "text"), wanted[i].text, "token %zu", i);
        cr_assert_eq(json_is_true(json_at(token, "special")), special, "token %zu", i);
        cr_assert_eq(json_is_null(json_at(token, "start")), special, "token %zu", i);
        cr_assert_eq(json_is_null(json_at(token, "stop")), special, "token %zu", i);
        cr_assert(special || json_number_at(token, "start") == wanted[i].start, "token %zu", i);
        cr_assert(special || json_number_at(token, "stop") == wanted[i].stop, "token %zu", i);
    }
}

/* Asks for the tokens of one text. */
#define EXPECT_TOKENS(path, body, ...)                                                             \
    do {                                                                                           \
        const struct wanted wanted[] = {__VA_ARGS__};                                              \
        json_t *root = posted(path, body);                                                         \
        cr_assert_eq(json_array_size(root), 1);                                                    \
        expect_tokens(json_at(root, "0"), wanted, sizeof wanted / sizeof wanted[0]);               \
        json_decref(root);                                                                         \
    } while (0)

/* As TEI says it: in bytes of the text as UTF-8. */
Test(tokens_http, tokens_say_where_in_the_text_they_are)
{
    EXPECT_TOKENS("/tokenize", "{\"inputs\":\"a\\u20acb\"}", {"a", 0, 1}, {"\u20ac", 1, 4},
                  {"b", 4, 5});
    EXPECT_TOKENS("/models/plain/tokenize", "{\"inputs\":[\"\\u00c9a C.\"]}", {"[CLS]", -1, -1},
                  {"\u00c9", 0, 2}, {"a", 2, 3}, {"C", 4, 5}, {".", 5, 6}, {"[SEP]", -1, -1});
    EXPECT_TOKENS("/tokenize?model=plain", "{\"inputs\":\"ab\",\"add_special_tokens\":false}",
                  {"a", 0, 1}, {"b", 1, 2});
    /* Models that complete have tokens too. */
    EXPECT_TOKENS("/models/tiny/tokenize", "{\"inputs\":\"ab\"}", {"a", 0, 1}, {"b", 1, 2});
    json_t *root = posted("/models/plain/tokenize", "{\"inputs\":[\"ab\",\"C.\"]}");
    cr_assert_eq(json_array_size(root), 2);
    cr_assert_str_eq(json_string_at(root, "0/2/text"), "b");
    cr_assert_str_eq(json_string_at(root, "1/1/text"), "C");
    json_decref(root);
}

/* A text cannot be cut within a character, so its bytes have the place of all of it. */
Test(tokens_http, a_byte_token_has_the_offsets_of_its_character)
{
    EXPECT_TOKENS("/models/raw/tokenize", "{\"inputs\":\"a\\u20acb\\ud83d\\ude00\"}", {"a", 0, 1},
                  {"\u20ac", 1, 4}, {"\u20ac", 1, 4}, {"\u20ac", 1, 4}, {"b", 4, 5},
                  {"\U0001f600", 5, 9}, {"\U0001f600", 5, 9}, {"\U0001f600", 5, 9},
                  {"\U0001f600", 5, 9});
}

Test(tokens_http, tokens_decode_to_texts)
{
    json_t *tokens = posted("/models/plain/tokenize", "{\"inputs\":\"ab c\"}");
    char body[256] = "{\"ids\":[";
    for (size_t i = 0; i < json_array_size(json_at(tokens, "0")); i++)
        (void)snprintf(body + strlen(body), sizeof body - strlen(body), "%s%d", i ? "," : "",
                       (int)json_integer_value(
                           json_object_get(json_array_get(json_at(tokens, "0"), i), "id")));
    size_t end = strlen(body);
    (void)snprintf(body + end, sizeof body - end, "]}");
    json_t *root = posted("/models/plain/decode", body);
    cr_assert_eq(json_array_size(root), 1);
    cr_assert_str_eq(json_string_at(root, "0"), "ab c");
    json_decref(root);
    (void)snprintf(body + end, sizeof body - end, "],\"skip_special_tokens\":false}");
    root = posted("/models/plain/decode", body);
    cr_assert_str_eq(json_string_at(root, "0"), "[CLS] ab c [SEP]");
    json_decref(root);
    root = posted("/models/plain/decode", "{\"ids\":[[9],[10,36],[9,5,10,8]]}");
    cr_assert_eq(json_array_size(root), 3);
    cr_assert_str_eq(json_string_at(root, "1"), "bb");
    cr_assert_str_eq(json_string_at(root, "2"), "a. b!");
    json_decref(root);
    json_decref(tokens);
}

Test(tokens_http, the_tokens_of_one_decode_request_are_bounded)
{
    struct sl_buffer body = {0};
    sl_buffer_append_string(&body, "{\"ids\":[[9");
    for (int i = 0; i < SV_TOKENIZE_TOKENS_MAX; i++)
        sl_buffer_append_string(&body, ",9");
    sl_buffer_append_string(&body, "]]}");
    struct http_response answer = http_request(&d, "POST", "/models/plain/decode", body.data);
    tei_expect_error(&answer, 422, "validation",
                     "'ids' has 262145 token ids; one response has at most");
    sl_buffer_release(&body);
}

Test(tokens_http, empty_inputs_are_reported)
{
    static const struct {
        const char *path, *body, *part;
    } cases[] = {
        {"/tokenize", "{\"inputs\":\"\"}", "'inputs' is an empty text"},
        {"/models/plain/tokenize", "{\"inputs\":[\"\"]}", "'inputs[0]' is an empty text"},
        {"/models/tiny/tokenize", "{\"inputs\":[\"a\",\"\"]}", "'inputs[1]' is an empty text"},
        {"/tokenize", "{\"inputs\":[]}", "'inputs' is an empty array"},
        {"/decode", "{\"ids\":[]}", "'ids' is an empty array"},
        {"/decode", "{\"ids\":[[]]}", "'ids[0]' is an empty array"},
        {"/models/plain/decode", "{\"ids\":[[9],[10,36],[]]}", "'ids[2]' is an empty array"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_response answer = http_request(&d, "POST", cases[i].path, cases[i].body);
        tei_expect_error(&answer, 400, "empty", cases[i].part);
    }
    json_decref(posted("/tokenize", "{\"inputs\":\" \"}"));
}

/* The most memory that the daemon has had so far. */
static long peak_kib(void)
{
    char path[64], line[256];
    long kib = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)d.pid);
    FILE *file = fopen(path, "re");
    cr_assert(file, "%s", path);
    while (kib == 0 && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    (void)fclose(file);
    return kib;
}

/* So many tokens fit into one answer; of more, no more than those are made. */
Test(tokens_http, the_tokens_of_one_response_are_bounded)
{
    enum { BYTES = 2000000, SLACK_KIB = 24 << 10 };

    char *text = malloc(BYTES + 1);
    struct sl_buffer body = {0};
    cr_assert(text);
    memset(text, 'a', BYTES);
    text[BYTES] = '\0';
    sl_buffer_printf(&body, "{\"inputs\":[\"a\",\"%.*s\"]}", SV_TOKENIZE_TOKENS_MAX, text);
    struct http_response answer = http_request(&d, "POST", "/tokenize", body.data);
    tei_expect_error(&answer, 422, "validation", "'inputs' has more than 262144 tokens");
    sl_buffer_clear(&body);
    sl_buffer_printf(&body, "{\"inputs\":[\"a\",\"%.*s\"]}", SV_TOKENIZE_TOKENS_MAX - 1, text);
    json_t *root = posted("/tokenize", body.data);
    cr_assert_eq(json_array_size(json_at(root, "1")), SV_TOKENIZE_TOKENS_MAX - 1);
    json_decref(root);
    long before = peak_kib();
    sl_buffer_clear(&body);
    sl_buffer_printf(&body, "{\"inputs\":[\"a\",\"%s\"]}", text);
    answer = http_request(&d, "POST", "/tokenize", body.data);
    tei_expect_error(&answer, 422, "validation", "'inputs' has more than 262144 tokens");
    cr_assert(TEST_SANITIZED || peak_kib() < before + SLACK_KIB, "from %ld to %ld KiB", before,
              peak_kib());
    sl_buffer_release(&body);
    free(text);
}

/* ---- many at once ---------------------------------------------------------------------------- */

enum { CALLS = TEST_SANITIZED ? 8 : 32, TEXTS = 256, TEXT_BYTES = 7000 };

/* A request of almost 2 MiB. */
static void write_large(struct sl_buffer *request)
{
    struct sl_buffer body = {0};
    for (int i = 0; i < TEXTS; i++)
        sl_buffer_printf(&body, "%s\"%0*d\"", i ? "," : "{\"inputs\":[", TEXT_BYTES, 0);
    sl_buffer_append_string(&body, "],\"unknown_characters\":\"replace\"}");
    sl_buffer_printf(request,
                     "POST /models/mood/tokenize HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     body.bytes, body.data);
    sl_buffer_release(&body);
}

static void *send_call(void *context)
{
    const struct sl_buffer *request = context;
    struct sl_buffer got = {0};
    int fd = raw_connect(&d);
    raw_send(fd, request->data);
    bool answered = raw_read_until(fd, &got, "\r\n\r\n");
    long status = answered ? strtol(got.data + strlen("HTTP/1.1 "), NULL, 10) : 0;
    sl_buffer_release(&got);
    (void)close(fd);
    return (void *)(intptr_t)status;
}

/* Beyond SV_TEXT_WORK_BYTES_MAX they are rejected before they are parsed, and what was admitted is
 * given back at the end. */
Test(tokens_http, a_flood_of_texts_is_rejected_by_its_bytes)
{
    static pthread_t threads[CALLS];
    struct sl_buffer request = {0};
    int done = 0, rejected = 0;
    write_large(&request);
    for (int i = 0; i < CALLS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, send_call, &request), 0);
    for (int i = 0; i < CALLS; i++) {
        void *status;
        cr_assert_eq(pthread_join(threads[i], &status), 0);
        done += (intptr_t)status == 422; /* too many tokens for one response */
        rejected += (intptr_t)status == 429;
    }
    cr_assert_eq(done + rejected, CALLS);
    cr_assert_gt(done, 0);
    cr_assert_gt(rejected, 0);
    metric_wait(&d, "sluice_requests_in_flight", 0);
    cr_assert_eq((long)(intptr_t)send_call(&request), 422);
    sl_buffer_release(&request);
    json_decref(posted("/models/mood/tokenize", "{\"inputs\":\"ab\"}"));
}
