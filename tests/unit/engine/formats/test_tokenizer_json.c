/* test_tokenizer_json.c - tokenizer.json: what is refused, and how; streams of decoded text. */
#include "base/file.h"
#include "base/utf8.h"
#include "formats/pretrained_tokenizer.h"
#include "formats/tokenizer_json.h"
#include "formats/vocabulary.h"
#include "support/test.h"
#include "support/workspace.h"
#include "tokenizer/tokenizer_kinds.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define WORDPIECE    "{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"a\":1,\"##b\":2}}"
#define MODEL        "\"model\":" WORDPIECE
#define UNIGRAM(v)   "{\"model\":{\"type\":\"Unigram\",\"vocab\":[" v "]}}"
#define BPE(v, m)    "{\"model\":{\"type\":\"BPE\",\"vocab\":{" v "},\"merges\":[" m "]}}"
#define TEXT(id)     "{\"Sequence\":{\"id\":\"" id "\",\"type_id\":0}}"
#define SPECIAL      "{\"SpecialToken\":{\"id\":\"a\",\"type_id\":0}}"
#define TEMPLATE(single, pair)                                                                     \
    "{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[" single "],\"pair\":[" pair \
    "],\"special_tokens\":{\"a\":{\"ids\":[1]}}}," MODEL "}"

/* -- what is refused -------------------------------------------------------------------------- */

static const struct {
    const char *json, *error;
} refused[] = {
    {"", "not JSON"},
    {"[]", "expected an object"},
    {"{}", "'model'"},
    {"{\"model\":7}", "'model'"},
    {"{\"version\":\"2.0\"," MODEL "}", "unknown version '2.0'"},
    {"{\"model\":{\"type\":\"Foo\"}}", "model: unknown type 'Foo': expected WordPiece, BPE or"},
    {"{\"model\":{\"type\":\"WordPiece\"}}", "model: 'vocab' is nothing: expected an object"},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":[]}}", "model: 'vocab' is an array"},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{}}}", "'vocab' has 0 pieces"},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":-1}}}", "'a' has an invalid id"},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":1e3}}}", "'a' has an invalid id"},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":99999999}}}", "'a' has an invalid id"},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0,\"b\":0}}}", "have the same id 0"},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"b\":2}}}",
     "no piece has the id 1"},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0}}}",
     "model: the unknown token '[UNK]' is not in the vocabulary"},
    {"{\"model\":{\"type\":\"WordPiece\",\"unk_token\":1,\"vocab\":{\"a\":0}}}",
     "'unk_token' is a whole number: expected a string"},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0,\"a\":1}}}", "duplicate"},
    {BPE("\"a\":0", "\"a b\""), "model: merges[0]: 'b' is not in the vocabulary"},
    {BPE("\"a\":0,\"b\":1", "\"a b\""), "model: merges[0]: 'ab' is not in the vocabulary"},
    {BPE("\"a\":0,\"b\":1", "\"a b c\""), "model: merges[0]: expected two pieces"},
    {BPE("\"a\":0,\"b\":1", "[\"a\"]"), "model: merges[0]: expected two pieces"},
    {BPE("\"a\":0,\"\":1", "[\"a\",\"\"]"), "model: merges[0]: one of the two pieces is empty"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0}}}", "'merges' is nothing"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[],\"dropout\":0.1}}",
     "'dropout'"},
    {UNIGRAM("[\"a\"]"), "model: vocab[0]: expected [piece, score]"},
    {UNIGRAM("[\"a\",\"b\"]"), "model: vocab[0]: expected [piece, score]"},
    {UNIGRAM("[\"a\",-1],[\"a\",-2]"), "model: piece 1, 'a', is also piece 0"},
    {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":5,\"vocab\":[[\"a\",-1]]}}", "'unk_id'"},
    {"{\"normalizer\":{\"type\":\"Foo\"}," MODEL "}",
     "normalizer: unknown type 'Foo': expected one of"},
    {"{\"normalizer\":{\"type\":\"Sequence\","
     "\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"Foo\"}]}," MODEL "}",
     "normalizer[1]: unknown type 'Foo'"},
    {"{\"normalizer\":[]," MODEL "}", "'normalizer' is an array: expected an object"},
    {"{\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":1}," MODEL "}",
     "normalizer: BertNormalizer: 'lowercase' is a whole number: expected true or false"},
    {"{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"!\"}," MODEL "}",
     "'precompiled_charsmap' is not base 64"},
    {"{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAA\"}," MODEL "}",
     "a character map of 3 bytes"},
    {"{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"a|b\"},"
     "\"content\":\"\"}," MODEL "}",
     "normalizer: Replace: unknown regular expression 'a|b'"},
    {"{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
     "\"pattern\":{"
     "\"Regex\":\"\\\\d+\"},\"behavior\":\"Isolated\"}]}," MODEL "}",
     "pre_tokenizer[0]: Split: unknown regular expression '\\d+'"},
    {"{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},"
     "\"behavior\":\"Eaten\"}," MODEL "}",
     "pre_tokenizer: Split: unknown behavior 'Eaten'"},
    {"{\"pre_tokenizer\":{\"type\":\"ByteLevel\"}," MODEL "}", "ByteLevel needs the model BPE"},
    {"{\"pre_tokenizer\":{\"type\":\"Sequence\","
     "\"pretokenizers\":[{\"type\":\"ByteLevel\"},{\"type\":"
     "\"Digits\"}]}," MODEL "}",
     "pre_tokenizer[1]: Digits: a step after ByteLevel"},
    {"{\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"a\",1],\"cls\":[\"a\",70]}," MODEL
     "}",
     "post_processor: id 70 is not in the vocabulary of 3"},
    {"{\"post_processor\":{\"type\":\"TemplateProcessing\","
     "\"single\":[{\"SpecialToken\":{\"id\":\"x\","
     "\"type_id\":0}}],\"pair\":[]}," MODEL "}",
     "single[0]: special_tokens: no 'ids' of 'x'"},
    {TEMPLATE("{\"SpecialToken\":{\"id\":\"a\",\"type_id\":0},\"quence\":{\"id\":\"A\"}}",
              TEXT("A")),
     "single[0]: expected either Sequence or SpecialToken"},
    {TEMPLATE(SPECIAL, TEXT("A") "," TEXT("B")), "'single' lacks the sequence A"},
    {TEMPLATE(TEXT("B"), TEXT("A")), "'single' has a second text"},
    {TEMPLATE(TEXT("A"), TEXT("A") "," SPECIAL), "'pair' lacks one of the sequences A and B"},
    {TEMPLATE(TEXT("A"), SPECIAL "," TEXT("B")), "'pair' lacks one of the sequences A and B"},
    {"{\"decoder\":{\"type\":\"CTC\"}," MODEL "}", "decoder: unknown type 'CTC'"},
    {"{\"added_tokens\":[{\"id\":1,\"content\":\"b\"}]," MODEL "}",
     "added_tokens[0]: id 1 is 'a', not 'b'"},
    {"{\"added_tokens\":[{\"id\":9,\"content\":\"b\"}]," MODEL "}", "no piece has the id 3"},
    {"{\"added_tokens\":[{\"content\":\"b\"}]," MODEL "}", "added_tokens[0]: 'id' is missing"},
    {"{\"added_tokens\":[{\"id\":3,\"content\":\"\"}]," MODEL "}", "added_tokens[0]: 'content'"},
    {"{\"added_tokens\":[{\"id\":3,\"content\":\"b\"},{\"id\":4,\"content\":\"b\"}]," MODEL "}",
     "added_tokens[1]: 'b' is there twice"},
};

