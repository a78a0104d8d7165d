/* test_oip_infer_http.c - what sluiced answers about texts as the Open Inference Protocol and
 * OpenAI's decisions ask it, and that every answer under /v2 keeps the protocol's contract. */
#include "base/buffer.h"
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/in_process_classifier.h"
#include "support/json_query.h"
#include "support/raw_socket.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"

#include <math.h>

static struct daemon d;

static void start(void)
{
    daemon_make_store(&d);
    tiny_classifiers_make(d.store);
    daemon_serve(&d, (const char *const[]){"--default-classifier", MOOD, NULL});
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(infer_http, .init = start, .fini = stop);

/* ---- the contract ---------------------------------------------------------------------------- *
 *
 * What the protocol's published OpenAPI description asks of answers: members that are required,
 * their types, and (in its prose) that a tensor has as many elements as its shape says. */

static void expect_text(const json_t *object, const char *name, bool required)
{
    const json_t *value = json_object_get(object, name);
    cr_assert(value || !required, "'%s' is missing", name);
    cr_assert(!value || json_is_string(value), "'%s' is no string", name);
}

static int64_t shape_size(const json_t *shape, bool concrete)
{
    int64_t size = 1;
    cr_assert(json_is_array(shape));
    for (size_t i = 0; i < json_array_size(shape); i++) {
        const json_t *item = json_array_get(shape, i);
        cr_assert(json_is_integer(item));
        cr_assert_geq(json_integer_value(item), concrete ? 0 : -1);
        size *= json_integer_value(item);
    }
    return size;
}

static void expect_tensor(const json_t *tensor, bool has_data)
{
    expect_text(tensor, "name", true);
    expect_text(tensor, "datatype", true);
    const json_t *data = json_object_get(tensor, "data");
    const char *datatype = json_string_at(tensor, "datatype");
    int64_t size = shape_size(json_object_get(tensor, "shape"), has_data);
    cr_assert(strcmp(datatype, "BYTES") == 0 || strcmp(datatype, "FP32") == 0 ||
              strcmp(datatype, "INT32") == 0);
    if (!has_data)
        return;
    cr_assert(json_is_array(data));
    cr_assert_eq((int64_t)json_array_size(data), size, "shape and data differ");
    for (size_t i = 0; i < json_array_size(data); i++) {
        const json_t *item = json_array_get(data, i);
        cr_assert(datatype[0] == 'B'   ? json_is_string(item)
                  : datatype[0] == 'F' ? json_is_number(item)
                                       : json_is_integer(item));
    }
}

static void expect_tensors(const json_t *list, bool have_data)
{
    cr_assert(json_is_array(list));
    for (size_t i = 0; i < json_array_size(list); i++)
        expect_tensor(json_array_get(list, i), have_data);
}

static void expect_inference(const json_t *root)
{
    expect_text(root, "model_name", true);
    expect_text(root, "model_version", false);
    expect_text(root, "id", false);
    const json_t *parameters = json_object_get(root, "parameters");
    cr_assert(!parameters || json_is_object(parameters));
    expect_tensors(json_object_get(root, "outputs"), true);
}

static void expect_metadata(const json_t *root)
{
    expect_text(root, "name", true);
    expect_text(root, "platform", true);
    const json_t *versions = json_object_get(root, "versions");
    cr_assert(json_is_array(versions));
    for (size_t i = 0; i < json_array_size(versions); i++)
        cr_assert(json_is_string(json_array_get(versions, i)));
    expect_tensors(json_object_get(root, "inputs"), false);
    expect_tensors(json_object_get(root, "outputs"), false);
}

/* Asks, and the answer is one of the protocol's errors. */
static void tei_expect_error(const char *method, const char *path, const char *body, long status,
                             const char *part)
{
    struct http_response answer = http_request(&d, method, path, body);
    cr_assert_eq(answer.status, status, "%s: %ld %s", path, answer.status, answer.body.data);
    json_t *root = json_from_response(&answer);
    /* Which of the texts, for programs. */
    cr_assert_eq(json_object_size(root), json_object_get(root, "index") ? 3 : 1);
    cr_assert(strstr(json_string_at(root, "error"), part), "'%s' lacks '%s'",
              json_string_at(root, "error"), part);
    json_decref(root);
    http_response_release(&answer);
}

static json_t *got(const char *path)
{
    return json_request(&d, "GET", path, NULL);
}

static json_t *posted(const char *path, const char *body)
{
    return json_request(&d, "POST", path, body);
}

static json_t *inferred(const char *path, const char *body)
{
    json_t *root = posted(path, body);
    expect_inference(root);
    return root;
}

/* ---- server and models ---------------------------------------------------------------------- */

Test(infer_http, server_metadata_with_and_without_a_slash)
{
    static const char *const paths[] = {"/v2", "/v2/"};
    for (size_t i = 0; i < 2; i++) {
        json_t *root = got(paths[i]);
        cr_assert_str_eq(json_string_at(root, "name"), "sluice");
        expect_text(root, "version", true);
        cr_assert_str_eq(json_string_at(root, "extensions/0"), "classification");
        cr_assert_str_eq(json_string_at(root, "extensions/1"), "model_repository");
        json_decref(root);
    }
    json_decref(got("/v2/health/live/"));
    json_decref(got("/v2/health/ready/"));
    tei_expect_error("GET", "/v2//", NULL, 404, "No such endpoint: /v2//");
}

Test(infer_http, served_models_by_name)
{
    json_t *root = got("/v2/models");
    cr_assert_geq(json_array_size(json_object_get(root, "models")), 2);
    cr_assert_str_eq(json_string_at(root, "models/0"), "mood");
    json_decref(root);
}

/* What tritonclient's get_model_config and perf_analyzer read. */
Test(infer_http, model_configuration)
{
    static const char *const paths[] = {"/v2/models/mood/config",
                                        "/v2/models/mood/versions/4/config"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        json_t *root = got(paths[i]);
        cr_assert_str_eq(json_string_at(root, "name"), "mood");
        cr_assert_str_eq(json_string_at(root, "platform"), "sluice_tsa");
        cr_assert_eq(json_number_at(root, "max_batch_size"), 2048);
        cr_assert_str_eq(json_string_at(root, "input/0/data_type"), "TYPE_STRING");
        cr_assert_eq(json_number_at(root, "input/0/dims/0"), 1);
        cr_assert_eq(json_array_size(json_at(root, "input/0/reshape/shape")), 0);
        cr_assert_str_eq(json_string_at(root, "output/1/name"), "probs");
        cr_assert_str_eq(json_string_at(root, "output/1/data_type"), "TYPE_FP32");
        cr_assert_eq(json_number_at(root, "output/1/dims/0"), 3);
        cr_assert_null(json_at(root, "output/1/reshape"));
        json_decref(root);
    }
    tei_expect_error("GET", "/v2/models/none/config", NULL, 404, "does not exist");
}

Test(infer_http, model_metadata)
{
    static const char *const paths[] = {"/v2/models/mood", "/v2/models/mood/",
                                        "/v2/models/mood/versions/4",
                                        "/v2/models/mo%6Fd/versions/4/"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        json_t *root = got(paths[i]);
        expect_metadata(root);
        cr_assert_str_eq(json_string_at(root, "name"), "mood");
        cr_assert_str_eq(json_string_at(root, "versions/0"), "4");
        cr_assert_str_eq(json_string_at(root, "platform"), "sluice_tsa");
        cr_assert_str_eq(json_string_at(root, "inputs/0/name"), "text");
        cr_assert_eq(json_number_at(root, "inputs/0/shape/0"), -1);
        cr_assert_eq(json_array_size(json_at(root, "outputs")), 5);
        cr_assert_eq(json_number_at(root, "outputs/1/shape/1"), MOOD_CLASSES);
        cr_assert_str_eq(json_string_at(root, "parameters/labels/2"), "positive");
        json_decref(root);
    }
    json_t *root = got("/v2/models/tiny");
    expect_metadata(root);
    cr_assert_eq(json_array_size(json_at(root, "inputs")), 0);
    json_decref(root);
    tei_expect_error("GET", "/v2/models/none", NULL, 404, "'none' does not exist");
    tei_expect_error("GET", "/v2/models/mood/versions/5", NULL, 404,
                     "version 4 of 'mood' is loaded");
}

Test(infer_http, model_readiness)
{
    json_t *root = got("/v2/models/mood/ready");
    cr_assert_str_eq(json_string_at(root, "name"), "mood");
    cr_assert(json_is_true(json_at(root, "ready")));
    json_decref(root);
    json_decref(got("/v2/models/tiny/ready/"));
    json_decref(got("/v2/models/mood/versions/4/ready"));
    tei_expect_error("GET", "/v2/models/none/ready", NULL, 404, "does not exist");
}

Test(infer_http, repository_index_and_what_comes_later)
{
    static const char *const bodies[] = {"{}", "{\"ready\":true}", ""};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        json_t *root = posted("/v2/repository/index", bodies[i]);
        cr_assert_eq(json_array_size(root), 3);
        cr_assert_str_eq(json_string_at(root, "0/name"), "mood");
        cr_assert_str_eq(json_string_at(root, "0/version"), "4");
        cr_assert_str_eq(json_string_at(root, "0/state"), "READY");
        cr_assert_str_eq(json_string_at(root, "0/reason"), "");
        json_decref(root);
    }
    tei_expect_error("POST", "/v2/repository/index", "{\"raedy\":true}", 400, "Accepted: ready");
    tei_expect_error("POST", "/v2/repository/models/mood/load", "{}", 403, "admin listener");
    tei_expect_error("POST", "/v2/repository/models/mood/unload", "{}", 403, "admin listener");
}

