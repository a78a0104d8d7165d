/* test_json_params.c - wire: requests to classify are read exactly in every family, and every
 * mistake is named. */
#include "base/buffer.h"
#include "params/decision_params.h"
#include "params/hf_params.h"
#include "params/infer_params.h"
#include "params/predict_params.h"
#include "params/tokenize_params.h"
#include "support/test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct sv_error error;

/* Of each family: what it was read into, and its reader behind one face. */
static struct sv_predict_params predict;
static struct sv_hf_params hf;
static struct sv_tokenize_params tokenize;
static struct sv_decode_params decode;
static struct sv_infer_params infer;
static struct sv_decision_params decision;

static struct sv_json_document *read_predict(const struct sl_buffer *body)
{
    return sv_predict_params_read(body, &predict, &error);
}

static struct sv_json_document *read_hf(const struct sl_buffer *body)
{
    return sv_hf_params_read(body, sv_hf_fields, &hf, &error);
}

static struct sv_json_document *read_tokenize(const struct sl_buffer *body)
{
    return sv_tokenize_params_read(body, &tokenize, &error);
}

static struct sv_json_document *read_decode(const struct sl_buffer *body)
{
    decode = (struct sv_decode_params){0};
    return sv_json_read(body, sv_decode_fields, NULL, &decode, &error);
}

static struct sv_json_document *read_infer(const struct sl_buffer *body)
{
    return sv_infer_params_read(body, body->bytes, &infer, &error);
}

static struct sv_json_document *read_decision(const struct sl_buffer *body)
{
    return sv_decision_params_read(body, &decision, &error);
}

static struct sv_json_document *expect_read(struct sv_json_document *read(const struct sl_buffer *),
                                            const char *text)
{
    const struct sl_buffer body = {.data = (char *)(uintptr_t)text, .bytes = strlen(text)};
    struct sv_json_document *document = read(&body);
    cr_assert(document, "%s: %s", text, error.message);
    return document;
}

static void expect_refused(struct sv_json_document *read(const struct sl_buffer *),
                           const char *text, enum sv_error_kind kind, const char *param,
                           const char *message)
{
    const struct sl_buffer body = {.data = (char *)(uintptr_t)text, .bytes = strlen(text)};
    error = (struct sv_error){.kind = SV_OK};
    cr_assert_null(read(&body), "%s was accepted", text);
    cr_assert_eq(error.kind, kind, "%s: kind %d: %s", text, (int)error.kind, error.message);
    cr_assert_str_eq(error.param, param, "%s", text);
    cr_assert(strstr(error.message, message), "%s: '%s' lacks '%s'", text, error.message, message);
}

/* ---- what is good --------------------------------------------------------------------------- */

Test(json_params, predict)
{
    struct sv_json_document *document = expect_read(read_predict, "{\"inputs\":\"a\"}");
    cr_assert_eq(predict.inputs.count, 1);
    cr_assert_not(predict.inputs.is_array);
    cr_assert_eq(predict.labels.function, SV_MODEL_SCORES);
    cr_assert_not(predict.tokenize.truncate);
    cr_assert_eq(predict.tokenize.side, SL_TRUNCATE_DEFAULT);
    cr_assert_eq(predict.labels.top_k, 0); /* all */
    sv_json_document_release(document);

    document = expect_read(read_predict,
                           "{\"inputs\":[[\"a\"],[\"bc\"]],\"raw_scores\":true,\"truncate\":true,"
                           "\"truncation_direction\":\"Left\",\"unknown_characters\":\"replace\"}");
    cr_assert_eq(predict.inputs.count, 2);
    cr_assert(predict.inputs.is_array);
    cr_assert_str_eq(predict.inputs.items[1].data, "bc");
    cr_assert_eq(predict.labels.function, SV_RAW_LOGITS);
    cr_assert(predict.tokenize.truncate);
    cr_assert_eq(predict.tokenize.side, SL_TRUNCATE_LEFT);
    cr_assert_eq(predict.tokenize.unknown, SL_UNKNOWN_REPLACE);
    sv_json_document_release(document);

    document = expect_read(read_hf, "{\"inputs\":[\"a\",\"b\",\"c\"],\"parameters\":{\"top_k\":2,"
                                    "\"function_to_apply\":\"sigmoid\",\"truncate\":true}}");
    cr_assert_eq(hf.inputs.count, 3);
    cr_assert_eq(hf.labels.top_k, 2);
    cr_assert_eq(hf.labels.function, SV_SIGMOID);
    cr_assert(hf.tokenize.truncate);
    sv_json_document_release(document);
}

static void expect_pair(const struct sv_texts *texts, int index, const char *second)
{
    const struct sv_string *pair = sv_texts_pair(texts, index);
    if (second) {
        cr_assert(pair);
        cr_assert_str_eq(pair->data, second);
    } else {
        cr_assert_null(pair);
    }
}

