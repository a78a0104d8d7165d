/* test_vocabulary.c - vocabularies as files: lines and JSON, alone and in a checkpoint, and what is
 * wrong with bad ones. */
#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "formats/vocabulary.h"
#include "support/test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define SPECIALS     "[PAD]\n[UNK]\n[CLS]\n[SEP]\n"

static struct sl_tokenizer *read_text(const char *kind, bool lower, const char *text)
{
    struct sl_err err;
    struct sl_tokenizer *tokens = NULL;
    EXPECT_OK((tokens = sl_vocabulary_read(kind, lower, text, strlen(text), &err)), err);
    return tokens;
}

/* ---- files that are fine -------------------------------------------------------------------- */

static const struct {
    const char *kind, *file, *text;
    int size;
} files[] = {
    {"wordpiece", "vocab.txt", SPECIALS "a\n##b\n\xC3\xA9\n", 7},
    {"words", "vocab.txt", "[PAD]\n[START]\n[UNK]\nthe\n", 4},
    {"characters", "vocab.json",
     "{\n  \"kind\": \"characters\",\n  \"pieces\": [\n    \"\\n\",\n    \"a\"\n  ]\n}\n", 2},
    {"bytes", "vocab.json", "{\n  \"kind\": \"bytes\"\n}\n", 257},
};

Test(vocabulary, what_is_read_is_printed_again)
{
    for (size_t i = 0; i < COUNT(files); i++) {
        struct sl_err err;
        cr_assert_str_eq(sl_vocabulary_file(files[i].kind), files[i].file);
        struct sl_tokenizer *tokens = read_text(files[i].kind, true, files[i].text);
        cr_assert_eq(sl_tokenizer_size(tokens), files[i].size, "%s", files[i].kind);
        cr_assert_str_eq(sl_tokenizer_kind(tokens), files[i].kind);
        char *text = NULL;
        EXPECT_OK((text = sl_vocabulary_print(tokens, &err)), err);
        struct sl_tokenizer *again = read_text(files[i].kind, true, text);
        cr_assert_eq(sl_tokenizer_size(again), files[i].size);
        if (strcmp(files[i].file, "vocab.txt") == 0)
            cr_assert_str_eq(text, files[i].text);
        sl_tokenizer_destroy(again);
        free(text);
        sl_tokenizer_destroy(tokens);
    }
}

/* Converted twice they end in two carriage returns: one that stayed would go when the vocabulary is
 * printed and read again. */
Test(vocabulary, line_ends_of_other_systems_are_fine)
{
    size_t bytes;
    struct sl_err err;
    struct sl_tokenizer *tokens =
        read_text("wordpiece", true, "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\nab\r\r\ncd\r\r");
    char *text = sl_vocabulary_print(tokens, &err);
    cr_assert_eq(sl_tokenizer_size(tokens), 6);
    cr_assert_str_eq(sl_tokenizer_piece(tokens, 4, &bytes), "ab");
    cr_assert_str_eq(sl_tokenizer_piece(tokens, 3, &bytes), "[SEP]");
    cr_assert_str_eq(text, SPECIALS "ab\ncd\n");
    free(text);
    sl_tokenizer_destroy(tokens);
}

/* ---- files that are not --------------------------------------------------------------------- */