/* ---- inference ------------------------------------------------------------------------------ */

#define TEXTS(shape, data)                                                                         \
    "\"inputs\":[{\"name\":\"text\",\"shape\":" shape ",\"datatype\":\"BYTES\",\"data\":" data "}]"

#define MOOD_INFER "/v2/models/mood/infer"

/* label and probs of "Hello" and "World?", in this order, the first of this many outputs. */
static void expect_usual(const json_t *root, const struct in_process_classifier *mood,
                         size_t outputs)
{
    const struct classification results[] = {in_process_classify(mood, "Hello"),
                                             in_process_classify(mood, "World?")};
    cr_assert_eq(json_array_size(json_at(root, "outputs")), outputs);
    cr_assert_str_eq(json_string_at(root, "outputs/0/name"), "label");
    cr_assert_str_eq(json_string_at(root, "outputs/1/name"), "probs");
    if (outputs > 2)
        cr_assert_str_eq(json_string_at(root, "outputs/4/name"), "truncated");
    cr_assert_eq(json_array_size(json_at(root, "outputs/0/shape")), 1);
    cr_assert_eq(json_array_size(json_at(root, "outputs/1/shape")), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *label = json_array_get(json_at(root, "outputs/0/data"), i);
        cr_assert_str_eq(json_string_value(label), mood_labels[results[i].best]);
        for (size_t k = 0; k < MOOD_CLASSES; k++)
            cr_assert_eq((float)json_number_value(
                             json_array_get(json_at(root, "outputs/1/data"), MOOD_CLASSES * i + k)),
                         results[i].probs[k]);
    }
}