Test(json_params, pairs)
{
    const struct sv_texts *texts = &predict.inputs;
    struct sv_json_document *document = expect_read(read_predict, "{\"inputs\":[\"a\",\"b\"]}");
    cr_assert_eq(texts->count, 1);
    cr_assert_not(texts->is_array);
    expect_pair(texts, 0, "b");
    sv_json_document_release(document);

    document = expect_read(read_predict, "{\"inputs\":[[\"a\"],[\"b\",\"c\"],[\"d\"]]}");
    cr_assert_eq(texts->count, 3);
    cr_assert(texts->is_array);
    cr_assert_str_eq(texts->items[1].data, "b");
    expect_pair(texts, 0, NULL);
    expect_pair(texts, 1, "c");
    expect_pair(texts, 2, NULL);
    sv_json_document_release(document);

    texts = &hf.inputs;
    document = expect_read(read_hf, "{\"inputs\":{\"text\":\"a\",\"text_pair\":\"\"}}");
    cr_assert_eq(texts->count, 1);
    expect_pair(texts, 0, "");
    sv_json_document_release(document);

    document = expect_read(read_hf, "{\"inputs\":[\"a\",{\"text\":\"b\"},{\"text\":\"c\","
                                    "\"text_pair\":\"d\"}]}");
    cr_assert_eq(texts->count, 3);
    cr_assert_str_eq(texts->items[1].data, "b");
    expect_pair(texts, 1, NULL);
    expect_pair(texts, 2, "d");
    sv_json_document_release(document);
}

/* What these clients send and their servers ignore, or accept. */
Test(json_params, what_their_servers_ignore_is_ignored)
{
    struct sv_json_document *document = expect_read(
        read_hf, "{\"inputs\":\"a\",\"options\":{\"wait_for_model\":true,\"use_cache\":false},"
                 "\"parameters\":{\"return_all_scores\":true,\"padding\":\"longest\","
                 "\"truncation\":true,\"max_length\":99999999999999999999},\"x\":1e999}");
    cr_assert(hf.tokenize.truncate);
    cr_assert_eq(hf.labels.top_k, 0);
    sv_json_document_release(document);
    document = expect_read(read_predict, "{\"inputs\":\"a\",\"options\":{\"use_cache\":true},"
                                         "\"parameters\":[{}]}");
    sv_json_document_release(document);
    document = expect_read(read_tokenize, "{\"inputs\":\"a\",\"options\":{}}");
    sv_json_document_release(document);
}

Test(json_params, three_strings_are_three_texts)
{
    struct sv_json_document *document =
        expect_read(read_predict, "{\"inputs\":[\"a\",\"b\",\"c\"],\"blank_texts\":\"empty\"}");
    cr_assert_eq(predict.inputs.count, 3);
    cr_assert(predict.inputs.is_array);
    cr_assert_str_eq(predict.inputs.items[2].data, "c");
    cr_assert_eq(predict.tokenize.blanks, SV_BLANKS_EMPTY);
    sv_json_document_release(document);
    document = expect_read(read_predict, "{\"inputs\":[\"a\"]}");
    cr_assert_eq(predict.inputs.count, 1);
    cr_assert_not(predict.inputs.is_array);
    sv_json_document_release(document);
}

Test(json_params, tokens)
{
    struct sv_json_document *document = expect_read(read_tokenize, "{\"inputs\":\"a\"}");
    cr_assert(tokenize.adds_special);
    sv_json_document_release(document);
    document =
        expect_read(read_tokenize,
                    "{\"inputs\":[\"a\",\"b\"],\"add_special_tokens\":false,\"prompt_name\":null,"
                    "\"unknown_characters\":\"replace\"}");
    cr_assert_eq(tokenize.inputs.count, 2);
    cr_assert_not(tokenize.adds_special);
    cr_assert_eq(tokenize.unknown, SL_UNKNOWN_REPLACE);
    sv_json_document_release(document);

    document = expect_read(read_decode, "{\"ids\":[1,2]}");
    cr_assert_eq(decode.ids.count, 1);
    cr_assert_eq(decode.ids.items[0].id_count, 2);
    cr_assert(decode.skips_special);
    sv_json_document_release(document);
    document = expect_read(read_decode, "{\"ids\":[[1],[2,3]],\"skip_special_tokens\":false}");
    cr_assert_eq(decode.ids.count, 2);
    cr_assert_eq(decode.ids.items[1].ids[1], 3);
    cr_assert_not(decode.skips_special);
    sv_json_document_release(document);
}

#define TENSOR "\"name\":\"text\",\"datatype\":\"BYTES\","

