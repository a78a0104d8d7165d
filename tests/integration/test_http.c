/* test_http.c - what sluiced answers: every route, every mistake, from outside. */
#include "api/endpoints.h"
#include "base/buffer.h"
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/json_query.h"
#include "support/raw_socket.h"
#include "support/test.h"
#include "support/tiny_store.h"

#include <sys/socket.h>

#define TINY   "\"model\":\"" TINY_MODEL "\","
#define STREAM TINY "\"stream\":true,"

static struct daemon d;

static void start(void)
{
    DAEMON_START(&d, "--max-body-bytes", "65536");
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(http, .init = start, .fini = stop);

/* ---- helpers -------------------------------------------------------------------------------- */

/* Completes well; the parsed answer. */
static json_t *completed(const char *body)
{
    struct http_response answer = http_complete(&d, body);
    cr_assert_eq(answer.status, 200, "%s: %s", body, answer.body.data);
    json_t *root = json_from_response(&answer);
    http_response_release(&answer);
    return root;
}

/* The text of one choice of a stream, and its number of finish reasons. */
static void gather(const char *events, int choice, char *text, size_t room, int *finishes)
{
    *finishes = 0;
    text[0] = '\0';
    for (const char *event = events; (event = strstr(event, "data: {")); event++) {
        json_t *root = json_loads(event + 6, JSON_DISABLE_EOF_CHECK, NULL);
        const json_t *first = json_at(root, "choices/0"), *finish = json_at(first, "finish_reason");
        cr_assert(root, "%.200s", event);
        if (first && json_integer_value(json_at(first, "index")) == choice) {
            size_t used = strlen(text);
            (void)snprintf(text + used, room - used, "%s", json_string_at(first, "text"));
            *finishes += json_is_string(finish);
        }
        json_decref(root);
    }
}

static void tei_expect_error(struct http_response *answer, long status, const char *param,
                             const char *code)
{
    json_t *root = json_from_response(answer);
    cr_assert_eq(answer->status, status, "%ld: %s", answer->status, answer->body.data);
    cr_assert_eq(json_object_size(json_at(root, "error")), 4, "%s", answer->body.data);
    cr_assert_str_eq(json_string_at(root, "error/code"), code);
    cr_assert_gt(strlen(json_string_at(root, "error/message")), 10);
    cr_assert(json_at(root, "error/type"));
    if (param)
        cr_assert_str_eq(json_string_at(root, "error/param"), param);
    else
        cr_assert(json_is_null(json_at(root, "error/param")));
    cr_assert(http_response_header(answer, "x-request-id"));
    json_decref(root);
    http_response_release(answer);
}

/* ---- what is there -------------------------------------------------------------------------- */

Test(http, front_page_and_health)
{
    static const struct {
        const char *path, *part;
    } cases[] = {
        {"/", "\"name\":\"sluice\""},
        {"/", "\"path\":\"/v1/completions\""},
        {"/v2/health/live", "{\"live\":true}"},
        {"/v2/health/ready", "{\"ready\":true}"},
        {"/v1/models", "{\"object\":\"list\",\"data\":[{\"id\":\"tiny\",\"object\":\"model\","},
        {"/v1/models/tiny", "\"max_model_len\":64"},
        {"/v1/models/tiny@1", "\"id\":\"tiny\""},
        {"/v1/models/t%69ny%401", "\"architecture\":\"tsa\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_response answer = http_request(&d, "GET", cases[i].path, NULL);
        cr_assert_eq(answer.status, 200, "%s: %ld", cases[i].path, answer.status);
        cr_assert(strstr(answer.body.data, cases[i].part), "%s: %s", cases[i].path,
                  answer.body.data);
        cr_assert_str_eq(http_response_header(&answer, "content-type"), "application/json");
        json_decref(json_from_response(&answer));
        http_response_release(&answer);
        answer = http_request(&d, "HEAD", cases[i].path, NULL);
        cr_assert_eq(answer.status, 200);
        cr_assert_eq(answer.body.bytes, 0);
        http_response_release(&answer);
    }
}

Test(http, metrics_have_the_prometheus_format)
{
    json_decref(completed("{" TINY "\"prompt\":\"ab\",\"max_tokens\":3}"));
    metric_wait(&d, "sluice_requests_in_flight", 0); /* a call is counted after its last byte */
    metric_wait(&d, "sluice_sequences_running{model=\"tiny\",version=\"1\"}", 0);
    struct http_response answer = http_request(&d, "GET", "/metrics", NULL);
    cr_assert_str_eq(http_response_header(&answer, "content-type"),
                     "text/plain; version=0.0.4; charset=utf-8");
    static const char *const parts[] = {
        "sluice_generation_tokens_total{model=\"tiny\",version=\"1\"} 3\n",
        "sluice_prompt_tokens_total{model=\"tiny\",version=\"1\"} 2\n",
        "sluice_time_to_first_token_seconds_count{model=\"tiny\",version=\"1\"} 1\n",
        "sluice_inter_token_latency_seconds_count{model=\"tiny\",version=\"1\"} 2\n",
        "sluice_batch_size_count{model=\"tiny\",version=\"1\"} 3\n",
        "sluice_sequences_running{model=\"tiny\",version=\"1\"} 0\n",
        "sluice_model_ready{model=\"tiny\",version=\"1\"} 1\n",
        "http_requests_total{handler=\"/v1/completions\",method=\"POST\",status=\"200\"} 1\n",
        "process_resident_memory_bytes ",
        "sluice_compute_threads 1\n",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        cr_assert(strstr(answer.body.data, parts[i]), "no %s in %s", parts[i], answer.body.data);
    cr_assert_not(strstr(answer.body.data, "handler=\"/metrics\""), "it counts itself");
    http_response_release(&answer);
    cr_assert_eq(metric_completions(&d, "200", "ok"), 1);
}

/* ---- completions ---------------------------------------------------------------------------- */

Test(http, complete)
{
    struct http_response answer = http_complete(
        &d, "{" TINY "\"prompt\":\"Hello\",\"max_tokens\":7,\"seed\":1,\"user\":\"me\"}");
    json_t *root = json_from_response(&answer);
    cr_assert_eq(answer.status, 200);
    cr_assert_eq(strncmp(json_string_at(root, "id"), "cmpl-", 5), 0);
    cr_assert_str_eq(json_string_at(root, "object"), "text_completion");
    cr_assert_str_eq(json_string_at(root, "model"), "tiny@1");
    cr_assert_eq(strlen(json_string_at(root, "system_fingerprint")), 15);
    cr_assert_str_eq(json_string_at(root, "choices/0/finish_reason"), "length");
    cr_assert(json_is_null(json_at(root, "choices/0/logprobs")));
    cr_assert_eq(json_integer_value(json_at(root, "usage/prompt_tokens")), 5);
    cr_assert_eq(json_integer_value(json_at(root, "usage/completion_tokens")), 7);
    cr_assert_eq(json_integer_value(json_at(root, "usage/total_tokens")), 12);
    cr_assert_gt(json_number_value(json_at(root, "usage/sluice/depth_mean")), 0.9);
    static const char *const headers[] = {"x-sluice-depth-mean", "x-sluice-layer-ops-skipped",
                                          "x-queue-time", "x-inference-time", "x-total-time"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        cr_assert(http_response_header(&answer, headers[i]), "%s is missing", headers[i]);
    json_decref(root);
    http_response_release(&answer);
}

Test(http, a_seed_gives_the_same_text_alone_among_others_and_streamed)
{
    enum { ROOM = 2048 };

    json_t *one = completed("{" TINY "\"prompt\":\"Hello\",\"max_tokens\":200,\"seed\":5}");
    json_t *many = completed(
        "{" TINY "\"prompt\":[\"Wor\",\"Hello\",\"\"],\"max_tokens\":200,\"seed\":5,\"n\":2}");
    const char *text = json_string_at(one, "choices/0/text");
    cr_assert_eq(json_array_size(json_at(many, "choices")), 6);
    cr_assert_str_eq(json_string_at(many, "choices/2/text"), text);
    cr_assert_str_neq(json_string_at(many, "choices/3/text"), text);
    struct http_response answer = http_complete(
        &d, "{" STREAM "\"prompt\":[\"Wor\",\"Hello\"],\"max_tokens\":200,\"seed\":5,\"n\":2}");
    cr_assert_str_eq(http_response_header(&answer, "content-type"),
                     "text/event-stream; charset=utf-8");
    for (int i = 0; i < 4; i++) {
        char path[32], streamed[ROOM];
        int finishes;
        (void)snprintf(path, sizeof path, "choices/%d/text", i);
        gather(answer.body.data, i, streamed, ROOM, &finishes);
        cr_assert_str_eq(streamed, json_string_at(many, path));
        cr_assert_eq(finishes, 1);
    }
    cr_assert_str_eq(answer.body.data + answer.body.bytes - 14, "data: [DONE]\n\n");
    http_response_release(&answer);
    json_decref(one);
    json_decref(many);
}

Test(http, greedy_needs_no_seed_and_stop_ends_the_text)
{
    json_t *all = completed("{" TINY "\"prompt\":\"ab\",\"max_tokens\":30,\"temperature\":0}");
    const char *text = json_string_at(all, "choices/0/text");
    char body[512], stop[8] = {text[10], '\0'};
    cr_assert_gt(strlen(text), 10);
    size_t until = (size_t)(strchr(text, stop[0]) - text);
    json_t *quoted = json_string(stop);
    char *word = json_dumps(quoted, JSON_ENCODE_ANY);
    (void)snprintf(body, sizeof body,
                   "{" TINY "\"prompt\":\"ab\",\"max_tokens\":30,\"temperature\":0,\"stop\":[%s]}",
                   word);
    json_t *cut = completed(body);
    cr_assert_str_eq(json_string_at(cut, "choices/0/finish_reason"), "stop");
    cr_assert_eq(strlen(json_string_at(cut, "choices/0/text")), until);
    cr_assert_eq(strncmp(json_string_at(cut, "choices/0/text"), text, until), 0);
    free(word);
    json_decref(quoted);
    json_decref(cut);
    json_decref(all);
}

Test(http, echo_and_log_probabilities)
{
    json_t *root = completed("{" TINY "\"prompt\":\"a\\u20acb\",\"max_tokens\":2,\"echo\":true,"
                             "\"logprobs\":3,\"seed\":1}");
    cr_assert_eq(strncmp(json_string_at(root, "choices/0/text"),
                         "a\xE2\x82\xAC"
                         "b",
                         5),
                 0);
    const json_t *logprobs = json_at(root, "choices/0/logprobs");
    cr_assert_eq(json_array_size(json_at(logprobs, "tokens")), 5);
    cr_assert_eq(json_array_size(json_at(logprobs, "token_logprobs")), 5);
    cr_assert(json_is_null(json_at(logprobs, "token_logprobs/0")));
    cr_assert_lt(json_real_value(json_at(logprobs, "token_logprobs/1")), 0);
    cr_assert_str_eq(json_string_at(logprobs, "tokens/1"), "\xE2\x82\xAC");
    cr_assert_eq(json_object_size(json_at(logprobs, "top_logprobs/4")), 3);
    for (size_t i = 0; i < 5; i++) /* characters, not bytes */
        cr_assert_eq(json_integer_value(json_array_get(json_at(logprobs, "text_offset"), i)),
                     (int)i);
    json_decref(root);
    root = completed("{" TINY "\"prompt\":\"ab\",\"max_tokens\":0,\"echo\":true,\"logprobs\":0}");
    cr_assert_str_eq(json_string_at(root, "choices/0/text"), "ab");
    cr_assert_eq(json_array_size(json_at(root, "choices/0/logprobs/tokens")), 2);
    json_decref(root);
    root = completed("{" TINY "\"prompt\":\"ab\",\"max_tokens\":0}");
    cr_assert_str_eq(json_string_at(root, "choices/0/text"), "");
    json_decref(root);
}

static double sum_of(const json_t *list)
{
    double sum = 0.0;
    for (size_t i = 0; i < json_array_size(list); i++)
        sum += json_number_value(json_array_get(list, i));
    return sum;
}

#define DEPTHS                                                                                     \
    TINY "\"prompt\":\"abc\",\"max_tokens\":6,\"seed\":3,\"sluice\":{\"depth\":\"tokens\"}"

/* Those of all tokens but the first, which nothing computed, add up to the layers of the usage. */
Test(http, depths_of_tokens)
{
    json_t *root = completed("{" DEPTHS ",\"echo\":true}");
    const json_t *depths = json_at(root, "choices/0/sluice/depth");
    cr_assert(json_is_null(json_at(root, "choices/0/logprobs")));
    cr_assert_eq(json_array_size(json_at(root, "choices/0/sluice/tokens")), 9);
    cr_assert_str_eq(json_string_at(root, "choices/0/sluice/tokens/2"), "c");
    cr_assert_eq(json_array_size(depths), 9);
    cr_assert(json_is_null(json_array_get(depths, 0)));
    cr_assert_float_eq(sum_of(depths), 8 * json_number_at(root, "usage/sluice/depth_mean"), 1e-3);
    struct http_response streamed =
        http_complete(&d, "{" DEPTHS ",\"stream\":true,\"logprobs\":0}");
    double sum = 0.0;
    for (const char *event = streamed.body.data; (event = strstr(event, "data: {")); event++) {
        json_t *one = json_loads(event + 6, JSON_DISABLE_EOF_CHECK, NULL);
        sum += sum_of(json_at(one, "choices/0/sluice/depth"));
        cr_assert(json_is_object(json_at(one, "choices/0/logprobs")));
        json_decref(one);
    }
    for (size_t i = 3; i < 9; i++)
        sum -= json_number_value(json_array_get(depths, i));
    cr_assert_float_eq(sum, 0.0, 1e-9);
    http_response_release(&streamed);
    json_decref(root);
    struct http_response wrong =
        http_complete(&d, "{" TINY "\"prompt\":\"a\",\"sluice\":{\"depth\":1}}");
    tei_expect_error(&wrong, 400, "sluice.depth", "invalid_value");
}

Test(http, token_prompts_and_bias)
{
    json_t *root = completed("{" TINY "\"prompt\":[[3,4],[5]],\"max_tokens\":4,"
                             "\"logit_bias\":{\"6\":100},\"temperature\":0}");
    cr_assert_eq(json_array_size(json_at(root, "choices")), 2);
    const char *text = json_string_at(root, "choices/0/text");
    cr_assert(strspn(text, (char[]){text[0], '\0'}) == 4, "the favoured token only, not '%s'",
              text);
    json_decref(root);
    root = completed("{" TINY "\"prompt\":null,\"max_tokens\":1}");
    cr_assert_eq(json_array_size(json_at(root, "choices")), 1);
    json_decref(root);
}

Test(http, stream_with_usage)
{
    struct http_response answer =
        http_complete(&d, "{" STREAM "\"prompt\":\"ab\",\"max_tokens\":3,\"seed\":1,"
                          "\"stream_options\":{\"include_usage\":true}}");
    cr_assert_str_eq(http_response_header(&answer, "cache-control"), "no-cache");
    cr_assert(strstr(answer.body.data, "\"finish_reason\":\"length\"}],\"usage\":null}\n\n"));
    cr_assert(strstr(answer.body.data,
                     "\"choices\":[],\"usage\":{\"prompt_tokens\":2,\"completion_tokens\":3,"
                     "\"total_tokens\":5,\"sluice\":{\"depth_mean\":"));
    http_response_release(&answer);
}

Test(http, a_prompt_longer_than_the_context_is_rejected_or_truncated)
{
    char body[512], prompt[101];
    memset(prompt, 'a', 100);
    prompt[100] = '\0';
    (void)snprintf(body, sizeof body, "{" TINY "\"prompt\":\"%s\",\"seed\":1}", prompt);
    struct http_response answer = http_complete(&d, body);
    cr_assert(strstr(answer.body.data, "has 100 tokens") && strstr(answer.body.data, "has 64"));
    tei_expect_error(&answer, 400, "prompt", "context_length_exceeded");
    (void)snprintf(body, sizeof body, "{" TINY "\"prompt\":[\"b\",\"%s\"]}", prompt);
    answer = http_complete(&d, body);
    cr_assert(strstr(answer.body.data, "'prompt[1]' has 100 tokens"));
    tei_expect_error(&answer, 400, "prompt[1]", "context_length_exceeded");
    (void)snprintf(body, sizeof body,
                   "{" TINY "\"prompt\":[\"b\",\"%s\"],\"seed\":1,\"truncate\":true}", prompt);
    json_t *root = completed(body);
    cr_assert_eq(json_integer_value(json_at(root, "usage/prompt_tokens")), 65);
    const json_t *cut = json_at(root, "usage/sluice/truncated/0");
    cr_assert_eq(json_integer_value(json_at(cut, "prompt")), 1);
    cr_assert_eq(json_integer_value(json_at(cut, "prompt_tokens_given")), 100);
    cr_assert_eq(json_integer_value(json_at(cut, "prompt_tokens_used")), 64);
    json_decref(root);
}

Test(http, unknown_characters_are_reported_or_replaced)
{
    struct http_response answer = http_complete(&d, "{" TINY "\"prompt\":\"a\\u4e2d\"}");
    cr_assert(strstr(answer.body.data, "U+4E2D"), "%s", answer.body.data);
    tei_expect_error(&answer, 400, "prompt", "unknown_characters");
    json_decref(completed("{" TINY "\"prompt\":\"a\\u4e2d\",\"unknown_characters\":\"replace\"}"));
}

/* ---- mistakes ------------------------------------------------------------------------------- */

Test(http, mistakes_in_completions)
{
    static const struct {
        const char *body, *param, *code;
        long status;
    } cases[] = {
        {"{\"model\":\"none\"}", "model", "model_not_found", 404},
        {"{\"model\":\"tiny@2\"}", "model", "model_not_found", 404},
        {"{", NULL, "invalid_json", 400},
        {"{" TINY "\"promt\":1}", "promt", "unknown_parameter", 400},
        {"{" TINY "\"suffix\":\"x\"}", "suffix", "unsupported_parameter", 400},
        {"{" TINY "\"best_of\":2}", "best_of", "unsupported_parameter", 400},
        {"{" TINY "\"temperature\":3}", "temperature", "invalid_value", 400},
        {"{" TINY "\"prompt\":[64000]}", "prompt[0]", "invalid_value", 400},
        {"{" TINY "\"prompt\":[[1],[2,64000]]}", "prompt[1][1]", "invalid_value", 400},
        {"{" TINY "\"prompt\":[\"a\",\"\\u4e2d\"]}", "prompt[1]", "unknown_characters", 400},
        {"{" TINY "\"logit_bias\":{\"64000\":1}}", "logit_bias", "invalid_value", 400},
        {"{" TINY "\"n\":128,\"prompt\":[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]}", NULL,
         "invalid_value", 400},
        {"{}", "model", "missing_required_parameter", 400},
        {"", NULL, "invalid_json", 400},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_response answer = http_complete(&d, cases[i].body);
        tei_expect_error(&answer, cases[i].status, cases[i].param, cases[i].code);
    }
    cr_assert_eq(metric_value(&d, "sluice_sequences_waiting{model=\"tiny\",version=\"1\"}"), 0);
}

Test(http, wrong_methods_get_an_allow_header)
{
    static const char *const gets[] = {
        "/metrics",   "/v2/health/live",          "/info",           "/v2/models/tiny",
        "/v1/models", "/v1/models/tiny/versions", "/v2/health/ready"};
    for (size_t i = 0; i < sizeof gets / sizeof gets[0]; i++) {
        struct http_response answer = http_request(&d, "DELETE", gets[i], NULL);
        cr_assert_eq(answer.status, 405, "%s: %ld", gets[i], answer.status);
        cr_assert_str_eq(http_response_header(&answer, "allow"), "GET, HEAD");
        http_response_release(&answer);
        answer = http_request(&d, "POST", gets[i], "{}");
        cr_assert_eq(answer.status, 405);
        http_response_release(&answer);
    }
    struct http_response answer = http_request(&d, "GET", "/v1/completions", NULL);
    cr_assert_str_eq(http_response_header(&answer, "allow"), "POST");
    tei_expect_error(&answer, 405, NULL, "method_not_allowed");
}

Test(http, each_family_has_its_errors)
{
    static const struct {
        const char *path, *type, *part;
    } cases[] = {
        {"/metrics/x", "application/problem+json", "\"status\":404"},
        {"/v1/nothing", "application/json", "{\"error\":{\"message\":"},
        {"/v1/chat", "application/json", "\"code\":\"not_found\""},
        {"/v1/models/none", "application/json", "\"code\":\"model_not_found\""},
        {"/v1/models/", "application/json", "\"code\":\"not_found\""},
        {"/v1/models/%00", "application/json", "\"code\":\"not_found\""},
        {"/v1/models/%ff", "application/json", "\"code\":\"not_found\""},
        {"/v1/models/%4", "application/json", "\"code\":\"not_found\""},
        {"/v1/models/a%2Fb", "application/json", "'a/b' does not exist"},
        {"/v2/nothing", "application/json", "{\"error\":\"No such endpoint: /v2/nothing"},
        {"/v2/models/none", "application/json", "{\"error\":\"The model 'none' does not exist"},
        {"/models/none/nothing", "application/json", "\"error_type\":\"not_found\""},
        {"/models/none/info", "application/json", "\"error_type\":\"not_found\""},
        {"/predict/x", "application/json", "\"error_type\":\"not_found\""},
        {"/predicts", "application/problem+json", "\"status\":404"},
        {"/nothing", "application/problem+json", "\"status\":404"},
        {"/v1x", "application/problem+json", "\"status\":404"},
        {"/../etc/passwd", "application/problem+json", "\"status\":404"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_response answer = http_request(&d, "GET", cases[i].path, NULL);
        cr_assert_eq(answer.status, 404, "%s: %ld", cases[i].path, answer.status);
        cr_assert_str_eq(http_response_header(&answer, "content-type"), cases[i].type);
        cr_assert(strstr(answer.body.data, cases[i].part), "%s: %s", cases[i].path,
                  answer.body.data);
        cr_assert(strstr(http_response_header(&answer, "x-sluice-error"), "not_found"),
                  "a code for each");
        json_decref(json_from_response(&answer));
        http_response_release(&answer);
    }
}

Test(http, bodies_are_bounded_and_typed)
{
    struct sl_buffer body = {0};
    sl_buffer_append_string(&body, "{" TINY "\"prompt\":\"");
    while (body.bytes < 70000)
        sl_buffer_append_string(&body, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    sl_buffer_append_string(&body, "\"}");
    struct http_response answer = http_complete(&d, body.data);
    tei_expect_error(&answer, 413, NULL, "payload_too_large");
    struct curl_slist *chunked = curl_slist_append(NULL, "Transfer-Encoding: chunked");
    chunked = curl_slist_append(chunked, "Expect:");
    answer = http_request_with(&d, "POST", "/v1/completions", body.data, chunked);
    tei_expect_error(&answer, 413, NULL, "payload_too_large");
    curl_slist_free_all(chunked);
    struct curl_slist *form = curl_slist_append(NULL, "Content-Type: text/plain");
    answer = http_request_with(&d, "POST", "/v1/completions", NULL, form);
    tei_expect_error(&answer, 415, NULL, "unsupported_media_type");
    curl_slist_free_all(form);
    sl_buffer_release(&body);
    metric_wait(&d, "sluice_request_body_bytes", 0);
}

/* A page of another origin may send a body without a type, but none of type JSON unasked. */
Test(http, bodies_without_a_type_are_not_taken_from_browsers)
{
    static const char *const origins[] = {"", "Origin: http://page.example\r\n"};
    static const char body[] = "{" TINY "\"max_tokens\":1}";
    char request[512];
    for (int i = 0; i < 2; i++) {
        int fd = raw_connect(&d);
        (void)snprintf(
            request, sizeof request,
            "POST /v1/completions HTTP/1.1\r\nHost: x\r\n%sContent-Length: %zu\r\n\r\n%s",
            origins[i], strlen(body), body);
        raw_send(fd, request);
        raw_expect(fd, i == 0 ? "HTTP/1.1 200" : "the header Content-Type: application/json");
        (void)close(fd);
    }
}

/* Clients that send all of a body, asked or not, before they read: they get their answer, too. */
Test(http, bodies_of_any_length_get_their_413)
{
    enum { BYTES = 24 << 20, PIECE = 1 << 16 };

    static const char *const framings[] = {"Content-Length: 25165824\r\n\r\n",
                                           "Transfer-Encoding: chunked\r\n\r\n1800000\r\n"};
    char *piece = calloc(1, PIECE);
    cr_assert(piece);
    for (int i = 0; i < 2; i++) {
        struct sl_buffer got = {0};
        int fd = raw_connect(&d);
        raw_send(fd, "POST /v1/completions HTTP/1.1\r\nHost: x\r\n");
        raw_send(fd, framings[i]);
        for (int sent = 0; sent < BYTES; sent += PIECE)
            cr_assert_eq(send(fd, piece, PIECE, MSG_NOSIGNAL), PIECE, "%s: after %d bytes",
                         framings[i], sent);
        cr_assert(raw_read_until(fd, &got, "payload_too_large"), "%s", framings[i]);
        cr_assert_eq(strncmp(got.data, "HTTP/1.1 413 ", 13), 0, "%s", got.data);
        sl_buffer_release(&got);
        (void)close(fd);
    }
    free(piece);
}

/* Sends this many bytes; the response, up to the end of its connection, begins with this. */
static void expect_refusal(const char *bytes, size_t count, const char *start)
{
    struct sl_buffer got = {0};
    int fd = raw_connect(&d);
    cr_assert_eq(send(fd, bytes, count, MSG_NOSIGNAL), (ssize_t)count);
    cr_assert(!raw_read_until(fd, &got, "never there"));
    cr_assert(got.data && strncmp(got.data, start, strlen(start)) == 0, "%s: %s", bytes,
              got.data ? got.data : "nothing");
    cr_assert(!strstr(got.data, "HTTP/1.1 2"), "%s: %s", bytes, got.data);
    sl_buffer_release(&got);
    (void)close(fd);
}

/* What a proxy may understand in another way is not guessed at. */
Test(http, requests_with_ambiguous_length_are_rejected)
{
    static const char either[] = "HTTP/1.1 "; /* 501 from libmicrohttpd 0.9, 400 from 1.0 */
    static const char *const heads[][2] = {
        {"HTTP/1.1 400 ", "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
                          "Content-Length: 60\r\n\r\n{}GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"HTTP/1.1 400 ", "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
                          "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
        {either, "POST /v1/completions HTTP/1.1\r\nHost: x\r\n"
                 "Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n"},
        {either, "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n"},
        {"HTTP/1.1 400 ", "POST /v1/completions HTTP/1.1\r\nHost: x\r\n"
                          "Content-Length : 30\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"HTTP/1.1 400 ", "GET / HTTP/1.1\r\nHost: x\r\n"
                          "Content-Length:\r\n 30\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"HTTP/1.1 400 ", "POST /v1/completions HTTP/1.1\r\nHost: x\r\n"
                          "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"},
        {"HTTP/1.1 400 ", "GET / HTTP/1.1\r\nHost: x\r\nA: b\rContent-Length: 30\r\n\r\n"
                          "GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"HTTP/1.1 400 ", "GET / HTTP/1.1\r\n\r\n"},
        {"HTTP/1.1 400 ", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"},
    };
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        expect_refusal(heads[i][1], strlen(heads[i][1]), heads[i][0]);
}

Test(http, request_ids)
{
    static const struct {
        const char *sent;
        bool kept;
    } cases[] = {
        {"x-request-id: my-id_1.2", true},
        {"x-request-id: with blank", false},
        {"x-request-id: \"quoted\"", false},
        {"x-request-id: 12345678901234567890123456789012345678901234567890123456789012345", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct curl_slist *headers = curl_slist_append(NULL, cases[i].sent);
        struct http_response answer = http_request_with(&d, "GET", "/v1/nothing", NULL, headers);
        const char *id = http_response_header(&answer, "x-request-id");
        cr_assert_eq(strcmp(id, cases[i].sent + 14) == 0, cases[i].kept, "%s", id);
        cr_assert_eq(strncmp(id, "req-", 4) == 0, !cases[i].kept);
        http_response_release(&answer);
        curl_slist_free_all(headers);
    }
}

Test(http, header_values_are_checked)
{
    static const struct {
        const char *header, *part;
        long status;
    } cases[] = {
        {"X-Request-Timeout-Ms: abc", "1 to 999999999999 (milliseconds), not \\\"abc\\\"", 400},
        {"X-Request-Timeout-Ms: -1", "1 to 999999999999 (milliseconds)", 400},
        {"X-Request-Timeout-Ms: 1e3", "1 to 999999999999 (milliseconds)", 400},
        {"X-Request-Timeout-Ms: 0", "1 to 999999999999 (milliseconds)", 400},
        {"X-Request-Timeout-Ms: 9999999999999", "1 to 999999999999 (milliseconds)", 400},
        {"X-Request-Timeout-Ms: 30000", "\"choices\"", 200},
        {"Content-Encoding: br", "Content-Encoding \\\"br\\\" is not supported; accepted: gzip",
         415},
        {"Content-Encoding: identity", "\"choices\"", 200},
        {"Content-Type;", "Content-Type must be application/json, not \\\"\\\"", 415},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct curl_slist *headers = curl_slist_append(NULL, cases[i].header);
        const char *body = strchr(cases[i].header, ';') ? NULL : "{" TINY "\"max_tokens\":1}";
        struct http_response answer =
            http_request_with(&d, "POST", "/v1/completions", body, headers);
        cr_assert_eq(answer.status, cases[i].status, "%s: %ld", cases[i].header, answer.status);
        cr_assert(strstr(answer.body.data, cases[i].part), "%s", answer.body.data);
        http_response_release(&answer);
        curl_slist_free_all(headers);
    }
}

/* ---- the table of routes -------------------------------------------------------------------- */

Test(http_routes, what_stands_for_a_part_has_a_name)
{
    char arguments[SV_PATH_PARAMS_MAX][SV_PATH_MAX], allow[SV_ALLOW_MAX];
    const struct sv_route *route;
    for (int i = 0; i < sv_routes.count && (route = &sv_routes.routes[i]); i++)
        cr_assert_not(strstr(route->path, "{}"), "%s", route->path);
    route =
        sv_router_find(&sv_routes, "GET", "/v2/models/a%20b/versions/12/ready", arguments, allow);
    cr_assert(route);
    cr_assert_str_eq(route->path, "/v2/models/{name}/versions/{version}/ready");
    cr_assert_str_eq(arguments[0], "a b");
    cr_assert_str_eq(arguments[1], "12");
}

/* Unknown paths take their family from those that begin alike, so these must agree. */
Test(http_routes, routes_that_begin_alike_have_errors_that_look_alike)
{
    const struct sv_route *route;
    for (int i = 0; i < sv_routes.count && (route = &sv_routes.routes[i]); i++) {
        cr_assert_neq(route->scope, SV_SCOPE_NONE, "%s", route->path);
        /* Jina's have a member more. */
        const enum sv_api alike = route->api == SV_API_JINA ? SV_API_OPENAI : route->api;
        cr_assert_eq(alike, sv_router_family(&sv_routes, route->path), "%s", route->path);
    }
    cr_assert_eq(sv_router_family(&sv_routes, "/"), SV_API_TEI);
    cr_assert_eq(sv_router_family(&sv_routes, "/hf"), SV_API_HF);
    cr_assert_eq(sv_router_family(&sv_routes, ""), SV_API_PLAIN);
    cr_assert_eq(sv_router_family(&sv_routes, "*"), SV_API_PLAIN);
}