Test(infer_http, texts_flat_and_nested_in_rows_and_columns)
{
    static const struct {
        size_t outputs;
        const char *path, *body;
    } cases[] = {
        {5, MOOD_INFER, "{" TEXTS("[2]", "[\"Hello\",\"World?\"]") "}"},
        {5, MOOD_INFER,
         "{\"parameters\":{\"priority\":1,\"timeout\":60000000}," TEXTS(
             "[2]", "[\"Hello\",\"World?\"]") "}"},
        {5, MOOD_INFER, "{" TEXTS("[2,1]", "[\"Hello\",\"World?\"]") "}"},
        {5, MOOD_INFER "/", "{" TEXTS("[2,1]", "[[\"Hello\"],[\"World?\"]]") ",\"outputs\":[]}"},
        {5, "/v2/models/mood/versions/4/infer", "{" TEXTS("[2]", "[\"Hello\",\"World?\"]") "}"},
        /* KServe's InferenceRESTClient: its id, the model's name again, what it asks for. */
        {2, MOOD_INFER,
         "{\"id\":\"d2b4\",\"model_name\":\"mood\",\"inputs\":[{\"name\":\"text\","
         "\"shape\":[2],\"datatype\":\"BYTES\",\"data\":[\"Hello\",\"World?\"]}],"
         "\"outputs\":[{\"name\":\"label\"},{\"name\":\"probs\"}]}"},
        /* MLServer's types, written out with what is not set as null. */
        {5, MOOD_INFER,
         "{\"id\":null,\"parameters\":null,\"inputs\":[{\"name\":\"text\","
         "\"shape\":[2,1],\"datatype\":\"BYTES\",\"parameters\":"
         "{\"content_type\":\"str\",\"headers\":null},\"data\":[\"Hello\",\"World?\"]}],"
         "\"outputs\":null}"},
    };

    struct in_process_classifier mood = in_process_open(d.store, MOOD);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *root = inferred(cases[i].path, cases[i].body);
        cr_assert_str_eq(json_string_at(root, "model_name"), "mood");
        cr_assert_str_eq(json_string_at(root, "model_version"), "4");
        expect_usual(root, &mood, cases[i].outputs);
        json_decref(root);
    }
    in_process_close(&mood);
}

#define ID "4be4e82e-5500-420a-a5c5-ac86841e271b"

/* Sends these lines of a head and a body to MOOD_INFER; the answer is JSON, whole, and has the ID.
 */
static json_t *inferred_by_hand(const char *lines, const char *body)
{
    struct sl_buffer request = {0}, answer = {0};
    sl_buffer_printf(&request,
                     "POST " MOOD_INFER " HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s"
                     "Content-Length: %zu\r\n\r\n%s",
                     d.port, lines, strlen(body), body);
    int fd = raw_connect(&d);
    raw_send(fd, request.data);
    cr_assert(raw_read_until(fd, &answer, "}]}"), "%s", answer.data ? answer.data : "nothing");
    cr_assert(answer.data);
    cr_assert(strcasestr(answer.data, "\r\ncontent-type: application/json\r\n"));
    cr_assert_null(strcasestr(answer.data, "Inference-Header-Content-Length"),
                   "a client would expect binary data");
    json_t *root = json_loads(strstr(answer.data, "\r\n\r\n") + 4, 0, NULL);
    cr_assert(root, "%s", answer.data);
    expect_inference(root);
    cr_assert_str_eq(json_string_at(root, "id"), ID);
    (void)close(fd);
    sl_buffer_release(&request);
    sl_buffer_release(&answer);
    return root;
}

/* The bytes that KServe's client sends: no content type, and a name that it gives itself. */
Test(infer_http, a_request_as_kserve_sends_it)
{
    json_decref(inferred_by_hand(
        "Accept: */*\r\nAccept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\n"
        "User-Agent: python-httpx/0.27.2\r\n",
        "{\"id\":\"" ID "\",\"model_name\":\"mood\",\"inputs\":[{"
        "\"name\":\"text\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"Hello\"]}]}"));
}