Test(json_params, infer)
{
    struct sv_json_document *document =
        expect_read(read_infer, "{\"inputs\":[{" TENSOR "\"shape\":[2],\"data\":[\"a\",\"b\"]}]}");
    const struct sv_tensor *input = infer.inputs.items;
    cr_assert_eq(input->data.count, 2);
    cr_assert_eq(infer.outputs.count, 0);
    cr_assert_null(infer.id.data);
    sv_json_document_release(document);

    document = expect_read(
        read_infer,
        "{\"id\":\"42\",\"model_name\":\"m\",\"parameters\":{\"timeout\":50000,\"truncate\":true,"
        "\"content_type\":\"str\",\"binary_data_output\":true},"
        "\"inputs\":[{\"data\":[[\"a\"],[\"b\"]],\"parameters\":{\"content_type\":\"str\"}," TENSOR
        "\"shape\":[2,1]}],\"outputs\":[{\"name\":\"probs\"},"
        "{\"name\":\"logits\",\"parameters\":{\"classification\":2,\"binary_data\":true}}]}");
    input = infer.inputs.items;
    const struct sv_output *outputs = infer.outputs.items;
    cr_assert_str_eq(input->data.items[1].data, "b");
    cr_assert_str_eq(infer.id.data, "42");
    cr_assert_eq(infer.timeout_us, 50000);
    cr_assert(infer.tokenize.truncate);
    cr_assert_eq(infer.outputs.count, 2);
    cr_assert_eq(outputs[0].kind, SV_OUTPUT_PROBS);
    cr_assert_eq(outputs[1].kind, SV_OUTPUT_LOGITS);
    cr_assert_eq(outputs[1].classification, 2);
    sv_json_document_release(document);

    /* The content types of MLServer under which data are the texts themselves. */
    document = expect_read(
        read_infer, "{\"parameters\":{\"content_type\":\"np\"},\"inputs\":[{" TENSOR
                    "\"parameters\":{\"content_type\":\"np\"},\"shape\":[1],\"data\":[\"a\"]}],"
                    "\"outputs\":[{\"name\":\"label\",\"parameters\":{\"content_type\":\"str\"}},"
                    "{\"name\":\"probs\",\"parameters\":{\"content_type\":\"np\"}}]}");
    sv_json_document_release(document);

    /* As a client that writes out all it has, null or not. */
    document = expect_read(read_infer,
                           "{\"id\":null,\"parameters\":null,\"inputs\":[{" TENSOR
                           "\"parameters\":{\"content_type\":null,\"headers\":null},\"shape\":[1],"
                           "\"data\":[\"a\"]}],\"outputs\":[]}");
    cr_assert_eq(infer.outputs.count, 0);
    sv_json_document_release(document);
}

Test(json_params, decisions)
{
    struct sv_json_document *document = expect_read(
        read_decision,
        "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":\"one\"},"
        "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\","
        "\"text\":\"two\"},{\"type\":\"input_text\",\"text\":\"\"}]}],"
        "\"questions\":[{\"type\":\"choice\",\"name\":\"q\",\"instructions\":\"which?\","
        "\"choices\":[{\"value\":\"x\",\"description\":\"d\"},{\"value\":true}]},"
        "{\"type\":\"predicate\",\"instructions\":[{\"type\":\"input_text\",\"text\":\"x\"},"
        "{\"type\":\"input_text\",\"text\":\"y\"}]},"
        "{\"type\":\"score\",\"instructions\":\"\",\"levels\":[{\"label\":\"1\"},"
        "{\"label\":\"2\"}]}],"
        "\"safety_identifier\":\"me\",\"prompt_cache_key\":\"k\"}");
    const struct sv_question *questions = decision.questions.items;
    const struct sv_choice *choices = questions[0].choices.items;
    const struct sv_level *levels = questions[2].levels.items;
    static const char *const parts[] = {"one", "two", ""};
    struct sv_string whole;
    cr_assert_eq(decision.input.count, COUNT(parts));
    for (size_t i = 0; i < COUNT(parts); i++)
        cr_assert_str_eq(decision.input.items[i].data, parts[i]);
    cr_assert(sv_texts_join(document, &decision.input, ' ', &whole, &error));
    cr_assert_str_eq(whole.data, "one two ");
    cr_assert_eq(whole.bytes, 8);
    cr_assert_eq(decision.questions.count, 3);
    cr_assert_eq(questions[0].type, SV_CHOICE);
    cr_assert_str_eq(questions[0].name.data, "q");
    cr_assert_str_eq(choices[0].value.text.data, "x");
    cr_assert(choices[1].value.is_boolean);
    cr_assert_str_eq(choices[1].value.text.data, "true");
    cr_assert_eq(questions[1].type, SV_PREDICATE);
    cr_assert_str_eq(questions[1].instructions.data, "x\ny");
    cr_assert_null(questions[1].name.data);
    cr_assert_str_eq(levels[1].label.data, "2");
    sv_json_document_release(document);
}

/* ---- mistakes ------------------------------------------------------------------------------- */

#define IN   "{\"inputs\":[{" TENSOR "\"shape\":[1],\"data\":[\"a\"]}]"
#define X16  "xxxxxxxxxxxxxxxx"
#define X64  X16 X16 X16 X16
#define X256 X64 X64 X64 X64

#define D      "{\"model\":\"m\",\"input\":\"a\",\"questions\":"
#define CHOICE "\"type\":\"choice\",\"instructions\":\"?\",\"choices\":"