static const struct {
    const char *kind, *text;
    enum sl_code code;
    const char *want;
} bad_files[] = {
    {"wordpiece", "", SL_CORRUPT, "no lines: expected 1 to 2097152, one piece per line"},
    {"wordpiece", "[PAD]\n[UNK]\n[CLS]\na\n", SL_BAD_INPUT,
     "it has no line [SEP]; `sluice vocab wordpiece` makes one"},
    {"wordpiece", SPECIALS "a\n##a\na\n", SL_BAD_INPUT, "line 7, 'a', is the same as line 5"},
    {"wordpiece", SPECIALS "##a\nb\n##a\n", SL_BAD_INPUT, "line 7, '##a', is the same as line 5"},
    {"wordpiece", SPECIALS "[PAD]\n", SL_BAD_INPUT, "line 5, '[PAD]', is the same as line 1"},
    {"wordpiece", SPECIALS "a\n\nb\n", SL_BAD_INPUT, "line 6 is empty"},
    {"wordpiece", SPECIALS "a\n\n", SL_BAD_INPUT, "line 6 is empty"},
    {"wordpiece", SPECIALS "a\nb\xFF\n", SL_BAD_INPUT, "line 6: byte 2 is 0xFF: not UTF-8"},
    {"words", "[PAD]\n[START]\nthe\n[UNK]\n", SL_BAD_INPUT, "line 3 is 'the': expected '[UNK]'"},
    {"words", "[PAD]\n[START]\n", SL_BAD_INPUT, "line 3 is '': expected '[UNK]'"},
    {"words", "[PAD]\n[START]\n[UNK]\na\na\n", SL_BAD_INPUT, "line 5, 'a', is the same as line 4"},
    {"characters", "[PAD]\n", SL_CORRUPT, "not JSON"},
    {"characters", "{\"kind\":\"bytes\"}", SL_CORRUPT,
     "invalid kind 'bytes': expected 'characters'"},
    {"characters", "{\"kind\":\"characters\"}", SL_CORRUPT, "'pieces' is nothing of 0"},
    {"bytes", "{\"kind\":\"bytes\",\"pieces\":[]}", SL_CORRUPT,
     "unknown key 'pieces': expected one of: kind"},
    {"bytes", "{\"kind\":\"characters\"}", SL_CORRUPT,
     "invalid kind 'characters': expected 'bytes'"},
    {"bytes", "{}", SL_CORRUPT, "'kind' is missing"},
};

Test(vocabulary, bad_files_are_rejected_by_line_and_piece)
{
    for (size_t i = 0; i < COUNT(bad_files); i++) {
        struct sl_err err;
        EXPECT_FAIL(sl_vocabulary_read(bad_files[i].kind, true, bad_files[i].text,
                                       strlen(bad_files[i].text), &err),
                    err, bad_files[i].code, bad_files[i].want);
    }
}

Test(vocabulary, pieces_have_bounds)
{
    struct sl_err err;
    char text[sizeof SPECIALS + SL_PIECE_BYTES_MAX + 2] = SPECIALS;
    size_t start = strlen(text);
    memset(text + start, 'x', SL_PIECE_BYTES_MAX);
    struct sl_tokenizer *tokens = read_text("wordpiece", true, text);
    cr_assert_eq(sl_tokenizer_size(tokens), 5);
    sl_tokenizer_destroy(tokens);
    text[start + SL_PIECE_BYTES_MAX] = 'x';
    EXPECT_FAIL(sl_vocabulary_read("wordpiece", true, text, start + SL_PIECE_BYTES_MAX + 1, &err),
                err, SL_BAD_INPUT, "line 5 has 513 bytes: expected at most 512");
    text[start + 1] = '\0';
    EXPECT_FAIL(sl_vocabulary_read("wordpiece", true, text, start + 3, &err), err, SL_BAD_INPUT,
                "line 5 contains a line break or NUL");

    size_t bytes = 2 * (size_t)SL_VOCAB_MAX + 2;
    char *lines = malloc(bytes);
    cr_assert(lines);
    for (size_t i = 0; i < bytes; i++)
        lines[i] = i % 2 ? '\n' : 'x';
    EXPECT_FAIL(sl_vocabulary_read("wordpiece", true, lines, bytes, &err), err, SL_CORRUPT,
                "too many lines: expected 1 to 2097152");
    EXPECT_FAIL(sl_vocabulary_read("wordpiece", true, lines, bytes - 2, &err), err, SL_BAD_INPUT,
                "line 2, 'x', is the same as line 1");
    free(lines);
}

Test(vocabulary, a_file_is_named)
{
    char top[PATH_MAX], path[PATH_MAX];
    struct sl_err err;
    test_directory_create(top);
    (void)test_path(path, top, "pieces");
    EXPECT_FAIL(sl_vocabulary_open("wordpiece", true, path, &err), err, SL_NOT_FOUND,
                "vocabulary '");
    test_write_file(path, "");
    EXPECT_FAIL(sl_vocabulary_open("wordpiece", true, path, &err), err, SL_CORRUPT, "no lines");
    test_write_file(path, SPECIALS "a\n");
    struct sl_tokenizer *tokens = NULL;
    EXPECT_OK((tokens = sl_vocabulary_open("wordpiece", true, path, &err)), err);
    sl_tokenizer_destroy(tokens);
    test_directory_remove(top);
}