/* `mlserver infer` uses Triton's client, without binary data unless it is given --binary-data. */
Test(infer_http, a_request_as_mlserver_sends_it)
{
    struct in_process_classifier mood = in_process_open(d.store, MOOD);
    json_t *root = inferred_by_hand(
        "content-type: application/json\r\nseldon-puid: " ID "\r\nx-request-id: " ID "\r\n"
        "Accept: */*\r\nAccept-Encoding: gzip, deflate\r\n"
        "User-Agent: Python/3.11 aiohttp/3.9.5\r\n",
        "{\"id\":\"" ID "\",\"inputs\":[{\"name\":\"text\",\"shape\":[2,1],"
        "\"datatype\":\"BYTES\",\"data\":[\"Hello\",\"World?\"]}],"
        "\"parameters\":{\"binary_data_output\":false}}");
    expect_usual(root, &mood, 5);
    json_decref(root);
    root = inferred_by_hand("content-type: application/json\r\nseldon-puid: " ID
                            "\r\nx-request-id: " ID "\r\n",
                            "{\"id\":\"" ID "\",\"inputs\":[{\"name\":\"text\",\"shape\":[2],"
                            "\"datatype\":\"BYTES\",\"data\":[\"Hello\",\"World?\"]}],\"outputs\":["
                            "{\"name\":\"label\",\"parameters\":{\"binary_data\":false}},"
                            "{\"name\":\"probs\",\"parameters\":{\"binary_data\":false}}]}");
    expect_usual(root, &mood, 2);
    json_decref(root);
    in_process_close(&mood);
}

Test(infer_http, every_output_on_request)
{
    struct in_process_classifier mood = in_process_open(d.store, MOOD);
    struct classification v = in_process_classify(&mood, "Hello");
    json_t *root = inferred(
        MOOD_INFER,
        "{\"id\":\"4\\\"2\"," TEXTS(
            "[1]",
            "[\"Hello\"]") ",\"outputs\":["
                           "{\"name\":\"truncated\"},{\"name\":\"depth\"},{\"name\":\"logits\"},"
                           "{\"name\":\"label\",\"parameters\":{\"classification\":2}},"
                           "{\"name\":\"probs\",\"parameters\":{\"classification\":9}}]}");
    cr_assert_str_eq(json_string_at(root, "id"), "4\"2");
    cr_assert_eq(json_number_at(root, "outputs/0/data/0"), 0);
    cr_assert_float_eq(json_number_at(root, "outputs/1/data/0"), v.depth, 1e-4);
    cr_assert_lt(v.depth, 4, "no gate is closed");
    for (size_t k = 0; k < MOOD_CLASSES; k++)
        cr_assert_eq((float)json_number_value(json_array_get(json_at(root, "outputs/2/data"), k)),
                     v.logits[k]);
    cr_assert_str_eq(json_string_at(root, "outputs/3/data/0"), mood_labels[v.best]);
    cr_assert_eq(json_number_at(root, "outputs/3/shape/1"), 2);
    cr_assert_eq(json_number_at(root, "outputs/4/shape/1"), MOOD_CLASSES);
    char *rest;
    const char *top = json_string_at(root, "outputs/4/data/0");
    cr_assert_eq(strtof(top, &rest), v.probs[v.best]);
    cr_assert_eq(strtol(rest + 1, &rest, 10), v.best);
    cr_assert_str_eq(rest + 1, mood_labels[v.best], "value:class:label, not %s", top);
    cr_assert_float_eq(json_number_at(root, "parameters/depth_mean"), v.depth, 1e-4);
    cr_assert_float_eq(json_number_at(root, "parameters/layer_ops_skipped"), 1 - v.depth / 4, 1e-4);
    cr_assert_eq(json_number_at(root, "parameters/truncated"), 0);
    json_decref(root);
    root = inferred(MOOD_INFER,
                    "{" TEXTS("[1]", "[\"Hello\"]") ",\"outputs\":[{\"name\":\"label\","
                                                    "\"parameters\":{\"classification\":1}}]}");
    cr_assert_str_eq(json_string_at(root, "outputs/0/data/0"), mood_labels[v.best]);
    cr_assert_eq(json_array_size(json_at(root, "outputs/0/shape")), 1);
    json_decref(root);
    in_process_close(&mood);
}

Test(infer_http, a_truncated_text_reports_the_tokens_cut)
{
    json_t *root = inferred(
        MOOD_INFER,
        "{" TEXTS("[3]", "[\"a\",\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                         "aaaaaaaaaaaaa\",\"b\"]") ","
                                                   "\"parameters\":{\"truncate\":true},"
                                                   "\"outputs\":[{\"name\":\"truncated\"}]}");
    cr_assert_eq(json_number_at(root, "outputs/0/data/0"), 0);
    cr_assert_eq(json_number_at(root, "outputs/0/data/1"), 53 - MOOD_CONTEXT);
    cr_assert_eq(json_number_at(root, "outputs/0/data/2"), 0);
    cr_assert_eq(json_number_at(root, "parameters/truncated"), 1);
    json_decref(root);
}