static const struct {
    struct sv_json_document *(*read)(const struct sl_buffer *);
    const char *text;
    enum sv_error_kind kind;
    const char *param, *message;
} mistakes[] = {
    {read_predict, "{\"inputs\":[\"a\",\"b\",1]}", SV_INVALID_VALUE, "inputs[2]",
     "a string, not 1"},
    {read_predict, "{\"inputs\":[[\"a\",\"b\",\"c\"]]}", SV_INVALID_VALUE, "inputs[0]",
     "of 3 elements; expected one string, or two"},
    {read_predict, "{\"inputs\":[\"a\",[\"b\"]]}", SV_INVALID_VALUE, "inputs[1]",
     "a string, not an array"},
    {read_predict, "{\"inputs\":[\"a\",1]}", SV_INVALID_VALUE, "inputs[1]", "a string, not 1"},
    {read_predict, "{\"inputs\":[[\"a\",1]]}", SV_INVALID_VALUE, "inputs[0][1]", "a string, not 1"},
    {read_predict, "{\"input\":\"a\"}", SV_MISSING_PARAMETER, "inputs",
     "'inputs' is required; there is only 'input'."},
    {read_predict, "{\"elephant\":1}", SV_MISSING_PARAMETER, "inputs", "'inputs' is required."},
    {read_predict, "{\"inputs\":\"a\",\"model\":\"m\"}", SV_UNSUPPORTED_PARAMETER, "model",
     "Name the model in the path"},
    {read_predict, "{\"inputs\":\"a\",\"sluice\":{\"x\":1}}", SV_UNKNOWN_PARAMETER, "sluice.x",
     "Accepted: explain, depth, budget"},
    {read_predict, "{\"inputs\":\"a\",\"blank_texts\":\"skip\"}", SV_INVALID_VALUE, "blank_texts",
     "\"error\" or \"empty\", not \"skip\""},
    {read_predict, "", SV_INVALID_JSON, "", "The body is empty; a JSON object is needed."},
    {read_predict, "{\"inputs\":[[\"a\"],[1]]}", SV_INVALID_VALUE, "inputs[1][0]", "not 1"},
    {read_predict, "{\"inputs\":[[\"a\"],null]}", SV_INVALID_VALUE, "inputs[1]", "not null"},
    {read_predict, "{\"inputs\":[1]}", SV_INVALID_VALUE, "inputs[0]", "not 1"},
    {read_predict, "{\"inputs\":{}}", SV_INVALID_VALUE, "inputs",
     "must be a string, a pair of strings, three or more strings, or an array like "
     "[[\"a\"],[\"b\",\"c\"]] with a text or a pair in each inner array"},
    {read_predict, "{\"inputs\":[[\"a\"],[]]}", SV_EMPTY_INPUT, "inputs[1]", "empty array"},
    {read_predict, "{\"inputs\":[]}", SV_EMPTY_INPUT, "inputs", "empty array"},
    {read_predict, "{}", SV_MISSING_PARAMETER, "inputs", "required"},
    {read_predict, "[]", SV_INVALID_VALUE, "", "JSON object"},
    {read_hf, "{\"inputs\":[[\"a\"]]}", SV_INVALID_VALUE, "inputs[0]", "a string, not an array"},
    {read_hf, "{\"inputs\":{\"text_pair\":\"b\"}}", SV_MISSING_PARAMETER, "inputs.text",
     "required"},
    {read_hf, "{\"inputs\":[\"a\",{\"text\":1}]}", SV_INVALID_VALUE, "inputs[1].text", "not 1"},
    {read_hf, "{\"inputs\":[{\"text\":\"a\",\"pair\":\"b\"}]}", SV_UNKNOWN_PARAMETER,
     "inputs[0].pair", "text_pair"},
    {read_tokenize, "{\"inputs\":{\"text\":\"a\"}}", SV_INVALID_VALUE, "inputs",
     "a string or an array of strings, not an object"},
    {read_tokenize, "{\"inputs\":[{\"text\":\"a\"}]}", SV_INVALID_VALUE, "inputs[0]",
     "a string, not an object"},
    {read_hf, "{\"inputs\":\"a\",\"parameters\":{\"top_k\":0}}", SV_INVALID_VALUE,
     "parameters.top_k", "from 1 to 4096, not 0"},
    {read_hf, "{\"inputs\":\"a\",\"parameters\":3}", SV_INVALID_VALUE, "parameters",
     "an object, not 3"},
    {read_tokenize, "{\"inputs\":[\"a\",1]}", SV_INVALID_VALUE, "inputs[1]", "a string, not 1"},
    {read_tokenize, "{\"inputs\":\"a\",\"unknown_characters\":\"no\"}", SV_INVALID_VALUE,
     "unknown_characters", "not \"no\""},
    {read_tokenize, "{\"inputs\":\"a\",\"prompt_name\":3}", SV_INVALID_VALUE, "prompt_name",
     "a string, not 3"},
    {read_tokenize, "{\"inputs\":\"\"}", SV_EMPTY_INPUT, "inputs", "empty text"},
    {read_tokenize, "{\"inputs\":[\"a\",\"\"]}", SV_EMPTY_INPUT, "inputs[1]", "empty text"},
    {read_decode, "{\"ids\":[]}", SV_EMPTY_INPUT, "ids", "empty array"},
    {read_decode, "{\"ids\":[[1],[]]}", SV_EMPTY_INPUT, "ids[1]", "empty array"},
    {read_decode, "{\"ids\":\"a\"}", SV_INVALID_VALUE, "ids", "array of token ids"},
    {read_decode, "{\"ids\":[\"a\"]}", SV_INVALID_VALUE, "ids", "not \"a\""},
    {read_decode, "{\"ids\":[[1],2]}", SV_INVALID_VALUE, "ids[1]", "not 2"},
    {read_decode, "{\"ids\":[1,-2]}", SV_INVALID_VALUE, "ids[1]", "from 0 to 2147483647, not -2"},
    {read_decode, "{\"ids\":[1,2.5]}", SV_INVALID_VALUE, "ids[1]", "not 2.5"},
    {read_infer, "{}", SV_MISSING_PARAMETER, "inputs", "'inputs' is required"},
    {read_infer, "{\"inputs\":[]}", SV_EMPTY_INPUT, "inputs", "empty array"},
    {read_infer, "{\"inputs\":[1]}", SV_INVALID_VALUE, "inputs[0]",
     "must be an object like {\"name\": ..., \"datatype\": ..., \"shape\": ...}, not 1"},
    {read_decision, D "[{" CHOICE "[\"a\",\"b\"]}]}", SV_INVALID_VALUE, "questions[0].choices[0]",
     "must be an object like {\"value\": ...}, not \"a\""},
    {read_infer, "{\"inputs\":[{},{}]}", SV_INVALID_VALUE, "inputs", "2 objects; at most 1"},
    {read_infer, "{\"inputs\":[{}]}", SV_MISSING_PARAMETER, "inputs[0].name", "required"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"data\":[\"a\"]}]}", SV_MISSING_PARAMETER,
     "inputs[0].shape", "required"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"shape\":[1]}]}", SV_MISSING_PARAMETER, "inputs[0].data",
     "required"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"shape\":1,\"data\":[\"a\"]}]}", SV_INVALID_VALUE,
     "inputs[0].shape", "non-negative integers"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"shape\":[],\"data\":[\"a\"]}]}", SV_EMPTY_INPUT,
     "inputs[0].shape", "empty array"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"shape\":[-1],\"data\":[\"a\"]}]}", SV_INVALID_VALUE,
     "inputs[0].shape[0]", "a non-negative integer, not -1"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"shape\":[1,3],\"data\":[\"a\",\"b\",\"c\"]}]}",
     SV_INVALID_VALUE, "inputs[0].shape", "[n] or [n, 1]"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"shape\":[1,1,1],\"data\":[\"a\"]}]}", SV_INVALID_VALUE,
     "inputs[0].shape", "[n] or [n, 1]"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"shape\":[2],\"data\":[\"a\"]}]}", SV_INVALID_VALUE,
     "inputs[0].data", "is 1, but 'shape' says 2"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"shape\":[9223372036854775807],\"data\":[\"a\"]}]}",
     SV_INVALID_VALUE, "inputs[0].data", "is 1, but 'shape' says"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"shape\":[3],\"data\":[\"a\",3,\"b\"]}]}",
     SV_INVALID_VALUE, "inputs[0].data[1]", "a string, not 3"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"shape\":[1],\"data\":3}]}", SV_INVALID_VALUE,
     "inputs[0].data", "array of strings"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"shape\":[2,1],\"data\":[[\"a\",\"b\"]]}]}",
     SV_INVALID_VALUE, "inputs[0].data", "rows of 2 strings"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"shape\":[2],\"data\":[\"a\",[\"b\"]]}]}",
     SV_INVALID_VALUE, "inputs[0].data[1]", "a string, not an array"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"shape\":[2],\"data\":[[\"a\"],\"b\"]}]}",
     SV_INVALID_VALUE, "inputs[0].data[1]", "an array of 1 strings like the first"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"shape\":[1],\"data\":[[[\"a\"]]]}]}", SV_INVALID_VALUE,
     "inputs[0].data[0][0]", "a string, not an array"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"shape\":[0],\"data\":[]}]}", SV_EMPTY_INPUT,
     "inputs[0].data", "empty array"},
    {read_infer, "{\"inputs\":[{" TENSOR "\"shape\":[1],\"data\":[\"a\\u0000\"]}]}",
     SV_INVALID_VALUE, "inputs[0].data[0]", "U+0000"},
    {read_infer,
     "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"BYTES\",\"shape\":[1],\"data\":[\"a\"]}]}",
     SV_INVALID_VALUE, "inputs[0].name", "must be \"text\", not \"x\""},
    {read_infer,
     "{\"inputs\":[{\"name\":\"text\",\"datatype\":\"INT64\",\"shape\":[1],\"data\":[\"a\"]}]}",
     SV_INVALID_VALUE, "inputs[0].datatype", "must be \"BYTES\", not \"INT64\""},
    {read_infer,
     "{\"inputs\":[{" TENSOR
     "\"shape\":[1],\"data\":[\"a\"],\"parameters\":{\"binary_data_size\":1}}]}",
     SV_INVALID_VALUE, "inputs[0].parameters.binary_data_size", "both 'data' and"},
    {read_infer, IN ",\"outputs\":[{\"name\":\"probs\"},{\"name\":\"x\"}]}", SV_INVALID_VALUE,
     "outputs[1].name",
     "\"embedding\", \"entities\", \"depth\", \"truncated\", \"words\" or \"tokens\", not \"x\""},
    {read_infer, IN ",\"outputs\":[{}]}", SV_MISSING_PARAMETER, "outputs[0].name", "required"},
    {read_infer, IN ",\"outputs\":[{\"name\":\"depth\",\"parameters\":{\"classification\":1}}]}",
     SV_INVALID_VALUE, "outputs[0].name", "no classes"},
    {read_infer, IN ",\"outputs\":[{\"name\":\"probs\",\"parameters\":{\"classification\":0}}]}",
     SV_INVALID_VALUE, "outputs[0].parameters.classification", "from 1 to"},
    {read_infer, IN ",\"outputs\":[{\"name\":\"probs\",\"parameters\":{\"binary_data\":1}}]}",
     SV_INVALID_VALUE, "outputs[0].parameters.binary_data", "true or false, not 1"},
    {read_infer, IN ",\"parameters\":{\"binary_data_output\":\"yes\"}}", SV_INVALID_VALUE,
     "parameters.binary_data_output", "true or false"},
    {read_infer,
     "{\"inputs\":[{" TENSOR
     "\"shape\":[1],\"data\":[\"YQ==\"],\"parameters\":{\"content_type\":\"base64\"}}]}",
     SV_INVALID_VALUE, "inputs[0].parameters.content_type",
     "must be \"str\" or \"np\", not \"base64\""},
    {read_infer,
     "{\"inputs\":[{" TENSOR
     "\"shape\":[1],\"data\":[\"a\"],\"parameters\":{\"content_type\":\"strings\"}}]}",
     SV_INVALID_VALUE, "inputs[0].parameters.content_type", "not \"strings\""},
    {read_infer, IN ",\"parameters\":{\"content_type\":\"pd\"}}", SV_INVALID_VALUE,
     "parameters.content_type", "not \"pd\""},
    {read_infer, IN ",\"parameters\":{\"content_type\":1}}", SV_INVALID_VALUE,
     "parameters.content_type", "not 1"},
    {read_infer, IN ",\"parameters\":{\"headers\":{\"a\":\"b\"}}}", SV_UNSUPPORTED_PARAMETER,
     "parameters.headers", "headers of the request"},
    {read_infer,
     IN ",\"outputs\":[{\"name\":\"label\",\"parameters\":{\"content_type\":\"base64\"}}]}",
     SV_INVALID_VALUE, "outputs[0].parameters.content_type", "not \"base64\""},
    {read_infer, IN ",\"parameters\":{\"priority\":-1}}", SV_INVALID_VALUE, "parameters.priority",
     "not -1"},
    {read_infer, IN ",\"parameters\":{\"timeout\":-1}}", SV_INVALID_VALUE, "parameters.timeout",
     "not -1"},
    {read_infer, IN ",\"parameters\":{\"x\":1}}", SV_UNKNOWN_PARAMETER, "parameters.x",
     "Accepted: timeout, truncate"},
    {read_infer, IN ",\"id\":42}", SV_INVALID_VALUE, "id", "a string, not 42"},
    {read_decision, "{\"model\":\"m\",\"input\":\"a\"}", SV_MISSING_PARAMETER, "questions",
     "required"},
    {read_decision,
     "{\"model\":\"\",\"input\":\"a\",\"questions\":[{" CHOICE
     "[{\"value\":\"a\"},{\"value\":\"b\"}]}]}",
     SV_INVALID_VALUE, "model", "empty"},
    {read_decision, D "[]}", SV_EMPTY_INPUT, "questions", "empty array"},
    {read_decision, D "[{}]}", SV_MISSING_PARAMETER, "questions[0].type", "required"},
    {read_decision, D "[{\"type\":\"guess\",\"instructions\":\"?\"}]}", SV_INVALID_VALUE,
     "questions[0].type", "\"choice\", \"score\" or \"predicate\", not \"guess\""},
    {read_decision, D "[{\"type\":\"choice\",\"instructions\":\"?\"}]}", SV_INVALID_VALUE,
     "questions[0]", "'choices' and no 'levels'"},
    {read_decision, D "[{\"type\":\"score\",\"instructions\":\"?\"}]}", SV_INVALID_VALUE,
     "questions[0]", "'levels' and no 'choices'"},
    {read_decision,
     D "[{\"type\":\"predicate\",\"instructions\":\"?\",\"levels\":["
       "{\"label\":\"a\"},{\"label\":\"b\"}]}]}",
     SV_INVALID_VALUE, "questions[0]", "neither"},
    {read_decision, D "[{" CHOICE "[{\"value\":\"a\"}]}]}", SV_INVALID_VALUE,
     "questions[0].choices", "1 objects; 2 to 255"},
    {read_decision, D "[{" CHOICE "[{\"value\":\"a\"},{\"value\":2}]}]}", SV_INVALID_VALUE,
     "questions[0].choices[1].value", "a string, true or false, not 2"},
    {read_decision, D "[{" CHOICE "[{\"value\":\"a\"},{\"value\":\"" X256 "x\"}]}]}",
     SV_INVALID_VALUE, "questions[0].choices[1].value", "has 257 bytes; at most 256"},
    {read_decision, D "[{" CHOICE "[{\"value\":\"a\"},{}]}]}", SV_MISSING_PARAMETER,
     "questions[0].choices[1].value", "required"},
    {read_decision,
     "{\"model\":\"m\",\"input\":[{\"role\":\"system\",\"content\":\"a\"}],\"questions\":[]}",
     SV_INVALID_VALUE, "input[0].role", "must be \"user\", not \"system\""},
    {read_decision,
     "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\","
     "\"image_url\":\"x\"}]}],\"questions\":[]}",
     SV_UNSUPPORTED_PARAMETER, "input[0].content[0].image_url", "Only text is supported"},
    {read_decision,
     "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"output_text\","
     "\"text\":\"x\"}]}],\"questions\":[]}",
     SV_INVALID_VALUE, "input[0].content[0].type", "must be \"input_text\", not \"output_text\""},
    {read_decision,
     "{\"model\":\"m\",\"input\":[{\"type\":\"function_call\",\"role\":\"user\","
     "\"content\":\"a\"}],\"questions\":[]}",
     SV_INVALID_VALUE, "input[0].type", "must be \"message\", not \"function_call\""},
    {read_decision, "{\"model\":\"m\",\"input\":3,\"questions\":[]}", SV_INVALID_VALUE, "input",
     "array of messages, not 3"},
    {read_decision, "{\"model\":\"m\",\"input\":[],\"questions\":[]}", SV_EMPTY_INPUT, "input",
     "empty"},
    {read_decision, D "[{" CHOICE "[]}],\"stream\":true}", SV_EMPTY_INPUT, "questions[0].choices",
     "empty"},
};

