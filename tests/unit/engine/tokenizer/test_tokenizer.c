/* test_tokenizer.c - UTF-8, and the tokenizer of characters. */
#include "base/utf8.h"
#include "support/test.h"
#include "tokenizer/token_decoder.h"
#include "tokenizer/tokenizer_kinds.h"
#include "tokenizer/tokenizer_trainer.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct sl_tokenizer *learn(const char *text)
{
    struct sl_err err;
    struct sl_tokenizer *tokens = NULL;
    EXPECT_OK((tokens = sl_tokenizer_train_default("characters", text, strlen(text), &err)), err);
    return tokens;
}

static long encode(const struct sl_tokenizer *tokens, const char *text, enum sl_unknown unknown,
                   int32_t *ids, struct sl_err *err)
{
    enum { MOST = 64 };

    return sl_tokenizer_encode(tokens, text, strlen(text), unknown, ids, MOST, err);
}

/* ---- texts that steps of a file rewrite ------------------------------------------------------ */

/* A step that writes 63 bytes for one, some times, would take all memory. */
Test(aligned_text, becomes_at_most_so_long)
{
    struct sl_aligned_text out = {.bytes = SL_ALIGNED_TEXT_MAX - 1}; /* as if they were there */
    struct sl_text_editor editor = {.in = {.text = "a", .bytes = 1}, .out = &out};
    sl_edit_insert(&editor, "bc", 2, 0);
    cr_assert(out.failed);
    cr_assert_eq(out.bytes, SL_ALIGNED_TEXT_MAX - 1);
    cr_assert_null(out.text);
    struct sl_token_texts texts = {.bytes = SL_ALIGNED_TEXT_MAX - 1};
    sl_token_texts_add(&texts, (struct sl_piece){"bc", 2});
    cr_assert(texts.failed);
    cr_assert_null(texts.text);
    sl_token_texts_release(&texts);
}

/* ---- UTF-8 ---------------------------------------------------------------------------------- */

Test(utf8, every_code_point_comes_back)
{
    for (uint32_t point = 0; point < SL_CODE_POINTS; point++) {
        char text[SL_UTF8_MAX];
        size_t bytes = sl_utf8_put(point, text), at = 0;
        uint32_t again = 0;
        bool surrogate = point >= 0xD800 && point <= 0xDFFF;
        cr_assert_eq(sl_utf8_next(text, bytes, &at, &again), !surrogate, "U+%04X", point);
        if (surrogate)
            continue;
        cr_assert_eq(again, point);
        cr_assert_eq(at, bytes);
        at = 0;
        for (size_t cut = 1; cut < bytes; cut++)
            cr_assert_not(sl_utf8_next(text, cut, &at, &again), "U+%04X cut to %zu", point, cut);
    }
}

/* The place is that of the first byte which cannot be decoded from. */
static const struct {
    const char *name, *text;
    size_t bytes, at;
} bad_texts[] = {
    {"continuation alone", "ab\x80", 3, 2},
    {"overlong slash, 2 bytes", "\xC0\xAF", 2, 0},
    {"overlong U+007F, 2 bytes", "a\xC1\xBF", 3, 1},
    {"overlong slash, 3 bytes", "\xE0\x80\xAF", 3, 0},
    {"overlong U+07FF, 3 bytes", "\xE0\x9F\xBF", 3, 0},
    {"overlong slash, 4 bytes", "\xF0\x80\x80\xAF", 4, 0},
    {"overlong U+FFFF, 4 bytes", "\xF0\x8F\xBF\xBF", 4, 0},
    {"surrogate U+D800", "ok \xED\xA0\x80", 6, 3},
    {"surrogate U+DFFF", "\xED\xBF\xBF", 3, 0},
    {"U+110000", "\xF4\x90\x80\x80", 4, 0},
    {"lead byte F5", "\xF5\x80\x80\x80", 4, 0},
    {"lead byte FF", "\xFF", 1, 0},
    {"Latin-1", "caf\xE9 au", 7, 3},
    {"cut after a whole character", "\xC3\xA9\xC3", 3, 2},
    {"second byte missing", "\xE2(\xA1", 3, 0},
    {"third byte missing", "\xE2\x82(", 3, 0},
};