/* ---- in a checkpoint ------------------------------------------------------------------------ */

static char top[PATH_MAX], model[PATH_MAX];

static void setup(void)
{
    test_directory_create(top);
    (void)test_path(model, top, "1");
}

static void teardown(void)
{
    test_directory_remove(top);
}

static void checkpoint_write(const struct sl_tokenizer *tokens)
{
    static float data[8];
    static char training[] = "{}";
    struct sl_parameter parameter = {.name = "weight", .rows = 1, .cols = 8, .data = data};
    struct sl_model_config model_config = {.arch = sl_arch_find("tsa"),
                                           .tokenizer = sl_tokenizer_kind(tokens)};
    model_config.policy = sl_policy_defaults(model_config.arch);
    sl_config_set_defaults(model_config.arch, &model_config.hyper);
    model_config.hyper.vocab = sl_tokenizer_size(tokens);
    model_config.training = training;
    const struct sl_checkpoint_parts parts = {.model_config = &model_config,
                                              .tokens = tokens,
                                              .parameters = &parameter,
                                              .count = 1,
                                              .created = 1};
    struct sl_err err;
    EXPECT_OK(sl_checkpoint_write(model, &parts, &err), err);
}

/* Whether config.json has this text. */
static bool config_has(const char *part)
{
    char path[PATH_MAX];
    struct sl_map map;
    struct sl_err err;
    EXPECT_OK(sl_map_open(&map, test_path(path, model, "config.json"), &err), err);
    bool found = memmem(map.data, map.size, part, strlen(part)) != NULL;
    sl_map_close(&map);
    return found;
}

static void expect_same(const struct sl_tokenizer *a, const struct sl_tokenizer *b)
{
    static const char text[] = "Caf\xC3\xA9 a AB";
    int32_t x[32], y[32];
    struct sl_err err;
    cr_assert_str_eq(sl_tokenizer_kind(a), sl_tokenizer_kind(b));
    cr_assert_eq(sl_tokenizer_size(a), sl_tokenizer_size(b));
    long count = sl_tokenizer_encode(a, text, strlen(text), SL_UNKNOWN_REPLACE, x, 32, &err);
    cr_assert_gt(count, 0);
    cr_assert_eq(sl_tokenizer_encode(b, text, strlen(text), SL_UNKNOWN_REPLACE, y, 32, &err),
                 count);
    cr_assert_eq(memcmp(x, y, (size_t)count * sizeof *x), 0, "%s", sl_tokenizer_kind(a));
}

static const struct {
    const char *kind;
    bool lower;
    const char *text, *config; /* "tokenizer" in config.json */
} kept[] = {
    {"wordpiece", true, SPECIALS "cafe\na\n##b\nA\n##B\n",
     "{\n    \"kind\": \"wordpiece\",\n    \"file\": \"vocab.txt\",\n    \"lowercase\": true\n  }"},
    {"wordpiece", false, SPECIALS "Caf\xC3\xA9\na\n##b\nA\n##B\n",
     "{\n    \"kind\": \"wordpiece\",\n    \"file\": \"vocab.txt\",\n    "
     "\"lowercase\": false\n  }"},
    {"words", false, "[PAD]\n[START]\n[UNK]\nAB\nab\n",
     "{\n    \"kind\": \"words\",\n    \"file\": \"vocab.txt\",\n    \"lowercase\": false\n  }"},
    {"characters", true, "{\"kind\":\"characters\",\"pieces\":[\" \",\"A\",\"C\",\"a\"]}",
     "{\n    \"kind\": \"characters\",\n    \"file\": \"vocab.json\"\n  }"},
    {"bytes", true, "{\"kind\":\"bytes\"}",
     "{\n    \"kind\": \"bytes\",\n    \"file\": \"vocab.json\"\n  }"},
};

