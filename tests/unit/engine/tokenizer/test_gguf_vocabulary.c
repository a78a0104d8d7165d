/* test_gguf_vocabulary.c - tokenizers from the parts of GGUF files: small ones, and those that
 * golden/extract_gguf.py found, whose tokens llama.cpp recorded. */
#include "formats/tokenizer_json.h"
#include "pretrained/gguf_model.h"
#include "support/test.h"
#include "tokenizer/gguf_vocabulary.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/tokenizer.h"

#include <glob.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { TOKENS_MAX = 4096 };

/* -- small ones ------------------------------------------------------------------------------- */

static const struct sl_piece small[] = {{"<unk>", 5},
                                        {"<s>", 3},
                                        {"\xE2\x96\x81", 3},
                                        {"a", 1},
                                        {"b", 1},
                                        {"ab", 2},
                                        {"<0x21>", 6},
                                        {"ba", 2},
                                        {"\xE2\x96\x81"
                                         "ab",
                                         5}};
static const int32_t types[COUNT(small)] = {SL_GGUF_UNKNOWN, SL_GGUF_CONTROL, SL_GGUF_NORMAL,
                                            SL_GGUF_NORMAL,  SL_GGUF_NORMAL,  SL_GGUF_NORMAL,
                                            SL_GGUF_BYTE,    SL_GGUF_NORMAL,  SL_GGUF_NORMAL};
static const float scores[COUNT(small)] = {0, 0, -9, -8, -7, -3, 0, -2, -4};

static struct sl_gguf_vocabulary llama_small(void)
{
    return (struct sl_gguf_vocabulary){.model = "llama",
                                       .pieces = small,
                                       .types = types,
                                       .scores = scores,
                                       .count = COUNT(small),
                                       .begin = 1,
                                       .end = -1,
                                       .unknown = 0,
                                       .padding = -1,
                                       .adds_begin = true,
                                       .adds_blank = true};
}

Test(gguf_vocabulary, merges_by_score)
{
    struct sl_gguf_vocabulary v = llama_small();
    struct sl_err err;
    struct sl_tokenizer *tokens = NULL;
    EXPECT_OK((tokens = sl_gguf_vocabulary_open(&v, &err)), err);
    int32_t ids[16];
    struct sl_encoding job = {
        .text = "abab!", .bytes = 5, .special = true, .ids = ids, .capacity = 16};
    cr_assert_eq(sl_tokenizer_tokenize(tokens, &job, &err), 6);
    /* "ba" has the best score, and leaves "_a" no merge. */
    cr_assert_arr_eq(ids, ((int32_t[]){1, 2, 3, 7, 4, 6}), 6 * sizeof *ids);
    sl_tokenizer_destroy(tokens);
}

/* As `sluice import` saves it. */
static struct sl_tokenizer *saved(const struct sl_tokenizer *tokens)
{
    struct sl_err err;
    struct sl_tokenizer *again = NULL;
    const char *text = sl_pipeline_source(tokens);
    EXPECT_OK((again = sl_tokenizer_json_read(text, strlen(text), &err)), err);
    return again;
}

static void expect_same(const struct sl_tokenizer *a, const struct sl_tokenizer *b,
                        const char *text)
{
    struct sl_err err;
    int32_t one[64], two[64];
    char there[256], back[256];
    struct sl_encoding job = {
        .text = text, .bytes = strlen(text), .special = true, .ids = one, .capacity = 64};
    const long count = sl_tokenizer_tokenize(a, &job, &err);
    cr_assert(count > 0 && count <= 64, "%s", err.text);
    job.ids = two;
    cr_assert_eq(sl_tokenizer_tokenize(b, &job, &err), count, "'%s'", text);
    cr_expect_arr_eq(one, two, (size_t)count * sizeof *one, "'%s'", text);
    struct sl_decoding decoding = {.ids = one, .count = count, .text = there, .capacity = 256};
    const long bytes = sl_tokenizer_decode(a, &decoding, &err);
    decoding.text = back;
    cr_assert_eq(sl_tokenizer_decode(b, &decoding, &err), bytes);
    cr_expect_eq(memcmp(there, back, (size_t)bytes), 0, "'%s'", text);
}

static void expect_saved(const struct sl_gguf_vocabulary *v)
{
    static const char *const texts[] = {"abab!", "a b  ab", "aaabbbab", " ab"};
    struct sl_err err;
    struct sl_tokenizer *tokens = NULL;
    EXPECT_OK((tokens = sl_gguf_vocabulary_open(v, &err)), err);
    struct sl_tokenizer *again = saved(tokens);
    for (size_t i = 0; i < COUNT(texts); i++)
        expect_same(tokens, again, texts[i]);
    sl_tokenizer_destroy(tokens);
    sl_tokenizer_destroy(again);
}