Test(infer_http, errors_have_the_format_of_the_protocol)
{
    static const struct {
        const char *path, *body, *part;
        long status;
    } cases[] = {
        {MOOD_INFER, "{", "not valid JSON", 400},
        {MOOD_INFER, "{}", "'inputs' is required", 400},
        {MOOD_INFER, "{" TEXTS("[2]", "[\"a\"]") "}", "is 1, but 'shape' says 2", 400},
        {MOOD_INFER, "{" TEXTS("[1]", "[\"\"]") "}", "'text[0]' is empty", 400},
        {"/v2/models/plain/infer", "{" TEXTS("[1]", "[\" \"]") "}", "'text[0]' is empty", 400},
        {MOOD_INFER, "{" TEXTS("[1]", "[\"\\u4e2d\"]") "}", "U+4E2D", 400},
        {MOOD_INFER,
         "{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[\"a\"]}]}",
         "must be \"BYTES\", not \"FP32\"", 400},
        {MOOD_INFER,
         "{" TEXTS("[1]", "[\"a\"]") ",\"outputs\":[{\"name\":\"probs\"},{\"name\":\"depth\"},"
                                     "{\"name\":\"probs\"}]}",
         "'outputs[2].name' is 'probs', which outputs[0] already names", 400},
        {"/v2/models/none/infer", "{" TEXTS("[1]", "[\"a\"]") "}", "does not exist", 404},
        {"/v2/models/none/infer", "{}", "does not exist", 404},
        {"/v2/models/mood/versions/9/infer", "{" TEXTS("[1]", "[\"a\"]") "}", "'mood@9'", 404},
        {"/v2/models/tiny/infer", "{" TEXTS("[1]", "[\"a\"]") "}", "is not a classifier", 400},
        {"/v2/models/plain/infer", "{" TEXTS("[2]", "[\"a\",\"b!\"]") "}", "NaN or infinity", 500},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        tei_expect_error("POST", cases[i].path, cases[i].body, cases[i].status, cases[i].part);
    tei_expect_error("GET", MOOD_INFER, NULL, 405, "accepts POST");
    tei_expect_error("POST", "/v2/models//infer", "{}", 404, "No such endpoint");
}

/* ---- binary tensors ------------------------------------------------------------------------- */

/* A request as Triton's client sends it by default, by hand, because it holds NULs. */
static struct sl_buffer inferred_in_binary(const char *path, const char *json, const char *bytes,
                                           size_t count, const char *end)
{
    struct sl_buffer request = {0}, answer = {0};
    sl_buffer_printf(&request,
                     "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n"
                     "Content-Type: application/octet-stream\r\n"
                     "Inference-Header-Content-Length: %zu\r\nContent-Length: %zu\r\n\r\n%s",
                     path, d.port, strlen(json), strlen(json) + count, json);
    sl_buffer_append(&request, bytes, count);
    int fd = raw_connect(&d);
    raw_send_bytes(fd, request.data, request.bytes);
    cr_assert(raw_read_until(fd, &answer, end), "%s", answer.data ? answer.data : "nothing");
    (void)close(fd);
    sl_buffer_release(&request);
    return answer;
}

Test(infer_http, binary_tensors_are_read_and_written)
{
    static const char bytes[] = "\x05\0\0\0Hello\x06\0\0\0World?";
    struct sl_buffer answer = inferred_in_binary(
        MOOD_INFER,
        "{\"inputs\":[{\"name\":\"text\",\"shape\":[2],\"datatype\":\"BYTES\","
        "\"parameters\":{\"binary_data_size\":19}}],\"outputs\":[{\"name\":\"probs\"},"
        "{\"name\":\"truncated\",\"parameters\":{\"binary_data\":true}}]}",
        bytes, sizeof bytes - 1, "}]}");
    cr_assert(strcasestr(answer.data, "\r\ncontent-type: application/octet-stream\r\n"), "%s",
              answer.data);
    const char *body = strstr(answer.data, "\r\n\r\n") + 4;
    const char *length = strcasestr(answer.data, "\r\nInference-Header-Content-Length: ");
    cr_assert(length);
    size_t json_bytes = strtoul(strchr(length, ':') + 1, NULL, 10);
    json_t *root = json_loadb(body, json_bytes, 0, NULL);
    cr_assert(root, "%s", body);
    const json_t *classes = json_at(root, "outputs/0/shape/1");
    cr_assert_eq(json_array_size(json_at(root, "outputs/0/data")),
                 2 * (size_t)json_integer_value(classes));
    cr_assert_null(json_at(root, "outputs/1/data"));
    cr_assert_eq(json_integer_at(root, "outputs/1/parameters/binary_data_size"), 8);
    json_decref(root);
    sl_buffer_release(&answer);
}

Test(infer_http, malformed_binary_tensors_are_rejected)
{
    static const char json[] = "{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":"
                               "\"BYTES\",\"parameters\":{\"binary_data_size\":5}}]}";
    struct sl_buffer answer =
        inferred_in_binary(MOOD_INFER, json, "\x02\0\0\0h", 5, "only 1 bytes are left");
    sl_buffer_release(&answer);
    answer = inferred_in_binary("/predict", "{}", "", 0, "not supported here");
    sl_buffer_release(&answer);
    answer = inferred_in_binary("/v2/repository/index", "{}", "", 0, "not supported here");
    sl_buffer_release(&answer);
}

/* ---- statistics ----------------------------------------------------------------------------- */

static void expect_durations(const json_t *object, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_object_get(object, names[i]);
        cr_assert(json_is_integer(json_object_get(one, "count")), "%s", names[i]);
        cr_assert_geq(json_number_at(one, "ns"), 0);
    }
}

