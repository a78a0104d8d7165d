/* test_json_schema.c - wire: completion requests are read exactly, and every mistake is named. */
#include "base/buffer.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "params/completion_params.h"
#include "support/test.h"

static struct sv_completion_params params;
static struct sv_error error;

static struct sv_json_document *read_text(const char *text, size_t bytes)
{
    error = (struct sv_error){.kind = SV_OK};
    const struct sl_buffer body = {.data = (char *)(uintptr_t)text, .bytes = bytes};
    return sv_completion_params_read(&body, &params, &error);
}

static struct sv_json_document *expect_read(const char *text)
{
    struct sv_json_document *document = read_text(text, strlen(text));
    cr_assert(document, "%s: %s", text, error.message);
    return document;
}

static void expect_refused(const char *text, size_t bytes, enum sv_error_kind kind,
                           const char *param, const char *message)
{
    struct sv_json_document *document = read_text(text, bytes);
    cr_assert_null(document, "%s was accepted", text);
    cr_assert_eq(error.kind, kind, "%s: kind %d: %s", text, (int)error.kind, error.message);
    cr_assert_str_eq(error.param, param, "%s", text);
    cr_assert(strstr(error.message, message), "%s: '%s' lacks '%s'", text, error.message, message);
}

Test(json_schema, defaults)
{
    struct sv_json_document *document = expect_read("{\"model\":\"m\"}");
    cr_assert_str_eq(params.model.data, "m");
    cr_assert_eq(params.prompt.count, 0);
    cr_assert_eq(params.max_tokens, 16);
    cr_assert_eq(params.n, 1);
    cr_assert_eq(params.temperature, 1);
    cr_assert_eq(params.top_p, 1);
    cr_assert_not(params.stream);
    cr_assert_not(params.logprobs_given);
    cr_assert_not(params.seed_given);
    sv_json_document_release(document);
}

Test(json_schema, everything)
{
    struct sv_json_document *document = expect_read(
        "{\"model\":\"m\",\"prompt\":\"To be\",\"max_tokens\":5,\"temperature\":0.5,\"top_p\":0.9,"
        "\"top_k\":3,\"n\":2,\"best_of\":2,\"stop\":[\"\\n\",\"x\"],\"seed\":-7,\"logprobs\":0,"
        "\"echo\":true,\"stream\":true,\"stream_options\":{\"include_usage\":true},"
        "\"presence_penalty\":-2,\"frequency_penalty\":2,\"logit_bias\":{\"3\":-100,\"4\":1.5},"
        "\"user\":\"u\",\"truncate\":true,\"unknown_characters\":\"replace\",\"suffix\":null}");
    cr_assert_eq(params.prompt.count, 1);
    cr_assert_null(params.prompt.items[0].ids);
    cr_assert_str_eq(params.prompt.items[0].text.data, "To be");
    cr_assert_eq(params.top_k, 3);
    cr_assert_eq(params.seed, -7);
    cr_assert(params.seed_given);
    cr_assert(params.logprobs_given);
    cr_assert_eq(params.logprobs, 0);
    cr_assert_eq(params.stop.count, 2);
    cr_assert_str_eq(params.stop.items[0].data, "\n");
    cr_assert(params.include_usage);
    cr_assert_eq(params.bias.count, 2);
    cr_assert_eq(params.bias.items[0].value + params.bias.items[1].value, -98.5f);
    cr_assert(params.truncate);
    cr_assert_eq(params.unknown, SL_UNKNOWN_REPLACE);
    sv_json_document_release(document);
}

Test(json_schema, prompts_of_every_kind)
{
    struct sv_json_document *document = expect_read("{\"model\":\"m\",\"prompt\":[\"a\",\"\"]}");
    cr_assert_eq(params.prompt.count, 2);
    cr_assert_eq(params.prompt.items[1].text.bytes, 0);
    sv_json_document_release(document);

    document = expect_read("{\"model\":\"m\",\"prompt\":[1,2,3]}");
    cr_assert_eq(params.prompt.count, 1);
    cr_assert_eq(params.prompt.items[0].id_count, 3);
    cr_assert_eq(params.prompt.items[0].ids[2], 3);
    sv_json_document_release(document);

    document = expect_read("{\"model\":\"m\",\"prompt\":[[1],[4],[2,3]]}");
    cr_assert_eq(params.prompt.count, 3);
    cr_assert_eq(params.prompt.items[1].id_count, 1);
    cr_assert_eq(params.prompt.items[1].ids[0], 4);
    cr_assert_eq(params.prompt.items[2].ids[1], 3);
    sv_json_document_release(document);

    document = expect_read("{\"model\":\"m\",\"prompt\":null}");
    cr_assert_eq(params.prompt.count, 0);
    sv_json_document_release(document);
}