Test(tokenizer_json, is_refused_by_name_and_place)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct sl_err err = {0};
        const char *json = refused[i].json;
        struct sl_tokenizer *tokens = sl_tokenizer_json_read(json, strlen(json), &err);
        cr_expect_null(tokens, "%s", json);
        cr_expect(strstr(err.text, refused[i].error), "%s\n  '%s' instead of '%s'", json, err.text,
                  refused[i].error);
        sl_tokenizer_destroy(tokens);
    }
}

Test(tokenizer_json, that_is_too_large_is_not_even_parsed)
{
    struct sl_err err;
    EXPECT_FAIL(sl_tokenizer_json_read("", SL_TOKENIZER_JSON_MAX + 1, &err), err, SL_CORRUPT,
                "expected at most");
}

static size_t appended(char *json, size_t used, const char *part)
{
    const size_t bytes = strlen(part);
    memcpy(json + used, part, bytes + 1);
    return used + bytes;
}

Test(tokenizer_json, with_sequences_within_sequences_is_bounded)
{
    enum { DEPTH = 200 };

    static char json[DEPTH * 64];
    size_t used = appended(json, 0, "{" MODEL ",\"normalizer\":");
    for (int i = 0; i < DEPTH; i++)
        used = appended(json, used, "{\"type\":\"Sequence\",\"normalizers\":[");
    for (int i = 0; i < DEPTH; i++)
        used = appended(json, used, "]}");
    used = appended(json, used, "}");
    struct sl_err err;
    EXPECT_FAIL(sl_tokenizer_json_read(json, used, &err), err, SL_CORRUPT, "more than 8 sequences");
}