Test(infer_http, statistics_count_texts_calls_and_batches)
{
    static const char *const kinds[] = {"success",       "fail",          "queue",
                                        "compute_input", "compute_infer", "compute_output",
                                        "cache_hit",     "cache_miss"};
    json_decref(inferred(MOOD_INFER, "{" TEXTS("[3]", "[\"a\",\"b\",\"c\"]") "}"));
    json_decref(inferred(MOOD_INFER, "{" TEXTS("[1]", "[\"a\"]") "}"));
    tei_expect_error("POST", "/v2/models/plain/infer", "{" TEXTS("[1]", "[\"b!\"]") "}", 500,
                     "NaN or infinity");
    static const char *const paths[] = {"/v2/models/mood/stats", "/v2/models/mood/versions/4/stats",
                                        "/v2/models/stats"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        json_t *root = got(paths[i]);
        const json_t *stats = json_at(root, "model_stats/0");
        cr_assert_eq(json_array_size(json_at(root, "model_stats")), i == 2 ? 2 : 1);
        cr_assert_str_eq(json_string_at(stats, "name"), "mood");
        cr_assert_str_eq(json_string_at(stats, "version"), "4");
        cr_assert_eq(json_number_at(stats, "inference_count"), 4);
        cr_assert_eq(json_number_at(stats, "execution_count"), 2);
        cr_assert_gt(json_number_at(stats, "last_inference"), 1.7e12);
        expect_durations(json_at(stats, "inference_stats"), kinds, sizeof kinds / sizeof kinds[0]);
        cr_assert_eq(json_number_at(stats, "inference_stats/success/count"), 2);
        cr_assert_eq(json_number_at(stats, "inference_stats/fail/count"), 0);
        cr_assert_eq(json_number_at(stats, "batch_stats/0/batch_size"), 1);
        cr_assert_eq(json_number_at(stats, "batch_stats/1/batch_size"), 3);
        cr_assert_eq(json_number_at(stats, "batch_stats/1/compute_infer/count"), 1);
        json_decref(root);
    }
    json_t *root = got("/v2/models/plain/stats");
    cr_assert_eq(json_number_at(root, "model_stats/0/inference_count"), 0);
    cr_assert_eq(json_number_at(root, "model_stats/0/inference_stats/fail/count"), 1);
    json_decref(root);
    tei_expect_error("GET", "/v2/models/tiny/stats", NULL, 400, "is not a classifier");
    tei_expect_error("GET", "/v2/models/none/stats", NULL, 404, "does not exist");
}

/* ---- decisions ------------------------------------------------------------------------------ */

#define DECIDE "{\"model\":\"mood\",\"input\":\"Hello\",\"questions\":"

Test(infer_http, decisions_of_every_type)
{
    struct in_process_classifier mood = in_process_open(d.store, MOOD);
    struct classification v = in_process_classify(&mood, "Hello");
    json_t *root =
        posted("/v1/decisions",
               DECIDE "[{\"type\":\"choice\",\"name\":\"mood\",\"instructions\":\"?\",\"choices\":["
                      "{\"value\":\"positive\"},{\"value\":\"negative\"}]},"
                      "{\"type\":\"predicate\",\"instructions\":\"positive\"},"
                      "{\"type\":\"score\",\"name\":\"s\",\"instructions\":\"\",\"levels\":["
                      "{\"label\":\"negative\"},{\"label\":\"so \\\"so\\\" \\u20ac\"},"
                      "{\"label\":\"positive\"}]}]}");
    double sum = (double)v.probs[0] + (double)v.probs[2];
    double likeliest = fmax(fmax((double)v.probs[0], (double)v.probs[1]), (double)v.probs[2]);
    cr_assert_str_eq(json_string_at(root, "model"), "mood@4");
    cr_assert_eq(json_array_size(json_at(root, "answers")), 3);
    cr_assert_str_eq(json_string_at(root, "answers/0/type"), "choice");
    cr_assert_str_eq(json_string_at(root, "answers/0/name"), "mood");
    cr_assert_str_eq(json_string_at(root, "answers/0/choice"),
                     v.probs[2] > v.probs[0] ? "positive" : "negative");
    cr_assert_str_eq(json_string_at(root, "answers/0/probabilities/0/value"), "positive");
    cr_assert_float_eq(json_number_at(root, "answers/0/probabilities/0/probability"),
                       (double)v.probs[2] / sum, 1e-6);
    cr_assert_float_eq(json_number_at(root, "answers/0/confidence"),
                       fmax((double)v.probs[0], (double)v.probs[2]) / sum, 1e-6);
    cr_assert_str_eq(json_string_at(root, "answers/1/type"), "predicate");
    cr_assert(json_is_null(json_at(root, "answers/1/name")));
    cr_assert_eq((float)json_number_at(root, "answers/1/probability"), v.probs[2]);
    cr_assert_str_eq(json_string_at(root, "answers/2/type"), "score");
    cr_assert_float_eq(json_number_at(root, "answers/2/score"),
                       (double)v.probs[1] + 2 * (double)v.probs[2], 1e-6);
    cr_assert_float_eq(json_number_at(root, "answers/2/confidence"), likeliest, 1e-6);
    cr_assert_str_eq(json_string_at(root, "answers/2/probabilities/1/label"), mood_labels[1]);
    cr_assert_eq(json_number_at(root, "answers/2/probabilities/2/value"), 2);
    cr_assert_eq(json_number_at(root, "usage/input_tokens"), 5);
    cr_assert_eq(json_number_at(root, "usage/output_tokens"), 0);
    cr_assert_eq(json_number_at(root, "usage/total_tokens"), 5);
    cr_assert_eq(json_number_at(root, "usage/input_tokens_details/cached_tokens"), 0);
    cr_assert_eq(json_number_at(root, "usage/output_tokens_details/reasoning_tokens"), 0);
    cr_assert_float_eq(json_number_at(root, "usage/sluice/depth_mean"), v.depth, 1e-4);
    json_decref(root);
    in_process_close(&mood);
}