Test(json_params, mistakes_are_named)
{
    for (size_t i = 0; i < COUNT(mistakes); i++)
        expect_refused(mistakes[i].read, mistakes[i].text, mistakes[i].kind, mistakes[i].param,
                       mistakes[i].message);
}

/* ---- binary tensors -------------------------------------------------------------------------- */

/* A body of JSON and the bytes after it. */
static struct sv_json_document *read_binary(const char *json, const char *bytes, size_t count)
{
    struct sl_buffer body = {0};
    sl_buffer_append_string(&body, json);
    sl_buffer_append(&body, bytes, count);
    error = (struct sv_error){.kind = SV_OK};
    struct sv_json_document *document = sv_infer_params_read(&body, strlen(json), &infer, &error);
    sl_buffer_release(&body); /* the document owns what it needs */
    return document;
}

#define BINARY(shape, size)                                                                        \
    "{\"inputs\":[{" TENSOR "\"shape\":" shape ",\"parameters\":{\"binary_data_size\":" size "}}]"

Test(json_params, texts_after_the_json_are_read)
{
    static const char bytes[] = "\x02\0\0\0hi\0\0\0\0\x02\0\0\0\xC3\xA9";
    struct sv_json_document *document =
        read_binary(BINARY("[3,1]", "16") "}", bytes, sizeof bytes - 1);
    cr_assert(document, "%s", error.message);
    const struct sv_tensor *input = infer.inputs.items;
    cr_assert_eq(input->data.count, 3);
    cr_assert_str_eq(input->data.items[0].data, "hi");
    cr_assert_eq(input->data.items[1].bytes, 0);
    cr_assert_str_eq(input->data.items[2].data, "\xC3\xA9");
    sv_json_document_release(document);
}