Test(gguf_vocabulary, is_the_same_when_it_is_saved)
{
    static const struct sl_piece words[] = {{"[PAD]", 5},
                                            {"[UNK]", 5},
                                            {"[CLS]", 5},
                                            {"[SEP]", 5},
                                            {"\xE2\x96\x81"
                                             "ab",
                                             5},
                                            {"ab", 2},
                                            {"\xE2\x96\x81"
                                             "a",
                                             4},
                                            {"b", 1},
                                            {"\xE2\x96\x81!", 4}};
    static const int32_t kinds[COUNT(words)] = {3, 2, 3, 3, 1, 1, 1, 1, 1};
    struct sl_gguf_vocabulary v = llama_small();
    expect_saved(&v);
    v.adds_blank = false;
    expect_saved(&v);
    v = (struct sl_gguf_vocabulary){.model = "bert",
                                    .pieces = words,
                                    .types = kinds,
                                    .count = COUNT(words),
                                    .begin = 2,
                                    .end = 3,
                                    .unknown = 1,
                                    .padding = 0,
                                    .adds_begin = true,
                                    .adds_end = true};
    expect_saved(&v);
}

/* -- in a file -------------------------------------------------------------------------------- */

struct bytes {
    char data[2048];
    size_t count;
};

static void put(struct bytes *b, const void *data, size_t count)
{
    cr_assert_leq(b->count + count, sizeof b->data);
    memcpy(b->data + b->count, data, count);
    b->count += count;
}

static void put_number(struct bytes *b, uint64_t value, size_t bytes)
{
    put(b, &value, bytes);
}

static void put_text(struct bytes *b, const char *text)
{
    put_number(b, strlen(text), 8);
    put(b, text, strlen(text));
}

static void put_array(struct bytes *b, const char *key, enum sl_gguf_type type, size_t count)
{
    put_text(b, key);
    put_number(b, SL_GGUF_ARRAY, 4);
    put_number(b, type, 4);
    put_number(b, count, 8);
}

/* Version 3, without tensors. */
static void put_small(struct bytes *b)
{
    put(b, "GGUF", 4);
    put_number(b, 3, 4);
    put_number(b, 0, 8);
    put_number(b, 6, 8);
    put_text(b, "tokenizer.ggml.model");
    put_number(b, SL_GGUF_STRING, 4);
    put_text(b, "llama");
    put_text(b, "tokenizer.ggml.bos_token_id");
    put_number(b, SL_GGUF_UINT32, 4);
    put_number(b, 1, 4);
    put_text(b, "tokenizer.ggml.unknown_token_id");
    put_number(b, SL_GGUF_UINT32, 4);
    put_number(b, 0, 4);
    put_array(b, "tokenizer.ggml.tokens", SL_GGUF_STRING, COUNT(small));
    for (size_t i = 0; i < COUNT(small); i++)
        put_text(b, small[i].text);
    put_array(b, "tokenizer.ggml.token_type", SL_GGUF_INT32, COUNT(small));
    put(b, types, sizeof types);
    put_array(b, "tokenizer.ggml.scores", SL_GGUF_FLOAT32, COUNT(small));
    put(b, scores, sizeof scores);
}

/* Strings of a file have no NUL; a 'llama' vocabulary that does not say so begins texts. */
Test(gguf_vocabulary, is_read_from_a_file)
{
    struct bytes b = {0};
    struct sl_gguf_model model = {0};
    struct sl_gguf_vocabulary v = llama_small();
    struct sl_err err;
    struct sl_tokenizer *tokens = NULL, *want = NULL;
    put_small(&b);
    EXPECT_OK(sl_gguf_parse(&model.file, b.data, b.count, &err), err);
    EXPECT_OK((tokens = sl_gguf_model_tokenizer(&model, &err)), err);
    EXPECT_OK((want = sl_gguf_vocabulary_open(&v, &err)), err);
    expect_same(tokens, want, "abab! a");
    cr_expect(sl_tokenizer_begins_texts(tokens));
    sl_tokenizer_destroy(tokens);
    sl_tokenizer_destroy(want);
    sl_gguf_close(&model.file);
}

Test(gguf_vocabulary, is_refused_by_name)
{
    static const struct sl_piece merge[] = {{"ab", 2}};
    struct sl_gguf_vocabulary v = llama_small();
    struct sl_err err;
    v.model = "rwkv";
    EXPECT_FAIL(sl_gguf_vocabulary_open(&v, &err), err, SL_CORRUPT,
                "unknown tokenizer model 'rwkv'");
    v.model = "gpt2";
    v.pre = "tekken";
    EXPECT_FAIL(sl_gguf_vocabulary_open(&v, &err), err, SL_CORRUPT,
                "unknown pre-tokenizer 'tekken'");
    v.pre = "gpt-2";
    v.merges = merge;
    v.merge_count = 1;
    EXPECT_FAIL(sl_gguf_vocabulary_open(&v, &err), err, SL_CORRUPT, "merges[0]: expected two");
    v = llama_small();
    v.scores = NULL;
    EXPECT_FAIL(sl_gguf_vocabulary_open(&v, &err), err, SL_CORRUPT, "without scores");
    v = llama_small();
    v.begin = 70;
    EXPECT_FAIL(sl_gguf_vocabulary_open(&v, &err), err, SL_CORRUPT, "token 70 is not in");
}