Test(infer_http, decisions_keep_booleans_and_join_messages)
{
    struct in_process_classifier plain = in_process_open(d.store, PLAIN);
    struct classification v = in_process_classify(&plain, "one\ntwo");
    json_t *root = posted(
        "/v1/decisions",
        "{\"model\":\"plain\",\"input\":[{\"role\":\"user\",\"content\":\"one\"},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"two\"}]}],"
        "\"questions\":[{\"type\":\"choice\",\"instructions\":\"?\",\"choices\":[{\"value\":true},"
        "{\"value\":\"false\"}]}]}");
    const json_t *choice = json_at(root, "answers/0/choice");
    if (v.probs[1] > v.probs[0])
        cr_assert(json_is_true(choice));
    else
        cr_assert_str_eq(json_string_value(choice), "false");
    cr_assert(json_is_true(json_at(root, "answers/0/probabilities/0/value")));
    cr_assert_str_eq(json_string_at(root, "answers/0/probabilities/1/value"), "false");
    json_decref(root);
    in_process_close(&plain);
}

/* Of one label, as a classifier answers when it reads these parts of a message. */
static double decided(const char *model, const char *parts)
{
    struct sl_buffer body = {0};
    sl_buffer_printf(
        &body,
        "{\"model\":\"%s\",\"input\":[{\"role\":\"user\",\"content\":%s}],\"questions\":[{"
        "\"type\":\"predicate\",\"instructions\":\"positive\"}]}",
        model, parts);
    json_t *root = posted("/v1/decisions", body.data);
    double probability = json_number_at(root, "answers/0/probability");
    json_decref(root);
    sl_buffer_release(&body);
    return probability;
}

#define PART(text) "{\"type\":\"input_text\",\"text\":\"" text "\"}"

/* Parts are lines where the vocabulary has line breaks, and words where it has none. */
Test(infer_daemon, parts_are_joined_by_what_the_vocabulary_has)
{
    static const char *const models[] = {MOOD, FLAT}, *const wholes[] = {"one\ntwo", "one two"};
    daemon_make_store(&d);
    tiny_classifiers_make(d.store);
    tiny_others_make(d.store);
    daemon_serve(&d, (const char *const[]){NULL});
    for (int i = 0; i < 2; i++) {
        struct in_process_classifier oracle = in_process_open(d.store, models[i]);
        struct classification v = in_process_classify(&oracle, wholes[i]);
        cr_assert_eq((float)decided(models[i], "[" PART("one") "," PART("two") "]"), v.probs[2]);
        cr_assert_eq(
            (float)decided(models[i], "\"one\"},{\"role\":\"user\",\"content\":[" PART("two") "]"),
            v.probs[2]);
        in_process_close(&oracle);
    }
    struct http_response answer = http_request(
        &d, "POST", "/v1/decisions",
        "{\"model\":\"flat\",\"input\":[{\"role\":\"user\",\"content\":[" PART("a\\nb") "," PART(
            "c") "]}],\"questions\":[{\"type\":\"predicate\",\"instructions\":\"positive\"}]}");
    cr_assert_eq(answer.status, 400, "a line break of the text's own is not replaced");
    cr_assert(strstr(answer.body.data, "U+000A"), "%s", answer.body.data);
    http_response_release(&answer);
    stop();
}

Test(infer_http, four_hundred_questions_about_one_text)
{
    enum { QUESTIONS = 400 };
    struct sl_buffer body = {0};
    sl_buffer_append_string(&body, DECIDE "[");
    for (int i = 0; i < QUESTIONS; i++)
        sl_buffer_printf(&body,
                         "%s{\"type\":\"predicate\",\"name\":\"%d\",\"instructions\":\"%s\"}",
                         i ? "," : "", i, i % 2 ? "positive" : "negative");
    sl_buffer_append_string(&body, "]}");
    json_t *root = posted("/v1/decisions", body.data);
    cr_assert_eq(json_array_size(json_at(root, "answers")), QUESTIONS);
    cr_assert_str_eq(json_string_at(json_array_get(json_at(root, "answers"), 399), "name"), "399");
    cr_assert_eq(
        metric_value(&d,
                     "sluice_classified_texts_total{model=\"mood\",version=\"4\",outcome=\"ok\"}"),
        1, "the text is classified once");
    json_decref(root);
    sl_buffer_release(&body);
}