/* Otherwise a text of the piece's letters would take a time that grows with its square. */
Test(tokenizer_json, with_a_piece_that_is_long_is_refused)
{
    enum { BYTES = 1025 };

    static char json[BYTES + 128], piece[BYTES + 1];
    memset(piece, 'a', BYTES);
    size_t used = appended(json, 0, "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"");
    used = appended(json, used, piece);
    used = appended(json, used, "\",-1]]}}");
    struct sl_err err;
    EXPECT_FAIL(sl_tokenizer_json_read(json, used, &err), err, SL_BAD_INPUT,
                "piece 0 has 1025 bytes: expected at most 1024");
}

/* -- texts ------------------------------------------------------------------------------------ */

static struct sl_tokenizer *json_tokens(const char *json)
{
    struct sl_err err;
    struct sl_tokenizer *tokens = NULL;
    EXPECT_OK((tokens = sl_tokenizer_json_read(json, strlen(json), &err)), err);
    return tokens;
}

Test(tokenizer_json, text_that_no_token_stands_for_is_an_error)
{
    struct sl_tokenizer *tokens = json_tokens(UNIGRAM("[\"a\",-1]"));
    struct sl_err err;
    EXPECT_FAIL(sl_tokenizer_encode(tokens, "ab", 2, SL_UNKNOWN_REPLACE, NULL, 0, &err) >= 0, err,
                SL_BAD_INPUT, "byte 1 begins text that is not in the vocabulary");
    EXPECT_FAIL(sl_tokenizer_encode(tokens, "a\xFF", 2, SL_UNKNOWN_REPLACE, NULL, 0, &err) >= 0,
                err, SL_BAD_INPUT, "not UTF-8");
    sl_tokenizer_destroy(tokens);
}

Test(tokenizer_json, truncation_keeps_special_tokens)
{
    struct sl_tokenizer *tokens = json_tokens(
        "{\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"[UNK]\",0],\"cls\":[\"a\",1]},"
        "\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"}," MODEL "}");
    struct sl_err err;
    int32_t ids[8], types[8];
    struct sl_token_offset offsets[8];
    struct sl_encoding job = {.text = "a ab a ab",
                              .bytes = 9,
                              .special = true,
                              .max_tokens = 4,
                              .side = SL_TRUNCATE_LEFT,
                              .ids = ids,
                              .types = types,
                              .offsets = offsets,
                              .capacity = 8};
    cr_assert_eq(sl_tokenizer_tokenize(tokens, &job, &err), 4);
    cr_assert_arr_eq(ids, ((int32_t[]){1, 1, 2, 0}), 4 * sizeof *ids);
    cr_assert_eq(offsets[1].start, 7);
    cr_assert(offsets[3].special);
    job.pair = "ab";
    job.pair_bytes = 2;
    job.max_tokens = 0;
    cr_assert_eq(sl_tokenizer_tokenize(tokens, &job, &err), 8 + 3);
    job.max_tokens = 6;
    cr_assert_eq(sl_tokenizer_tokenize(tokens, &job, &err), 6);
    cr_assert_arr_eq(types, ((int32_t[]){0, 0, 0, 0, 1, 1}), 6 * sizeof *types);
    cr_assert(offsets[4].second && !offsets[2].second);
    sl_tokenizer_destroy(tokens);
}

Test(tokenizer_json, is_saved_as_it_was_read)
{
    static const char json[] = "{" MODEL "}";
    struct sl_tokenizer *tokens = json_tokens(json), *again = NULL;
    struct sl_err err;
    char *text = sl_vocabulary_print(tokens, &err);
    cr_assert_str_eq(text, json);
    cr_assert_str_eq(sl_vocabulary_file(sl_tokenizer_kind(tokens)), "tokenizer.json");
    EXPECT_OK((again = sl_vocabulary_read("pipeline", false, text, strlen(text), &err)), err);
    cr_assert_eq(sl_tokenizer_size(again), 3);
    EXPECT_FAIL(sl_tokenizer_kind_find("pipeline", &err), err, SL_BAD_INPUT,
                "expected one of: characters, bytes, words, wordpiece");
    sl_tokenizer_destroy(again);
    sl_tokenizer_destroy(tokens);
    free(text);
}

/* -- streams ---------------------------------------------------------------------------------- */