Test(utf8, invalid_utf8_is_rejected_with_its_offset)
{
    struct sl_tokenizer *tokens = learn("abcfok (\xC3\xA9");
    for (size_t i = 0; i < COUNT(bad_texts); i++) {
        struct sl_err err;
        char want[64];
        (void)snprintf(want, sizeof want, "byte %zu is", bad_texts[i].at + 1);
        EXPECT_FAIL(
            sl_tokenizer_train_default("characters", bad_texts[i].text, bad_texts[i].bytes, &err),
            err, SL_BAD_INPUT, want);
        EXPECT_FAIL(sl_tokenizer_encode(tokens, bad_texts[i].text, bad_texts[i].bytes,
                                        SL_UNKNOWN_REPLACE, NULL, 0, &err) >= 0,
                    err, SL_BAD_INPUT, want);
    }
    sl_tokenizer_destroy(tokens);
}

/* ---- learning ------------------------------------------------------------------------------- */

Test(tokenizer, ids_are_in_code_point_order)
{
    struct sl_tokenizer *tokens = learn("b\xE6\xBC\xA2"
                                        "a\n\xC3\xA9 \xF0\x9F\x98\x80"
                                        "ab");
    static const char *const want[] = {
        "\n", " ", "a", "b", "\xC3\xA9", "\xE6\xBC\xA2", "\xF0\x9F\x98\x80"};
    cr_assert_eq(sl_tokenizer_size(tokens), (int)COUNT(want));
    cr_assert_str_eq(sl_tokenizer_kind(tokens), "characters");
    for (int id = 0; id < (int)COUNT(want); id++) {
        size_t bytes = 0;
        const char *piece = sl_tokenizer_piece(tokens, id, &bytes);
        cr_assert_str_eq(piece, want[id]);
        cr_assert_eq(bytes, strlen(want[id]));
    }
    size_t bytes = 7;
    cr_assert_null(sl_tokenizer_piece(tokens, -1, &bytes));
    cr_assert_null(sl_tokenizer_piece(tokens, (int)COUNT(want), &bytes));
    sl_tokenizer_destroy(tokens);
}

Test(tokenizer, what_is_encoded_is_the_text)
{
    const char *text = "Ein K\xC3\xB6nig,\n\xE6\xBC\xA2\xE5\xAD\x97 \xF0\x9F\x98\x80!";
    struct sl_tokenizer *tokens = learn(text);
    struct sl_err err;
    int32_t ids[64];
    char again[128];
    size_t used = 0;
    long count = encode(tokens, text, SL_UNKNOWN_FAIL, ids, &err);
    cr_assert_eq(count, 16);
    for (long i = 0; i < count; i++) {
        size_t bytes;
        const char *piece = sl_tokenizer_piece(tokens, ids[i], &bytes);
        memcpy(again + used, piece, bytes + 1);
        used += bytes;
    }
    cr_assert_str_eq(again, text);
    sl_tokenizer_destroy(tokens);
}

Test(tokenizer, a_nul_is_a_character)
{
    static const char text[] = {'b', '\0', 'a'};
    struct sl_err err;
    int32_t ids[3];
    struct sl_tokenizer *tokens = sl_tokenizer_train_default("characters", text, sizeof text, &err);
    cr_assert_eq(sl_tokenizer_encode(tokens, text, 3, SL_UNKNOWN_FAIL, ids, 3, &err), 3);
    cr_assert_eq(ids[0], 2);
    cr_assert_eq(ids[1], 0);
    cr_assert_eq(ids[2], 1);
    sl_tokenizer_destroy(tokens);
}