/* A body and what is said about it. M stands for the model, so that only one thing is wrong. */
#define M "{\"model\":\"m\","

Test(json_schema, mistakes_are_named)
{
    static const struct {
        const char *text;
        enum sv_error_kind kind;
        const char *param, *message;
    } cases[] = {
        {"", SV_INVALID_JSON, "", "The body is empty"},
        {"{\"model\":\"m\"", SV_INVALID_JSON, "", "line 1"},
        {M "}", SV_INVALID_JSON, "", "JSON"},
        {M "\"n\":01}", SV_INVALID_JSON, "", "JSON"},
        {M "\"n\":NaN}", SV_INVALID_JSON, "", "JSON"},
        {M "\"user\":\"\xff\"}", SV_INVALID_JSON, "", "line 1"},
        {M "\"user\":\"\\ud800\"}", SV_INVALID_JSON, "", "line 1"},
        {M "\"n\":1} x", SV_INVALID_JSON, "", "line 1"},
        {"[]", SV_INVALID_VALUE, "", "must be a JSON object"},
        {"3", SV_INVALID_VALUE, "", "must be a JSON object"},
        {M "\"n\":1,\"n\":1}", SV_INVALID_VALUE, "", "line 1"},
        {M "\"a\\u0000b\":1}", SV_INVALID_VALUE, "", "line 1"},
        {"{}", SV_MISSING_PARAMETER, "model", "'model' is required"},
        {"{\"model\":null}", SV_MISSING_PARAMETER, "model", "'model' is required"},
        {"{\"model\":3}", SV_INVALID_VALUE, "model", "must be a string, not 3"},
        {M "\"promt\":\"x\"}", SV_UNKNOWN_PARAMETER, "promt",
         "Accepted: model, prompt, max_tokens"},
        {M "\"suffix\":\"x\"}", SV_UNSUPPORTED_PARAMETER, "suffix", "not supported"},
        {M "\"messages\":[]}", SV_UNSUPPORTED_PARAMETER, "messages", "or send 'prompt'"},
        {M "\"tools\":[]}", SV_UNSUPPORTED_PARAMETER, "tools", "not supported"},
        {M "\"best_of\":3}", SV_UNSUPPORTED_PARAMETER, "best_of", "must equal 'n', which is 1"},
        {M "\"max_tokens\":-1}", SV_INVALID_VALUE, "max_tokens",
         "an integer from 0 to 1000000, not -1"},
        {M "\"max_tokens\":1.5}", SV_INVALID_VALUE, "max_tokens", "not 1.5"},
        {M "\"max_tokens\":\"9\"}", SV_INVALID_VALUE, "max_tokens", "not \"9\""},
        {M "\"max_tokens\":99999999999}", SV_INVALID_VALUE, "max_tokens", "to 1000000"},
        {M "\"temperature\":2.1}", SV_INVALID_VALUE, "temperature",
         "a number from 0 to 2, not 2.1"},
        {M "\"temperature\":true}", SV_INVALID_VALUE, "temperature", "not true"},
        {M "\"temperature\":1e999}", SV_INVALID_VALUE, "temperature", "from 0 to 2, not 1e999"},
        {M "\"temperature\":-1E+400}", SV_INVALID_VALUE, "temperature", "not -1E+400"},
        {M "\"user\":18446744073709551616}", SV_INVALID_VALUE, "user",
         "a string, not 18446744073709551616"},
        {M "\"seed\":18446744073709551615}", SV_INVALID_VALUE, "seed",
         "to 9223372036854775807, not 18446744073709551615"},
        {M "\"prompt\":[1,9223372036854775808]}", SV_INVALID_VALUE, "prompt[1]",
         "not 9223372036854775808"},
        {M "\"n\":9223372036854775808,\"n\":1}", SV_INVALID_VALUE, "", "line 1"},
        {M "\"n\":-01e999}", SV_INVALID_JSON, "", "line 1"},
        {M "\"n\":1e999x}", SV_INVALID_JSON, "", "line 1"},
        {M "1e999:1}", SV_INVALID_VALUE, "", "line 1"},
        {M "\"tools\":1e999}", SV_UNSUPPORTED_PARAMETER, "tools", "not supported"},
        {M "\"stop\":null,\"n\":\"9223372036854775808", SV_INVALID_JSON, "", "line 1"},
        {M "\"top_p\":1.0000001}", SV_INVALID_VALUE, "top_p", "from 0 to 1, not 1.0000001."},
        {M "\"top_p\":-0.1}", SV_INVALID_VALUE, "top_p", "from 0 to 1"},
        {M "\"logprobs\":6}", SV_INVALID_VALUE, "logprobs", "from 0 to 5"},
        {M "\"stream\":1}", SV_INVALID_VALUE, "stream", "true or false, not 1"},
        {M "\"stop\":[\"a\",\"b\",\"c\",\"d\",\"e\"]}", SV_OK, "", ""},
        {M
         "\"stop\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\",\"k\",\"l\",\"m\","
         "\"n\",\"o\",\"p\",\"q\"]}",
         SV_INVALID_VALUE, "stop", "holds 17 strings; at most 16"},
        {M "\"stop\":[1]}", SV_INVALID_VALUE, "stop[0]", "a string, not 1"},
        {M "\"stop\":\"\"}", SV_INVALID_VALUE, "stop", "0 bytes"},
        {M "\"stop\":{}}", SV_INVALID_VALUE, "stop", "an object"},
        {M "\"prompt\":[]}", SV_EMPTY_INPUT, "prompt", "empty array"},
        {M "\"prompt\":[[]]}", SV_EMPTY_INPUT, "prompt[0]", "empty array"},
        {M "\"prompt\":[[1],[]]}", SV_EMPTY_INPUT, "prompt[1]", "empty array"},
        {M "\"prompt\":3}", SV_INVALID_VALUE, "prompt", "not 3"},
        {M "\"seed\":1.0}", SV_INVALID_VALUE, "seed", "to 9223372036854775807, not 1.0"},
        {M "\"prompt\":[1,\"a\"]}", SV_INVALID_VALUE, "prompt[1]", "not \"a\""},
        {M "\"prompt\":[\"a\",1]}", SV_INVALID_VALUE, "prompt[1]", "not 1"},
        {M "\"prompt\":[[1],\"a\"]}", SV_INVALID_VALUE, "prompt[1]", "not \"a\""},
        {M "\"prompt\":[[1],[true]]}", SV_INVALID_VALUE, "prompt[1][0]", "not true"},
        {M "\"prompt\":[-1]}", SV_INVALID_VALUE, "prompt[0]", "from 0 to 2147483647, not -1"},
        {M "\"prompt\":\"a\\u0000b\"}", SV_INVALID_VALUE, "prompt", "U+0000"},
        {M "\"prompt\":[[[1]]]}", SV_INVALID_VALUE, "prompt[0][0]", "an array"},
        {M "\"logit_bias\":{\" 1\":1}}", SV_INVALID_VALUE, "logit_bias", "key \" 1\""},
        {M "\"logit_bias\":{\"01\":1,\"1\":1}}", SV_INVALID_VALUE, "logit_bias", "key \"01\""},
        {M "\"logit_bias\":{\"2147483648\":1}}", SV_INVALID_VALUE, "logit_bias", "0 to 2147483647"},
        {M "\"logit_bias\":{\"x\":1}}", SV_INVALID_VALUE, "logit_bias", "keys must be token ids"},
        {M "\"logit_bias\":{\"1\":101}}", SV_INVALID_VALUE, "logit_bias",
         "from -100 to 100, not 101"},
        {M "\"logit_bias\":[]}", SV_INVALID_VALUE, "logit_bias", "an object"},
        {M "\"stream_options\":{}}", SV_OK, "", ""},
        {M "\"stream_options\":{\"include_usage\":true}}", SV_INVALID_VALUE, "stream_options",
         "'stream': true"},
        {M "\"stream\":true,\"stream_options\":{\"x\":1}}", SV_UNKNOWN_PARAMETER,
         "stream_options.x", "Accepted: include_usage"},
        {M "\"stream_options\":3}", SV_INVALID_VALUE, "stream_options", "an object, not 3"},
        {M "\"unknown_characters\":\"drop\"}", SV_INVALID_VALUE, "unknown_characters",
         "\"error\" or \"replace\", not \"drop\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (cases[i].kind == SV_OK)
            sv_json_document_release(expect_read(cases[i].text));
        else
            expect_refused(cases[i].text, strlen(cases[i].text), cases[i].kind, cases[i].param,
                           cases[i].message);
}

Test(json_schema, deep_and_wide_bodies_are_rejected)
{
    struct sl_buffer body = {0};
    for (int i = 0; i < 100000; i++)
        sl_buffer_append_string(&body, "[");
    expect_refused(body.data, body.bytes, SV_INVALID_VALUE, "", "deeper than 64 levels");
    sl_buffer_clear(&body);
    sl_buffer_append_string(&body, M "\"prompt\":[");
    for (int i = 0; i <= SV_PROMPTS_MAX; i++)
        sl_buffer_append_string(&body, i ? ",\"[{\\\"\"" : "\"\"");
    sl_buffer_append_string(&body, "]}");
    expect_refused(body.data, body.bytes, SV_INVALID_VALUE, "prompt", "513 texts; at most 512");
    sl_buffer_release(&body);
}

/* Small to send, large to hold: what is not needed is not parsed at all. */
Test(json_schema, bodies_with_too_many_values_are_rejected)
{
    struct sl_buffer body = {0};
    sl_buffer_append_string(&body, M "\"prompt\":[");
    for (int i = 0; i < SV_JSON_CONTAINERS_MAX - 2; i++)
        sl_buffer_append_string(&body, i ? ",{}" : "{}");
    expect_refused(body.data, body.bytes, SV_INVALID_JSON, "", "not valid JSON");
    sl_buffer_append_string(&body, ",{}");
    expect_refused(body.data, body.bytes, SV_INVALID_VALUE, "",
                   "more than 131072 arrays and objects");
    sl_buffer_clear(&body);
    for (int i = 0; i <= SV_JSON_MEMBERS_MAX; i++)
        sl_buffer_append_string(&body, i ? ",\"\":0" : "{\"[:\":0");
    expect_refused(body.data, body.bytes, SV_INVALID_VALUE, "", "more than 262144 members");
    sl_buffer_release(&body);
}

/* No cut and no changed byte of a good body may crash the reader. */
Test(json_schema, damaged_bodies)
{
    static const char good[] =
        M "\"prompt\":[[1,2],[3]],\"stop\":[\"\\u00e9\"],\"logit_bias\":{\"1\":2},\"n\":2,"
          "\"stream\":true,\"stream_options\":{\"include_usage\":false}}";
    uint64_t seed = test_seed();
    sv_json_document_release(expect_read(good));
    for (size_t cut = 0; cut < sizeof good - 1; cut++)
        cr_assert_null(read_text(good, cut));
    for (int i = 0; i < 20000; i++) {
        char bad[sizeof good];
        memcpy(bad, good, sizeof good);
        for (int k = 0; k < 1 + i % 3; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            bad[(seed >> 33) % (sizeof good - 1)] = (char)(seed >> 56);
        }
        sv_json_document_release(read_text(bad, sizeof good - 1));
    }
}

Test(utf8_text, json_strings)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", "\"\""},
        {"a\"b\\c\n\t\r\x01\x7f", "\"a\\\"b\\\\c\\n\\t\\r\\u0001\\u007f\""},
        {"caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80",
         "\"caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\""},
        {"\xC3", "\"\xEF\xBF\xBD\""},
        {"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"\xC0\xAFx", "\"\xEF\xBF\xBD\xEF\xBF\xBDx\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sl_buffer out = {0};
        sl_json_quote(&out, cases[i].in);
        cr_assert_str_eq(out.data, cases[i].out);
        sl_buffer_release(&out);
    }
}