Test(json_params, outputs_are_binary_where_they_or_the_request_say_so)
{
    struct sv_json_document *document = expect_read(
        read_infer, IN ",\"parameters\":{\"binary_data_output\":true},\"outputs\":[{\"name\":"
                       "\"label\",\"parameters\":{\"binary_data\":false}},{\"name\":\"probs\"}]}");
    const struct sv_output *outputs = infer.outputs.items;
    cr_assert_not(outputs[0].wants_binary);
    cr_assert(outputs[1].wants_binary);
    sv_json_document_release(document);
    document = expect_read(read_infer, IN ",\"outputs\":[{\"name\":\"label\"},{\"name\":\"probs\","
                                          "\"parameters\":{\"binary_data\":true}}]}");
    outputs = infer.outputs.items;
    cr_assert_not(outputs[0].wants_binary);
    cr_assert(outputs[1].wants_binary);
    sv_json_document_release(document);
}

#define SIZE_PARAM "inputs[0].parameters.binary_data_size"

static const struct {
    const char *json, *bytes;
    size_t count;
    enum sv_error_kind kind;
    const char *param, *message;
} bad_tensors[] = {
    {BINARY("[1]", "6") "}", "\x02\0\0\0h", 5, SV_INVALID_VALUE, SIZE_PARAM,
     "is 6, but 5 bytes follow the JSON"},
    {BINARY("[1]", "4") "}", "\x02\0\0\0h", 5, SV_INVALID_VALUE, SIZE_PARAM,
     "is 4, but 5 bytes follow the JSON"},
    {BINARY("[1]", "0") "}", "", 0, SV_INVALID_VALUE, "inputs[0].data",
     "has 0 bytes, too few for 1"},
    {BINARY("[0]", "0") "}", "", 0, SV_EMPTY_INPUT, "inputs[0].data", "holds no texts"},
    {BINARY("[9223372036854775807]", "4") "}", "\0\0\0\0", 4, SV_INVALID_VALUE, "inputs[0].data",
     "has 4 bytes, too few for 9223372036854775807 texts"},
    {BINARY("[1]", "5") "}", "\x02\0\0\0h", 5, SV_INVALID_VALUE, "inputs[0].data[0]",
     "has a length of 2 bytes, but only 1 bytes are left"},
    {BINARY("[1]", "4") "}", "\xFF\xFF\xFF\xFF", 4, SV_INVALID_VALUE, "inputs[0].data[0]",
     "has a length of 4294967295 bytes, but only 0"},
    {BINARY("[2]", "8") "}", "\x01\0\0\0h\x01\0\0", 8, SV_INVALID_VALUE, "inputs[0].data[1]",
     "is truncated: 3 bytes are left"},
    {BINARY("[1]", "9") "}", "\x01\0\0\0h\0\0\0\0", 9, SV_INVALID_VALUE, "inputs[0].data",
     "has 4 bytes after its 1 texts"},
    {BINARY("[1]", "5") "}", "\x01\0\0\0\xFF", 5, SV_INVALID_VALUE, "inputs[0].data[0]",
     "byte 1 is 0xFF: not UTF-8"},
    {BINARY("[1]", "5") "}", "\x01\0\0\0\0", 5, SV_INVALID_VALUE, "inputs[0].data[0]", "U+0000"},
    {BINARY("[1,3]", "8") "}", "\0\0\0\0\0\0\0\0", 8, SV_INVALID_VALUE, "inputs[0].shape",
     "[n] or [n, 1]"},
    {IN "}", "\0\0\0\0", 4, SV_INVALID_VALUE, SIZE_PARAM, "4 bytes follow the JSON, but no input"},
};