Test(tokenizer, all_of_unicode_is_a_vocabulary)
{
    size_t bytes = 0;
    char *text = malloc((size_t)SL_CODE_POINTS * SL_UTF8_MAX);
    int32_t *ids = malloc((size_t)SL_CODE_POINTS * sizeof *ids);
    struct sl_err err;
    cr_assert(text && ids);
    for (uint32_t point = 0; point < SL_CODE_POINTS; point++)
        if (point < 0xD800 || point > 0xDFFF)
            bytes += sl_utf8_put(point, text + bytes);
    struct sl_tokenizer *tokens = sl_tokenizer_train_default("characters", text, bytes, &err);
    cr_assert_eq(sl_tokenizer_size(tokens), SL_CODE_POINTS - 0x800);
    long count =
        sl_tokenizer_encode(tokens, text, bytes, SL_UNKNOWN_FAIL, ids, SL_CODE_POINTS, &err);
    cr_assert_eq(count, SL_CODE_POINTS - 0x800);
    for (long i = 0; i < count; i++)
        cr_assert_eq(ids[i], i);
    sl_tokenizer_destroy(tokens);
    free(ids);
    free(text);
}

Test(tokenizer, only_as_many_ids_as_there_is_room_for)
{
    struct sl_tokenizer *tokens = learn("abc");
    struct sl_err err;
    int32_t ids[3] = {-7, -7, -7};
    cr_assert_eq(sl_tokenizer_encode(tokens, "cab", 3, SL_UNKNOWN_FAIL, ids, 2, &err), 3);
    cr_assert_eq(ids[0], 2);
    cr_assert_eq(ids[1], 0);
    cr_assert_eq(ids[2], -7, "wrote past the room");
    cr_assert_eq(sl_tokenizer_encode(tokens, "cabcab", 6, SL_UNKNOWN_FAIL, NULL, 0, &err), 6);
    cr_assert_eq(sl_tokenizer_encode(tokens, "", 0, SL_UNKNOWN_FAIL, NULL, 0, &err), 0);
    sl_tokenizer_destroy(tokens);
}

/* ---- what the vocabulary does not have ------------------------------------------------------ */

static const struct {
    const char *text, *want;
} unknowns[] = {
    {"abz", "1 character is not in the vocabulary: 'z' (U+007A) at character 3"},
    {"a\xC3\xA9"
     "b\xE6\xBC\xA2\xC3\xA9",
     "2 characters are not in the vocabulary: "
     "'\xC3\xA9' (U+00E9) at character 2, '\xE6\xBC\xA2' (U+6F22) at character 4"},
    {"b\ta", "1 character is not in the vocabulary: U+0009 at character 2"},
    {"12345",
     "5 characters are not in the vocabulary: '1' (U+0031) at character 1, "
     "'2' (U+0032) at character 2, '3' (U+0033) at character 3, '4' (U+0034) at character 4, "
     "'5' (U+0035) at character 5"},
    {"1112345\xF0\x9F\x98\x80"
     "6",
     "more than 5 characters are not in the vocabulary: "
     "'1' (U+0031) at character 1, '2' (U+0032) at character 4, '3' (U+0033) at character 5, "
     "'4' (U+0034) at character 6, '5' (U+0035) at character 7, and others"},
};

Test(tokenizer, unknown_characters_are_named_with_their_positions)
{
    struct sl_tokenizer *tokens = learn("ab ");
    for (size_t i = 0; i < COUNT(unknowns); i++) {
        struct sl_err err = {0};
        int32_t ids[64];
        cr_assert_eq(encode(tokens, unknowns[i].text, SL_UNKNOWN_FAIL, ids, &err), -1);
        cr_assert_eq(err.code, SL_BAD_INPUT);
        cr_assert_str_eq(err.text, unknowns[i].want);
    }
    sl_tokenizer_destroy(tokens);
}

static const struct {
    const char *learnt;
    int32_t id; /* of what replaces; -1: nothing can */
} replacements[] = {
    {" ?ab\xEF\xBF\xBD", 4}, {" ?ab", 1}, {" ab", 0}, {"ab", -1}, {"?", 0}, {"\xEF\xBF\xBD", 0},
};

