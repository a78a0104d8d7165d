/* test_tokens_http.c - what sluiced answers about tokens as Text Embeddings Inference asks for
 * them: texts to tokens with their places, and back. */
#include "limits.h"
#include "tei_answer.h"
#include "tiny_classifier.h"

static struct daemon d;

static void start(void)
{
    daemon_make_store(&d);
    tiny_classifiers_make(d.store);
    tiny_raw_make(d.store);
    daemon_serve(&d, (const char *const[]){"--default-classifier", MOOD, NULL});
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(tokens_http, .init = start, .fini = stop);

static json_t *posted(const char *path, const char *body)
{
    return posted_to(&d, path, body);
}

Test(tokens_http, tokens_say_where_in_the_text_they_are)
{
    json_t *root = posted("/tokenize", "{\"inputs\":\"a\\u20acb\"}");
    cr_assert_eq(json_array_size(root), 1);
    cr_assert_eq(json_array_size(at(root, "0")), 3);
    cr_assert_str_eq(text_at(root, "0/1/text"), "\xE2\x82\xAC");
    cr_assert_eq(number_at(root, "0/1/start"), 1);
    cr_assert_eq(number_at(root, "0/1/stop"), 2, "characters, not bytes");
    cr_assert_eq(number_at(root, "0/2/start"), 2);
    cr_assert(json_is_false(at(root, "0/2/special")));
    json_decref(root);
    root = posted("/models/plain/tokenize", "{\"inputs\":[\"ab\",\"C.\"]}");
    cr_assert_eq(json_array_size(root), 2);
    cr_assert_eq(json_array_size(at(root, "0")), 4);
    cr_assert_str_eq(text_at(root, "0/0/text"), "[CLS]");
    cr_assert(json_is_true(at(root, "0/0/special")));
    cr_assert(json_is_null(at(root, "0/0/start")) && json_is_null(at(root, "0/0/stop")));
    cr_assert_str_eq(text_at(root, "0/2/text"), "b");
    cr_assert_str_eq(text_at(root, "1/1/text"), "C");
    cr_assert_str_eq(text_at(root, "1/3/text"), "[SEP]");
    json_decref(root);
    root = posted("/tokenize?model=plain", "{\"inputs\":\"ab\",\"add_special_tokens\":false}");
    cr_assert_eq(json_array_size(at(root, "0")), 2);
    json_decref(root);
    root = posted("/models/tiny/tokenize", "{\"inputs\":\"ab\"}");
    cr_assert_eq(json_array_size(at(root, "0")), 2, "models that complete have tokens too");
    json_decref(root);
}

Test(tokens_http, tokens_decode_to_texts)
{
    json_t *tokens = posted("/models/plain/tokenize", "{\"inputs\":\"ab c\"}");
    char body[256] = "{\"ids\":[";
    for (size_t i = 0; i < json_array_size(at(tokens, "0")); i++)
        (void)snprintf(
            body + strlen(body), sizeof body - strlen(body), "%s%d", i ? "," : "",
            (int)json_integer_value(json_object_get(json_array_get(at(tokens, "0"), i), "id")));
    size_t end = strlen(body);
    (void)snprintf(body + end, sizeof body - end, "]}");
    json_t *root = posted("/models/plain/decode", body);
    cr_assert_eq(json_array_size(root), 1);
    cr_assert_str_eq(text_at(root, "0"), "ab c");
    json_decref(root);
    (void)snprintf(body + end, sizeof body - end, "],\"skip_special_tokens\":false}");
    root = posted("/models/plain/decode", body);
    cr_assert_str_eq(text_at(root, "0"), "[CLS] ab c [SEP]");
    json_decref(root);
    root = posted("/models/plain/decode", "{\"ids\":[[9],[10,36],[]]}");
    cr_assert_eq(json_array_size(root), 3);
    cr_assert_str_eq(text_at(root, "1"), "bb");
    cr_assert_str_eq(text_at(root, "2"), "");
    json_decref(root);
    json_decref(tokens);
}

Test(tokens_http, one_answer_decodes_so_many_tokens)
{
    struct sv_text body = {0};
    sv_text_adds(&body, "{\"ids\":[[9");
    for (int i = 0; i < SV_TOKENIZED_MAX; i++)
        sv_text_adds(&body, ",9");
    sv_text_adds(&body, "]]}");
    struct answer answer = ask(&d, "POST", "/models/plain/decode", body.data);
    expect_error(&answer, 422, "validation", "'ids' has 262145 token ids, one answer has at most");
    sv_text_release(&body);
}

Test(tokens_http, a_byte_of_a_character_has_the_place_of_all_of_it)
{
    json_t *root = posted("/models/raw/tokenize", "{\"inputs\":\"a\\u20acb\"}");
    static const int places[][2] = {{0, 1}, {1, 2}, {1, 2}, {1, 2}, {2, 3}};
    static const char *const texts[] = {"a", "\u20ac", "\u20ac", "\u20ac", "b"};
    for (size_t i = 0; i < 5; i++) {
        const json_t *token = json_array_get(at(root, "0"), i);
        cr_assert_str_eq(text_at(token, "text"), texts[i], "token %zu", i);
        cr_assert_eq(number_at(token, "start"), places[i][0], "token %zu", i);
        cr_assert_eq(number_at(token, "stop"), places[i][1], "token %zu", i);
    }
    json_decref(root);
}