Test(json_params, malformed_binary_tensors_are_named)
{
    for (size_t i = 0; i < COUNT(bad_tensors); i++) {
        cr_assert_null(read_binary(bad_tensors[i].json, bad_tensors[i].bytes, bad_tensors[i].count),
                       "case %zu", i);
        cr_expect_eq(error.kind, bad_tensors[i].kind, "case %zu: %s", i, error.message);
        cr_expect_str_eq(error.param, bad_tensors[i].param, "case %zu", i);
        cr_expect(strstr(error.message, bad_tensors[i].message), "case %zu: %s", i, error.message);
    }
}

Test(json_params, the_header_with_the_length_of_the_json)
{
    static const char *const bad[] = {"", "x", "-1", "+1", " 1", "11", "99999999999999999999999"};
    size_t bytes = 0;
    cr_assert(sv_infer_json_bytes(NULL, 10, &bytes, &error));
    cr_assert_eq(bytes, 10);
    cr_assert(sv_infer_json_bytes("0", 10, &bytes, &error));
    cr_assert_eq(bytes, 0);
    cr_assert(sv_infer_json_bytes("10", 10, &bytes, &error));
    cr_assert_eq(bytes, 10);
    for (size_t i = 0; i < COUNT(bad); i++) {
        error = (struct sv_error){.kind = SV_OK};
        cr_assert_not(sv_infer_json_bytes(bad[i], 10, &bytes, &error), "%s", bad[i]);
        cr_assert(strstr(error.message, "expected a number from 0 to 10"), "%s", error.message);
    }
}