Test(checkpoint_vocabulary, every_kind_comes_back, .init = setup, .fini = teardown)
{
    for (size_t i = 0; i < COUNT(kept); i++) {
        struct sl_checkpoint checkpoint;
        struct sl_err err;
        struct sl_tokenizer *tokens = read_text(kept[i].kind, kept[i].lower, kept[i].text);
        checkpoint_write(tokens);
        cr_assert(config_has(kept[i].config), "case %zu: %s", i, kept[i].config);
        EXPECT_OK(sl_checkpoint_open(&checkpoint, model, &err), err);
        expect_same(tokens, checkpoint.tokens);
        sl_checkpoint_close(&checkpoint);
        sl_tokenizer_destroy(tokens);
    }
}

/* Card texts: what is wrong with their tokenizers. */
static const struct {
    const char *tokenizer, *want; /* NULL: nothing */
    bool lower;
} cards[] = {
    {"{\"kind\":\"wordpiece\",\"file\":\"vocab.txt\"}", NULL, true},
    {"{\"kind\":\"wordpiece\",\"file\":\"vocab.txt\",\"lowercase\":false}", NULL, false},
    {"{\"kind\":\"bytes\",\"file\":\"vocab.json\"}", NULL, false},
    {"{\"kind\":\"wordpiece\",\"file\":\"vocab.json\"}",
     "tokenizer: invalid 'file' 'vocab.json': expected one of: 'vocab.txt'", false},
    {"{\"kind\":\"words\",\"file\":\"vocab.txt\",\"lowercase\":1}",
     "tokenizer: 'lowercase' is a whole number: expected true or false", false},
    {"{\"kind\":\"bytes\",\"file\":\"vocab.json\",\"lowercase\":true}",
     "tokenizer: unknown key 'lowercase': expected one of: kind, file", false},
    {"{\"kind\":\"syllables\",\"file\":\"vocab.txt\"}",
     "expected one of: 'characters', 'bytes', 'words', 'wordpiece'", false},
};

Test(checkpoint_vocabulary, config_has_kind_file_and_lower)
{
    struct sl_err err;
    struct sl_model_config model_config = {.arch = sl_arch_find("tsa"), .tokenizer = "characters"};
    model_config.policy = sl_policy_defaults(model_config.arch);
    sl_config_set_defaults(model_config.arch, &model_config.hyper);
    model_config.hyper.vocab = 65;
    char *whole = NULL;
    EXPECT_OK((whole = sl_model_config_print(&model_config, &err)), err);
    char *from = strstr(whole, "\"tokenizer\": {"), *to = from ? strchr(from, '}') : NULL;
    cr_assert(from && to);
    for (size_t i = 0; i < COUNT(cards); i++) {
        char text[8192];
        struct sl_model_config read = {0};
        int length = snprintf(text, sizeof text, "%.*s\"tokenizer\": %s%s", (int)(from - whole),
                              whole, cards[i].tokenizer, to + 1);
        cr_assert(length > 0 && length < (int)sizeof text);
        if (cards[i].want) {
            EXPECT_FAIL(sl_model_config_read(&read, text, strlen(text), &err), err, SL_CORRUPT,
                        cards[i].want);
            continue;
        }
        EXPECT_OK(sl_model_config_read(&read, text, strlen(text), &err), err);
        cr_assert_eq(read.lower, cards[i].lower, "%s", cards[i].tokenizer);
        sl_model_config_release(&read);
    }
    free(whole);
}

Test(checkpoint_vocabulary, the_other_file_is_noticed, .init = setup, .fini = teardown)
{
    struct sl_checkpoint checkpoint;
    struct sl_err err;
    char path[PATH_MAX];
    struct sl_tokenizer *tokens = read_text("wordpiece", true, kept[0].text);
    checkpoint_write(tokens);
    test_write_file(test_path(path, model, "vocab.json"), "{}");
    EXPECT_FAIL(sl_checkpoint_open(&checkpoint, model, &err), err, SL_CORRUPT,
                "file 'vocab.json' is not in the manifest");
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(unlink(test_path(path, model, "vocab.txt")), 0);
    EXPECT_FAIL(sl_checkpoint_open(&checkpoint, model, &err), err, SL_NOT_FOUND,
                "it has no vocab.txt");
    sl_tokenizer_destroy(tokens);
}