Test(infer_http, decisions_that_a_classifier_cannot_make_are_rejected)
{
    static const struct {
        const char *body, *param, *code, *part;
        long status;
    } cases[] = {
        {DECIDE
         "[{\"type\":\"choice\",\"instructions\":\"?\",\"choices\":[{\"value\":\"positive\"},"
         "{\"value\":\"happy\"}]}]}",
         "questions[0].choices[1].value", "invalid_value",
         "not \"happy\"; 'mood@4' is a classifier and can choose only between its own labels: "
         "negative, ",
         400},
        {DECIDE
         "[{\"type\":\"choice\",\"instructions\":\"?\",\"choices\":[{\"value\":\"positive\"},"
         "{\"value\":\"positive\"}]}]}",
         "questions[0].choices[1].value", "invalid_value", "repeats", 400},
        {DECIDE
         "[{\"type\":\"choice\",\"instructions\":\"?\",\"choices\":[{\"value\":\"positive\"},"
         "{\"value\":true}]}]}",
         "questions[0].choices[1].value", "invalid_value", "not \"true\"", 400},
        {DECIDE "[{\"type\":\"predicate\",\"instructions\":\"positive\"},{\"type\":\"predicate\","
                "\"instructions\":\"Is it good?\"}]}",
         "questions[1].instructions", "invalid_value", "must be a label", 400},
        {DECIDE "[{\"type\":\"score\",\"instructions\":\"?\",\"levels\":[{\"label\":\"negative\"},"
                "{\"label\":\"positive\"}]}]}",
         "questions[0].levels", "invalid_value", "has 2 levels; it must have all 3 labels", 400},
        {DECIDE "[{\"type\":\"score\",\"instructions\":\"?\",\"levels\":[{\"label\":\"positive\"},"
                "{\"label\":\"neutral\"},{\"label\":\"negative\"}]}]}",
         "questions[0].levels", "invalid_value", "in order, not \"positive\"", 400},
        {"{\"model\":\"tiny\",\"input\":\"a\",\"questions\":[{\"type\":\"predicate\","
         "\"instructions\":\"a\"}]}",
         "model", "not_a_classifier", "is not a classifier", 400},
        {"{\"model\":\"none\",\"input\":\"a\",\"questions\":[{\"type\":\"predicate\","
         "\"instructions\":\"a\"}]}",
         "model", "model_not_found", "does not exist", 404},
        {"{\"model\":\"mood\",\"input\":\"\",\"questions\":[{\"type\":\"predicate\","
         "\"instructions\":\"positive\"}]}",
         "input", "invalid_value", "no tokens", 400},
        {"{\"model\":\"plain\",\"input\":\" \",\"questions\":[{\"type\":\"predicate\","
         "\"instructions\":\"true\"}]}",
         "input", "invalid_value", "no tokens", 400},
        {"{\"model\":\"plain\",\"input\":\"!\",\"questions\":[{\"type\":\"predicate\","
         "\"instructions\":\"true\"}]}",
         NULL, "internal", "NaN or infinity", 500},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_response answer = http_request(&d, "POST", "/v1/decisions", cases[i].body);
        cr_assert_eq(answer.status, cases[i].status, "%ld %s", answer.status, answer.body.data);
        json_t *root = json_from_response(&answer);
        cr_assert_eq(json_object_size(json_at(root, "error")), 4);
        cr_assert_str_eq(json_string_at(root, "error/code"), cases[i].code);
        cr_assert(strstr(json_string_at(root, "error/message"), cases[i].part), "%s",
                  json_string_at(root, "error/message"));
        if (cases[i].param)
            cr_assert_str_eq(json_string_at(root, "error/param"), cases[i].param);
        const char *again = http_response_header(&answer, "x-should-retry");
        cr_assert_eq(again && strcmp(again, "false") == 0, cases[i].status == 500,
                     "the numbers will be no better");
        json_decref(root);
        http_response_release(&answer);
    }
}

Test(infer_http, a_decision_about_a_truncated_text_reports_it)
{
    char body[512], text[64];
    memset(text, 'a', 60);
    text[60] = '\0';
    (void)snprintf(body, sizeof body,
                   "{\"model\":\"mood\",\"input\":\"%s\",\"truncate\":true,\"questions\":[{"
                   "\"type\":\"predicate\",\"instructions\":\"positive\"}]}",
                   text);
    json_t *root = posted("/v1/decisions", body);
    cr_assert_eq(json_number_at(root, "usage/sluice/truncated/input_tokens_given"), 60);
    cr_assert_eq(json_number_at(root, "usage/sluice/truncated/input_tokens_used"), MOOD_CONTEXT);
    cr_assert_eq(json_number_at(root, "usage/input_tokens"), MOOD_CONTEXT);
    json_decref(root);
}