/* -- those of files --------------------------------------------------------------------------- */

static int32_t id_of(const json_t *root, const char *key)
{
    const json_t *value = json_object_get(root, key);
    return json_is_integer(value) ? (int32_t)json_integer_value(value) : -1;
}

static struct sl_piece *pieces_of(const json_t *list, size_t *count)
{
    *count = json_array_size(list);
    struct sl_piece *pieces = calloc(*count + 1, sizeof *pieces);
    for (size_t i = 0; i < *count; i++) {
        const json_t *text = json_array_get(list, i);
        pieces[i] = (struct sl_piece){json_string_value(text), json_string_length(text)};
    }
    return pieces;
}

static struct sl_tokenizer *tokens_of(const json_t *root, struct sl_err *err)
{
    size_t count, merge_count;
    const json_t *list = json_object_get(root, "token_type"),
                 *all = json_object_get(root, "scores");
    struct sl_piece *pieces = pieces_of(json_object_get(root, "tokens"), &count);
    struct sl_piece *merges = pieces_of(json_object_get(root, "merges"), &merge_count);
    int32_t *kinds = calloc(count, sizeof *kinds);
    float *values = calloc(count, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        kinds[i] = (int32_t)json_integer_value(json_array_get(list, i));
        values[i] = (float)json_number_value(json_array_get(all, i));
    }
    const struct sl_gguf_vocabulary v = {.model = json_string_value(json_object_get(root, "model")),
                                         .pre = json_string_value(json_object_get(root, "pre")),
                                         .pieces = pieces,
                                         .types = kinds,
                                         .scores = values,
                                         .count = (int)count,
                                         .merges = merges,
                                         .merge_count = merge_count,
                                         .begin = id_of(root, "bos_token_id"),
                                         .end = id_of(root, "eos_token_id"),
                                         .unknown = id_of(root, "unknown_token_id"),
                                         .padding = id_of(root, "padding_token_id"),
                                         .adds_blank = true};
    struct sl_tokenizer *tokens = sl_gguf_vocabulary_open(&v, err);
    free(pieces);
    free(merges);
    free(kinds);
    free(values);
    return tokens;
}

static void case_check(const struct sl_tokenizer *tokens, const json_t *one, const char *file)
{
    const json_t *text = json_array_get(one, 0), *recorded = json_array_get(one, 1);
    int32_t ids[TOKENS_MAX];
    struct sl_err err;
    long count = sl_tokenizer_encode(tokens, json_string_value(text), json_string_length(text),
                                     SL_UNKNOWN_REPLACE, ids, TOKENS_MAX, &err);
    cr_expect_eq(count, (long)json_array_size(recorded), "%s: '%s': %ld tokens", file,
                 json_string_value(text), count);
    for (long i = 0; i < count && i < (long)json_array_size(recorded); i++)
        cr_expect_eq(ids[i], json_integer_value(json_array_get(recorded, (size_t)i)),
                     "%s: '%s': token %ld", file, json_string_value(text), i);
}

static void file_check(const char *file)
{
    json_error_t error;
    struct sl_err err;
    size_t i;
    json_t *one, *root = json_load_file(file, JSON_ALLOW_NUL, &error);
    cr_assert(root, "%s: %s", file, error.text);
    struct sl_tokenizer *tokens = NULL;
    EXPECT_OK((tokens = tokens_of(root, &err)), err);
    struct sl_tokenizer *again = saved(tokens);
    json_array_foreach (json_object_get(root, "cases"), i, one) {
        case_check(tokens, one, file);
        case_check(again, one, file);
    }
    sl_tokenizer_destroy(tokens);
    sl_tokenizer_destroy(again);
    json_decref(root);
}

Test(gguf_vocabulary, of_files_makes_the_recorded_tokens, .timeout = 60)
{
    glob_t files;
    if (glob(SL_SOURCE_DIR "/build/tokenizers/*.json", 0, NULL, &files) != 0)
        cr_skip_test("build/tokenizers/ has no files: see tests/golden/extract_gguf.py");
    for (size_t i = 0; i < files.gl_pathc; i++)
        file_check(files.gl_pathv[i]);
    globfree(&files);
}