Test(json_params, counts_are_bounded)
{
    struct sl_buffer body = {0};
    sl_buffer_append_string(&body, D "[");
    for (int i = 0; i <= SV_QUESTIONS_MAX; i++)
        sl_buffer_append_string(&body, i ? ",{}" : "{}");
    sl_buffer_append_string(&body, "]}");
    expect_refused(read_decision, body.data, SV_INVALID_VALUE, "questions",
                   "401 objects; at most 400");
    sl_buffer_release(&body);
}

/* Changed bytes are fuzz_wire's; but a body may end anywhere. */
Test(json_params, a_body_that_is_cut_is_rejected)
{
    static const struct {
        struct sv_json_document *(*read)(const struct sl_buffer *);
        const char *text;
    } good[] = {
        {read_predict, "{\"inputs\":[[\"\\u00e9\"],[\"b\"]],\"truncate\":true}"},
        {read_hf, "{\"inputs\":[\"a\",{\"text\":\"b\"}],\"parameters\":{\"top_k\":2}}"},
        {read_tokenize, "{\"inputs\":[\"a\",\"b\"],\"add_special_tokens\":true}"},
        {read_decode, "{\"ids\":[[1,2],[3]],\"skip_special_tokens\":true}"},
        {read_infer, IN ",\"id\":\"1\",\"outputs\":[{\"name\":\"label\"}]}"},
        {read_decision, D "[{" CHOICE "[{\"value\":true},{\"value\":\"b\"}]}]}"},
    };

    for (size_t i = 0; i < COUNT(good); i++) {
        for (size_t bytes = 0; bytes < strlen(good[i].text); bytes++) {
            const struct sl_buffer cut = {.data = (char *)(uintptr_t)good[i].text, .bytes = bytes};
            error = (struct sv_error){.kind = SV_OK};
            cr_assert_null(good[i].read(&cut), "%.*s", (int)bytes, good[i].text);
            cr_assert_eq(error.kind, SV_INVALID_JSON, "%.*s", (int)bytes, good[i].text);
        }
        sv_json_document_release(expect_read(good[i].read, good[i].text));
    }
}

Test(json_text, floats_have_the_shortest_exact_form)
{
    static const struct {
        float value;
        const char *text;
    } cases[] = {
        {0.0f, "0"},
        {1.0f, "1"},
        {-0.5f, "-0.5"},
        {0.1f, "0.1"},
        {0.98f, "0.98"},
        {1.0f / 3, "0.33333334"},
        {16777217.0f, "16777216"},
        {1e-30f, "1e-30"},
        {3.4028235e38f, "3.4028235e+38"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct sl_buffer out = {0};
        sl_buffer_append_float(&out, cases[i].value);
        cr_assert_str_eq(out.data, cases[i].text);
        sl_buffer_release(&out);
    }
    uint64_t seed = test_seed();
    for (int i = 0; i < 100000; i++) {
        struct sl_buffer out = {0};
        float value;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t bits = (uint32_t)(seed >> 32) & 0xBF7FFFFF; /* never infinite, nor NaN */
        memcpy(&value, &bits, sizeof value);
        sl_buffer_append_float(&out, value);
        cr_assert_eq(strtof(out.data, NULL), value, "%s", out.data);
        sl_buffer_release(&out);
    }
}