/* What is decoded token by token is what is decoded at once. */
static void stream_check(const char *file, const char *text)
{
    char path[512], whole[512], streamed[512];
    int32_t ids[256];
    struct sl_map map;
    struct sl_err err;
    struct sl_tokenizer *tokens = NULL;
    (void)snprintf(path, sizeof path, "%s/tests/golden/pipelines/%s.json", SL_SOURCE_DIR, file);
    EXPECT_OK(sl_map_open(&map, path, &err), err);
    EXPECT_OK((tokens = sl_tokenizer_json_read(map.data, map.size, &err)), err);
    struct sl_encoding job = {
        .text = text, .bytes = strlen(text), .special = true, .ids = ids, .capacity = 256};
    long count = sl_tokenizer_tokenize(tokens, &job, &err);
    cr_assert(count > 0 && count <= 256);
    struct sl_decoding decoding = {
        .ids = ids, .count = count, .skip_special = true, .text = whole, .capacity = sizeof whole};
    size_t bytes = (size_t)sl_tokenizer_decode(tokens, &decoding, &err), used = 0;
    for (long i = 0; i < count; i++)
        used += sl_tokenizer_decode_next(tokens, ids[i], used == 0, streamed + used,
                                         sizeof streamed - used);
    cr_assert_eq(used, bytes, "%s: '%.*s' '%.*s'", file, (int)used, streamed, (int)bytes, whole);
    cr_assert_arr_eq(streamed, whole, bytes);
    cr_assert(sl_utf8_is_valid(whole, bytes));
    sl_tokenizer_destroy(tokens);
    sl_map_close(&map);
}

Test(tokenizer_json, decodes_streams_as_whole_texts)
{
    static const char *const files[] = {"bert",   "gpt2",   "roberta",     "llama3",
                                        "llama2", "smollm", "xlm_roberta", "t5"};
    for (size_t i = 0; i < COUNT(files); i++) {
        stream_check(files[i], "The movie was great, and we'll see it again: 1999!");
        stream_check(files[i], "Der Hund \xF0\x9F\x98\x80 \xE4\xB8\xAD\xE6\x96\x87 <mask> fin.");
    }
}

/* -- directories ------------------------------------------------------------------------------ */

static struct workspace workspace;

static void workspace_open(void)
{
    workspace_create(&workspace, "output");
}

static void workspace_close(void)
{
    workspace_remove(&workspace);
}

static void file_write(const char *name, const char *text)
{
    char path[PATH_MAX];
    struct sl_err err;
    (void)snprintf(path, sizeof path, "%.3000s/%s", workspace.top, name);
    const struct sl_slice slice = {text, strlen(text)};
    EXPECT_OK(sl_file_replace(path, &slice, 1, &err), err);
}

static int32_t first_id(const char *text)
{
    struct sl_err err;
    struct sl_tokenizer *tokens = NULL;
    int32_t id = -1;
    EXPECT_OK((tokens = sl_pretrained_tokenizer_open(workspace.top, false, &err)), err);
    cr_assert_eq(sl_tokenizer_encode(tokens, text, strlen(text), SL_UNKNOWN_FAIL, &id, 1, &err), 1);
    sl_tokenizer_destroy(tokens);
    return id;
}

Test(tokenizer_json, of_a_directory_or_its_vocabulary, .init = workspace_open,
     .fini = workspace_close)
{
    struct sl_err err;
    EXPECT_FAIL(sl_pretrained_tokenizer_open(workspace.top, false, &err), err, SL_NOT_FOUND,
                "neither tokenizer.json nor vocab.txt");
    cr_expect_null(strchr(sl_err_reason(&err), '/'), "%s", sl_err_reason(&err));
    file_write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nA\n");
    cr_assert_eq(first_id("A"), 4, "lower-cased");
    file_write("tokenizer_config.json", "{\"do_lower_case\": false}");
    cr_assert_eq(first_id("A"), 5, "cased");
    file_write("tokenizer_config.json", "{\"do_lower_case\": 1}");
    EXPECT_FAIL(sl_pretrained_tokenizer_open(workspace.top, false, &err), err, SL_CORRUPT,
                "tokenizer_config.json': 'do_lower_case' is a whole number");
    file_write("tokenizer.json", "{" MODEL "}");
    cr_assert_eq(first_id("a"), 1);
    file_write("tokenizer.json", "{}");
    EXPECT_FAIL(sl_pretrained_tokenizer_open(workspace.top, false, &err), err, SL_CORRUPT,
                "tokenizer.json': ");
    cr_expect(strstr(err.path, "/tokenizer.json"), "%s", err.path);
    cr_expect_null(strchr(sl_err_reason(&err), '/'), "%s", sl_err_reason(&err));
}