Test(tokenizer, unknown_characters_are_replaced_by_the_first_available)
{
    for (size_t i = 0; i < COUNT(replacements); i++) {
        struct sl_tokenizer *tokens = learn(replacements[i].learnt);
        struct sl_err err = {0};
        int32_t ids[64];
        long count = encode(tokens, "z\xE6\xBC\xA2", SL_UNKNOWN_REPLACE, ids, &err);
        cr_assert_eq(count, replacements[i].id < 0 ? -1 : 2, "case %zu", i);
        for (long j = 0; j < count; j++)
            cr_assert_eq(ids[j], replacements[i].id, "case %zu", i);
        cr_assert_eq(err.code, replacements[i].id < 0 ? SL_BAD_INPUT : SL_OK);
        sl_tokenizer_destroy(tokens);
    }
}

/* ---- from pieces ---------------------------------------------------------------------------- */

Test(tokenizer, pieces_make_the_same_tokenizer_again)
{
    struct sl_tokenizer *first = learn("hello, \xE4\xB8\x96\xE7\x95\x8C");
    struct sl_piece pieces[16];
    struct sl_err err;
    int count = sl_tokenizer_size(first);
    for (int id = 0; id < count; id++)
        pieces[id].text = sl_tokenizer_piece(first, id, &pieces[id].bytes);
    struct sl_tokenizer *second = NULL;
    EXPECT_OK((second = sl_tokenizer_create("characters", false, pieces, count, &err)), err);
    sl_tokenizer_destroy(first);
    int32_t ids[64];
    cr_assert_eq(encode(second, "\xE7\x95\x8C o", SL_UNKNOWN_FAIL, ids, &err), 3);
    cr_assert_eq(ids[0], count - 1);
    sl_tokenizer_destroy(second);
}

#define PIECE(text)                                                                                \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }

static const struct {
    struct sl_piece pieces[3];
    int count;
    const char *want;
} bad_pieces[] = {
    {{PIECE("a"), PIECE("a")}, 2, "piece 1 (U+0061) follows piece 0 (U+0061)"},
    {{PIECE("b"), PIECE("c"), PIECE("a")}, 3, "piece 2 (U+0061) follows piece 1 (U+0063)"},
    {{PIECE("a"), PIECE("bc")}, 2, "piece 1 of 2 is 2 bytes: expected one UTF-8 character"},
    {{PIECE("a"), PIECE("")}, 2, "piece 1 of 2 is 0 bytes"},
    {{PIECE("\xC0\xAF")}, 1, "piece 0 of 1 is 2 bytes"},
    {{PIECE("a")}, 0, "invalid vocabulary size 0: expected 1 to 2097152"},
    {{PIECE("a")}, -1, "invalid vocabulary size -1"},
    {{PIECE("a")}, SL_VOCAB_MAX + 1, "invalid vocabulary size 2097153"},
};

Test(tokenizer, bad_pieces_are_rejected)
{
    for (size_t i = 0; i < COUNT(bad_pieces); i++) {
        struct sl_err err;
        EXPECT_FAIL(sl_tokenizer_create("characters", false, bad_pieces[i].pieces,
                                        bad_pieces[i].count, &err),
                    err, SL_BAD_INPUT, bad_pieces[i].want);
    }
}

Test(tokenizer, kinds_are_known_by_name)
{
    struct sl_err err;
    cr_assert_str_eq(sl_tokenizer_kind_name(0), "characters");
    int count = 0;
    while (sl_tokenizer_kind_name(count))
        count++;
    cr_assert_leq(count, 16, "the reader of config.json has room for 16");
    EXPECT_FAIL(sl_tokenizer_train_default("syllables", "a", 1, &err), err, SL_BAD_INPUT,
                "unknown tokenizer 'syllables': expected one of: characters");
    EXPECT_FAIL(sl_tokenizer_train_default("characters", "", 0, &err), err, SL_BAD_INPUT,
                "empty text");
    sl_tokenizer_destroy(NULL);
}