Test(utf8_text, none_grows_beyond_its_bound)
{
    enum { PIECE_BYTES = 1 << 20 };

    struct sl_buffer text = {0};
    char *piece = calloc(1, PIECE_BYTES);
    cr_assert(piece);
    for (int i = 0; i < SL_BUFFER_BYTES_MAX / PIECE_BYTES; i++)
        sl_buffer_append(&text, piece, PIECE_BYTES);
    cr_assert_not(text.failed);
    cr_assert_eq(text.bytes, SL_BUFFER_BYTES_MAX);
    cr_assert_leq(text.capacity, (size_t)SL_BUFFER_BYTES_MAX + 1);
    sl_buffer_append_string(&text, "x");
    cr_assert(text.failed && text.is_full);
    cr_assert_eq(text.bytes, SL_BUFFER_BYTES_MAX);
    sl_buffer_release(&text);
    free(piece);
}

Test(utf8_text, fitting_never_cuts_a_character)
{
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
    static const size_t fits[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (size_t max = 0; max < sizeof fits / sizeof fits[0]; max++)
        cr_assert_eq(sl_utf8_fit(text, sizeof text - 1, max), fits[max], "most %zu", max);
    cr_assert_eq(sl_utf8_count(text, sizeof text - 1), 4);
    cr_assert_eq(sl_utf8_count("\x82\xE2\x82", 3), 3, "JSON has U+FFFD for each");
}

/* A byte-level model may make such text: a stream must find a place to cut it. */
Test(utf8_text, continuation_bytes_are_cut_anywhere)
{
    static const char text[] = "\x80\x80\x80\x80\x80\x80\x80\x80";
    for (size_t max = 0; max <= sizeof text - 1; max++)
        cr_assert_eq(sl_utf8_fit(text, sizeof text - 1, max), max, "most %zu", max);
}
