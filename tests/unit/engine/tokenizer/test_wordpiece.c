/* test_wordpiece.c - the tokenizers that are not of characters: pieces, words and bytes. Pieces are
 * compared with what another implementation recorded (golden/record_tokens.py). */
#include "base/file.h"
#include "base/random.h"
#include "base/utf8.h"
#include "formats/vocabulary.h"
#include "support/test.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/tokenizer_kinds.h"
#include "tokenizer/tokenizer_trainer.h"

#include <jansson.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define GOLDEN       SL_SOURCE_DIR "/tests/golden/"

enum { MOST = 256 };

struct encoded {
    int32_t ids[MOST];
    struct sl_token_offset places[MOST];
    long count;
};

/* A tokenizer of lines, each ended by a line feed. */
static struct sl_tokenizer *tokens_of(const char *kind, bool lower, const char *lines)
{
    struct sl_err err;
    struct sl_tokenizer *tokens = NULL;
    EXPECT_OK((tokens = sl_vocabulary_read(kind, lower, lines, strlen(lines), &err)), err);
    return tokens;
}

static struct sl_tokenizer *golden_open(bool lower)
{
    struct sl_err err;
    struct sl_tokenizer *tokens = NULL;
    EXPECT_OK((tokens = sl_vocabulary_open("wordpiece", lower, GOLDEN "wordpiece.txt", &err)), err);
    return tokens;
}

static void encode(const struct sl_tokenizer *tokens, const char *text, size_t bytes, bool special,
                   struct encoded *out)
{
    struct sl_err err = {0};
    const struct sl_encoding job = {.text = text,
                                    .bytes = bytes,
                                    .special = special,
                                    .ids = out->ids,
                                    .offsets = out->places,
                                    .capacity = MOST};
    out->count = sl_tokenizer_tokenize(tokens, &job, &err);
    cr_assert_geq(out->count, 0, "%s", err.text);
    cr_assert_leq(out->count, MOST);
}

/* Writes what is encoded as "piece@start-stop piece@..."; returns out. */
static const char *spelled(const struct sl_tokenizer *tokens, const char *text, bool special,
                           char out[4096])
{
    struct encoded e;
    size_t used = 0, bytes;
    out[0] = '\0';
    encode(tokens, text, strlen(text), special, &e);
    for (long i = 0; i < e.count; i++)
        used += (size_t)snprintf(out + used, 4096 - used, "%s%s@%zu-%zu%s", i ? " " : "",
                                 sl_tokenizer_piece(tokens, e.ids[i], &bytes), e.places[i].start,
                                 e.places[i].stop, e.places[i].special ? "*" : "");
    return out;
}

/* ---- the shortcut for plain words ------------------------------------------------------------ */

/* The same text twice, the second time with a character behind each byte that is removed (U+200B):
 * its words are read a code point at a time. */
static void expect_alike(const struct sl_tokenizer *tokens, const char *begin, uint64_t key)
{
    static const char alphabet[] = "aabbccAC!# x1\t\001";
    static const unsigned char invisible[] = {0xE2, 0x80, 0x8B}; /* U+200B */
    char plain[64], other[128];
    size_t count = (size_t)snprintf(plain, sizeof plain, "%s", begin), bytes = count;
    memcpy(other, plain, bytes);
    for (uint64_t i = 0; i < 12; i++) {
        plain[count] = alphabet[sl_random_below(key, i, sizeof alphabet - 1)];
        other[bytes++] = plain[count++];
        memcpy(other + bytes, invisible, sizeof invisible);
        bytes += sizeof invisible;
    }
    struct encoded a, b;
    encode(tokens, plain, count, false, &a);
    encode(tokens, other, bytes, false, &b);
    cr_assert_eq(a.count, b.count, "%s", plain);
    for (long i = 0; i < a.count; i++)
        cr_assert_eq(a.ids[i], b.ids[i], "'%s', token %ld", plain, i);
}

Test(wordpiece, words_are_read_alike_by_bytes_and_by_code_points)
{
    static const char pieces[] =
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nab\n##b\n##c\nabc\nabcdefghijklmnop\n"
        "abcdefghijklmnopq\n!\n#\nA\nCap\nx1\n";
    static const char *const begins[] = {
        "abcdefghijklmnop ", "abcdefghijklmnop", "abcdefghijklmnopq!", "Cap ", "", "A#"};
    for (int lower = 0; lower < 2; lower++) {
        struct sl_tokenizer *tokens = tokens_of("wordpiece", lower, pieces);
        for (uint64_t round = 0; round < 3000; round++)
            expect_alike(tokens, begins[round % COUNT(begins)],
                         sl_random_key(test_seed() + round, "words"));
        sl_tokenizer_destroy(tokens);
    }
}

/* ---- against what was recorded -------------------------------------------------------------- */

/* The ids as text again, without special tokens and with them. */
static void decoded_check(const struct sl_tokenizer *tokens, const struct encoded *e,
                          const json_t *decoded, const char *shown)
{
    struct sl_err err;
    char text[4096];
    for (size_t i = 0; i < 2; i++) {
        const json_t *wanted = json_array_get(decoded, i);
        const struct sl_decoding job = {.ids = e->ids,
                                        .count = e->count,
                                        .skip_special = i == 0,
                                        .text = text,
                                        .capacity = 4096};
        long bytes = sl_tokenizer_decode(tokens, &job, &err);
        cr_assert_eq(bytes, (long)json_string_length(wanted), "%s: %.*s", shown, (int)bytes, text);
        cr_assert_eq(memcmp(text, json_string_value(wanted), (size_t)bytes), 0, "%s: %.*s", shown,
                     (int)bytes, text);
    }
}

static void case_check(const struct sl_tokenizer *tokens, const json_t *one)
{
    const json_t *text = json_object_get(one, "text"), *ids = json_object_get(one, "ids");
    const json_t *places = json_object_get(one, "places"), *names = json_object_get(one, "tokens");
    struct encoded e;
    char *shown = json_dumps(text, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    encode(tokens, json_string_value(text), json_string_length(text), /* special= */ true, &e);
    cr_assert_eq(e.count, (long)json_array_size(ids), "%s: %ld tokens, want %zu", shown, e.count,
                 json_array_size(ids));
    for (size_t i = 0; i < (size_t)e.count; i++) {
        const json_t *place = json_array_get(places, i);
        size_t bytes;
        bool special = i == 0 || i + 1 == (size_t)e.count;
        cr_assert_eq(e.ids[i], json_integer_value(json_array_get(ids, i)), "%s: id %zu", shown, i);
        cr_assert_str_eq(sl_tokenizer_piece(tokens, e.ids[i], &bytes),
                         json_string_value(json_array_get(names, i)), "%s: token %zu", shown, i);
        cr_assert_eq((json_int_t)e.places[i].start, json_integer_value(json_array_get(place, 0)),
                     "%s: start of token %zu is %zu", shown, i, e.places[i].start);
        cr_assert_eq((json_int_t)e.places[i].stop, json_integer_value(json_array_get(place, 1)),
                     "%s: stop of token %zu is %zu", shown, i, e.places[i].stop);
        cr_assert_eq(e.places[i].special, special, "%s: token %zu", shown, i);
    }
    decoded_check(tokens, &e, json_object_get(one, "decoded"), shown);
    free(shown);
}

static void golden_check(const char *name, bool lower, size_t min)
{
    json_error_t error;
    json_t *root = json_load_file(GOLDEN "wordpiece.json", JSON_ALLOW_NUL, &error);
    cr_assert(root, "%s", error.text);
    struct sl_tokenizer *tokens = golden_open(lower);
    const json_t *cases = json_object_get(root, name);
    cr_assert_geq(json_array_size(cases), min);
    for (size_t i = 0; i < json_array_size(cases); i++)
        case_check(tokens, json_array_get(cases, i));
    sl_tokenizer_destroy(tokens);
    json_decref(root);
}

Test(wordpiece, lower_cased_as_recorded)
{
    golden_check("lower", true, 70);
}

Test(wordpiece, cased_as_recorded)
{
    golden_check("cased", false, 8);
}

/* ---- characters ----------------------------------------------------------------------------- */

static const struct {
    uint32_t point;
    enum sl_codepoint_kind lower, cased; /* of the first codepoint that it becomes */
    uint32_t becomes;
} codepoints[] = {
    {'A', SL_CODEPOINT_PART, SL_CODEPOINT_PART, 'a'},
    {'$', SL_CODEPOINT_PUNCTUATION, SL_CODEPOINT_PUNCTUATION, '$'},
    {'_', SL_CODEPOINT_PUNCTUATION, SL_CODEPOINT_PUNCTUATION, '_'},
    {0x20AC, SL_CODEPOINT_PART, SL_CODEPOINT_PART, 0x20AC}, /* a symbol, but not of ASCII */
    {0x00, SL_CODEPOINT_NONE, SL_CODEPOINT_NONE, 0},
    {0x0B, SL_CODEPOINT_NONE, SL_CODEPOINT_NONE, 0x0B},
    {'\n', SL_CODEPOINT_SPACE, SL_CODEPOINT_SPACE, '\n'},
    {0xA0, SL_CODEPOINT_SPACE, SL_CODEPOINT_SPACE, 0xA0},
    {0x2029, SL_CODEPOINT_SPACE, SL_CODEPOINT_SPACE, 0x2029},
    {0x301, SL_CODEPOINT_ACCENT, SL_CODEPOINT_PART, 0x301},
    {0xC9, SL_CODEPOINT_PART, SL_CODEPOINT_PART, 'e'},
    {0x2260, SL_CODEPOINT_PUNCTUATION, SL_CODEPOINT_PART, '='},
    {0x4E2D, SL_CODEPOINT_IDEOGRAPH, SL_CODEPOINT_IDEOGRAPH, 0x4E2D},
    {0xF900, SL_CODEPOINT_IDEOGRAPH, SL_CODEPOINT_IDEOGRAPH, 0x8C48},
    /* Where the implementation that recorded slips: BERT has this block. */
    {0x2B820, SL_CODEPOINT_IDEOGRAPH, SL_CODEPOINT_IDEOGRAPH, 0x2B820},
    {0xAC01, SL_CODEPOINT_PART, SL_CODEPOINT_PART, 0x1100},
    {0x0378, SL_CODEPOINT_PART, SL_CODEPOINT_PART, 0x0378}, /* not assigned: seen to be unknown */
    {0xE000, SL_CODEPOINT_NONE, SL_CODEPOINT_NONE, 0xE000},
    {0x10FFFF, SL_CODEPOINT_PART, SL_CODEPOINT_PART, 0x10FFFF},
};

Test(unicode, characters_become_letters)
{
    struct sl_normalizer lower, cased;
    sl_normalizer_init(&lower, true);
    sl_normalizer_init(&cased, false);
    for (size_t i = 0; i < COUNT(codepoints); i++) {
        struct sl_codepoint made[SL_NORMALIZED_MAX];
        sl_normalizer_apply(&lower, codepoints[i].point, made);
        cr_assert_eq(made[0].kind, codepoints[i].lower, "U+%04X", codepoints[i].point);
        cr_assert_eq(made[0].point, codepoints[i].becomes, "U+%04X", codepoints[i].point);
        cr_assert_eq(sl_normalizer_apply(&cased, codepoints[i].point, made), 1);
        cr_assert_eq(made[0].kind, codepoints[i].cased, "U+%04X", codepoints[i].point);
        cr_assert_eq(made[0].point, codepoints[i].point);
    }
}

/* What was lower-cased and taken apart once stays as it is. */
Test(unicode, once_is_enough)
{
    struct sl_normalizer normalizer;
    sl_normalizer_init(&normalizer, true);
    for (uint32_t point = 0; point < SL_CODE_POINTS; point++) {
        struct sl_codepoint made[SL_NORMALIZED_MAX], again[SL_NORMALIZED_MAX];
        int count = sl_normalizer_apply(&normalizer, point, made);
        for (int i = 0; i < count; i++) {
            if (made[i].kind < SL_CODEPOINT_PART)
                continue;
            cr_assert_eq(sl_normalizer_apply(&normalizer, made[i].point, again), 1, "U+%04X",
                         point);
            cr_assert_eq(again[0].point, made[i].point, "U+%04X", point);
            cr_assert_eq(again[0].kind, made[i].kind, "U+%04X", point);
        }
    }
}

/* ---- pieces --------------------------------------------------------------------------------- */

#define SPECIALS "[PAD]\n[UNK]\n[CLS]\n[SEP]\n"

Test(wordpiece, longest_match_first)
{
    char out[4096];
    struct sl_tokenizer *tokens =
        tokens_of("wordpiece", true, SPECIALS "un\nuna\n##aff\n##ff\n##able\n##ab\n##le\nab\n");
    cr_assert_str_eq(spelled(tokens, "unaffable Ab x", false, out),
                     "una@0-3 ##ff@3-5 ##able@5-9 ab@10-12 [UNK]@13-14");
    cr_assert_str_eq(spelled(tokens, "unab", false, out), "[UNK]@0-4",
                     "una, and no ##b: no "
                     "going back");
    cr_assert_str_eq(spelled(tokens, "", true, out), "[CLS]@0-0* [SEP]@0-0*");
    cr_assert_str_eq(spelled(tokens, "ab", true, out), "[CLS]@0-0* ab@0-2 [SEP]@0-0*");
    sl_tokenizer_destroy(tokens);
}

Test(wordpiece, special_tokens_are_found_by_name_wherever_they_are)
{
    char out[4096];
    struct sl_tokenizer *tokens =
        tokens_of("wordpiece", true, "a\n[SEP]\n[CLS]\n[\n]\ncls\n[UNK]\n[MASK]\n[PAD]\n");
    cr_assert_eq(sl_tokenizer_special(tokens, SL_SPECIAL_PAD), 8);
    cr_assert_eq(sl_tokenizer_special(tokens, SL_SPECIAL_UNKNOWN), 6);
    cr_assert_eq(sl_tokenizer_special(tokens, SL_SPECIAL_BEGIN), 2);
    cr_assert_eq(sl_tokenizer_special(tokens, SL_SPECIAL_END), 1);
    cr_assert_eq(sl_tokenizer_special(tokens, SL_SPECIAL_MASK), 7);
    cr_assert_str_eq(spelled(tokens, "[CLS]a", false, out), "[@0-1 cls@1-4 ]@4-5 a@5-6",
                     "a text cannot smuggle special tokens in");
    sl_tokenizer_destroy(tokens);
    tokens = tokens_of("wordpiece", true, SPECIALS "a\n");
    cr_assert_eq(sl_tokenizer_special(tokens, SL_SPECIAL_MASK), -1);
    sl_tokenizer_destroy(tokens);
}

Test(wordpiece, only_as_many_as_there_is_room_for)
{
    struct sl_tokenizer *tokens = tokens_of("wordpiece", true, SPECIALS "a\nb\n");
    struct sl_err err;
    int32_t ids[3] = {-7, -7, -7};
    struct sl_token_offset places[3] = {{.start = 7}, {.start = 7}, {.start = 7}};
    struct sl_encoding job = {
        .text = "a b a", .bytes = 5, .special = true, .ids = ids, .offsets = places, .capacity = 2};
    cr_assert_eq(sl_tokenizer_tokenize(tokens, &job, &err), 5);
    cr_assert_eq(ids[0], 2);
    cr_assert_eq(ids[1], 4);
    cr_assert_eq(ids[2], -7, "wrote past the room");
    cr_assert_eq(places[2].start, 7, "wrote past the room");
    job = (struct sl_encoding){.text = "a b a", .bytes = 5};
    cr_assert_eq(sl_tokenizer_tokenize(tokens, &job, &err), 3);
    cr_assert_eq(sl_tokenizer_encode(tokens, "b", 1, SL_UNKNOWN_FAIL, ids, 3, &err), 1);
    cr_assert_eq(ids[0], 5);
    sl_tokenizer_destroy(tokens);
}

Test(wordpiece, marks_are_in_canonical_order)
{
    char out[4096];
    /* U+1D165 (class 216) and U+1D16D (class 226) are marks that stay: category Mc. */
    struct sl_tokenizer *tokens =
        tokens_of("wordpiece", true, SPECIALS "a\xF0\x9D\x85\xA5\xF0\x9D\x85\xAD\n");
    cr_assert_str_eq(spelled(tokens, "a\xF0\x9D\x85\xA5\xF0\x9D\x85\xAD", false, out),
                     "a\xF0\x9D\x85\xA5\xF0\x9D\x85\xAD@0-9");
    cr_assert_str_eq(spelled(tokens, "a\xF0\x9D\x85\xAD\xCC\x81\xF0\x9D\x85\xA5", false, out),
                     "a\xF0\x9D\x85\xA5\xF0\x9D\x85\xAD@0-11");
    cr_assert_str_eq(spelled(tokens, "a\xF0\x9D\x85\xAD\xCD\x8F\xF0\x9D\x85\xA5", false, out),
                     "[UNK]@0-11", "U+034F stands between them");
    sl_tokenizer_destroy(tokens);
    tokens = tokens_of("wordpiece", true, SPECIALS "a\n##\xF0\x9D\x85\xA5\xF0\x9D\x85\xAD\n");
    cr_assert_str_eq(spelled(tokens, "a\xF0\x9D\x85\xAD\xF0\x9D\x85\xA5", false, out),
                     "a@0-1 ##\xF0\x9D\x85\xA5\xF0\x9D\x85\xAD@1-9", "a place holds both");
    sl_tokenizer_destroy(tokens);
}

Test(wordpiece, long_texts_and_long_words_take_no_longer)
{
    enum { BYTES = 1 << 22 };

    struct sl_tokenizer *tokens = golden_open(true);
    struct sl_err err;
    char *text = malloc(BYTES);
    cr_assert(text);
    memset(text, 'a', BYTES); /* one word */
    struct sl_token_offset place = {0};
    int32_t id = -1;
    struct sl_encoding job = {
        .text = text, .bytes = BYTES, .ids = &id, .offsets = &place, .capacity = 1};
    cr_assert_eq(sl_tokenizer_tokenize(tokens, &job, &err), 1);
    cr_assert_eq(id, sl_tokenizer_special(tokens, SL_SPECIAL_UNKNOWN));
    cr_assert_eq(place.stop, BYTES);
    for (int i = 0; i < BYTES; i++) /* nothing but accents */
        text[i] = "\xCC\x81"[i % 2];
    cr_assert_eq(sl_tokenizer_tokenize(tokens, &job, &err), 0);
    for (int i = 0; i < BYTES; i++)
        text[i] = i % 2 ? ' ' : 'a';
    cr_assert_eq(sl_tokenizer_tokenize(tokens, &job, &err), BYTES / 2);
    free(text);
    sl_tokenizer_destroy(tokens);
}

Test(wordpiece, invalid_utf8_is_rejected_with_its_offset)
{
    static const char *const kinds[] = {"wordpiece", "words"};
    static const char *const lines[] = {SPECIALS "a\n", "[PAD]\n[START]\n[UNK]\n"};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct sl_tokenizer *tokens = tokens_of(kinds[i], true, lines[i]);
        struct sl_err err;
        EXPECT_FAIL(sl_tokenizer_encode(tokens, "ab \xC3(", 5, SL_UNKNOWN_REPLACE, NULL, 0, &err) >=
                        0,
                    err, SL_BAD_INPUT, "byte 4 is 0xC3: not UTF-8");
        sl_tokenizer_destroy(tokens);
    }
}

/* ---- words ---------------------------------------------------------------------------------- */

Test(words, punctuation_is_passed_over)
{
    char out[4096];
    struct sl_tokenizer *tokens =
        tokens_of("words", true, "[PAD]\n[START]\n[UNK]\ndon\nt\ncafe\n\xE4\xB8\xAD\n");
    cr_assert_str_eq(
        spelled(tokens, "Don't! -- Caf\xC3\xA9, cafes \xE4\xB8\xAD\xE6\x96\x87.", true, out),
        "[START]@0-0* don@0-3 t@4-5 cafe@10-15 [UNK]@17-22 \xE4\xB8\xAD@23-26 "
        "[UNK]@26-29");
    cr_assert_eq(sl_tokenizer_special(tokens, SL_SPECIAL_PAD), 0);
    cr_assert_eq(sl_tokenizer_special(tokens, SL_SPECIAL_BEGIN), 1);
    cr_assert_eq(sl_tokenizer_special(tokens, SL_SPECIAL_UNKNOWN), 2);
    cr_assert_eq(sl_tokenizer_special(tokens, SL_SPECIAL_END), -1);
    sl_tokenizer_destroy(tokens);
}

Test(words, a_part_of_a_word_is_not_the_word)
{
    char out[4096];
    struct sl_tokenizer *tokens = tokens_of("words", false, "[PAD]\n[START]\n[UNK]\ncat\nCats\n");
    cr_assert_str_eq(spelled(tokens, "cat ca cats Cats", false, out),
                     "cat@0-3 [UNK]@4-6 [UNK]@7-11 Cats@12-16");
    sl_tokenizer_destroy(tokens);
}

/* ---- bytes ---------------------------------------------------------------------------------- */

Test(bytes, a_token_is_a_byte)
{
    struct sl_err err;
    struct sl_tokenizer *tokens = NULL;
    char text[256], again[256];
    int32_t ids[256];
    struct sl_token_offset places[256];
    for (int i = 0; i < 256; i++)
        text[i] = (char)(unsigned char)(255 - i);
    EXPECT_OK((tokens = sl_tokenizer_train_default("bytes", "", 0, &err)), err);
    cr_assert_eq(sl_tokenizer_size(tokens), 257);
    cr_assert_eq(sl_tokenizer_special(tokens, SL_SPECIAL_PAD), 0);
    const struct sl_encoding job = {.text = text,
                                    .bytes = 256,
                                    .special = true,
                                    .ids = ids,
                                    .offsets = places,
                                    .capacity = 256};
    cr_assert_eq(sl_tokenizer_tokenize(tokens, &job, &err), 256);
    for (int i = 0; i < 256; i++) {
        cr_assert_eq(ids[i], 256 - i);
        cr_assert_eq(places[i].start, (size_t)i);
        cr_assert_eq(places[i].stop, (size_t)i + 1);
    }
    const struct sl_decoding back = {.ids = ids, .count = 256, .text = again, .capacity = 256};
    cr_assert_eq(sl_tokenizer_decode(tokens, &back, &err), 256);
    cr_assert_eq(memcmp(text, again, 256), 0);
    sl_tokenizer_destroy(tokens);
}

Test(bytes, other_pieces_are_rejected)
{
    struct sl_err err;
    struct sl_piece pieces[257];
    struct sl_tokenizer *tokens = sl_tokenizer_train_default("bytes", "", 0, &err);
    cr_assert(tokens);
    for (int id = 0; id < 257; id++)
        pieces[id].text = sl_tokenizer_piece(tokens, id, &pieces[id].bytes);
    EXPECT_FAIL(sl_tokenizer_create("bytes", false, pieces, 256, &err), err, SL_BAD_INPUT,
                "256 pieces: expected 257");
    pieces[66] = pieces[67];
    EXPECT_FAIL(sl_tokenizer_create("bytes", false, pieces, 257, &err), err, SL_BAD_INPUT,
                "piece 66 is not byte 65");
    sl_tokenizer_destroy(tokens);
}

/* ---- back to text --------------------------------------------------------------------------- */

static const char *decoded(const struct sl_tokenizer *tokens, const char *text, bool skip_special,
                           char out[MOST])
{
    struct encoded e;
    struct sl_err err = {0};
    encode(tokens, text, strlen(text), /* special= */ true, &e);
    struct sl_decoding job = {.ids = e.ids,
                              .count = e.count,
                              .skip_special = skip_special,
                              .text = out,
                              .capacity = MOST - 1};
    long bytes = sl_tokenizer_decode(tokens, &job, &err);
    cr_assert(bytes >= 0 && bytes < MOST, "%s", err.text);
    out[bytes] = '\0';
    return out;
}

Test(decode, pieces_are_joined_and_words_parted)
{
    char out[MOST];
    struct sl_tokenizer *tokens = golden_open(true);
    cr_assert_str_eq(decoded(tokens, "Unaffable,  the movie!", true, out), "unaffable, the movie!");
    cr_assert_str_eq(decoded(tokens, "running \xE2\x98\x83", false, out),
                     "[CLS] running [UNK] [SEP]");
    cr_assert_str_eq(decoded(tokens, "", true, out), "");
    cr_assert_str_eq(decoded(tokens, "running \xE2\x98\x83", true, out), "running");
    sl_tokenizer_destroy(tokens);
    tokens = tokens_of("words", true, "[PAD]\n[START]\n[UNK]\nthe\nmovie\n");
    cr_assert_str_eq(decoded(tokens, "The movie. THE film", false, out),
                     "[START] the movie the [UNK]");
    cr_assert_str_eq(decoded(tokens, "The movie. THE film", true, out), "the movie the");
    sl_tokenizer_destroy(tokens);
}

/* As Hugging Face's decoder has it, which looks at each piece with the blank before it alone. */
Test(decode, signs_and_shortened_words_cling_to_what_is_before_them)
{
    static const char *const pieces[] = {"a",  "##a", "'",   "not", ".",   "...", ".com", "?", "!",
                                         ",,", "n't", "'mx", "'s",  "'ve", "'re", "nt",   "-"};

    static const struct {
        const char *pieces[4], *text;
    } cases[] = {
        {{"a", "."}, "a."},          {{"a", "...", "a"}, "a... a"},
        {{"a", ".com"}, "a.com"},    {{"a", "?", "!"}, "a?!"},
        {{"a", ",,", "a"}, "a,, a"}, {{"a", "##a", "!"}, "aa!"},
        {{"a", "n't"}, "an't"},      {{"a", "nt"}, "a nt"},
        {{"a", "'mx"}, "a'mx"},      {{"a", "'s", "a"}, "a's a"},
        {{"a", "'ve"}, "a've"},      {{"a", "'re"}, "a're"},
        {{"a", "'", "a"}, "a ' a"},  {{"a", "-", "a"}, "a - a"},
        {{".", "a"}, ". a"},         {{"not", ".", "a", "?"}, "not. a?"},
    };

    char lines[256] = SPECIALS, text[32];
    struct sl_err err;
    for (size_t i = 0; i < COUNT(pieces); i++)
        (void)snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "%s\n", pieces[i]);
    struct sl_tokenizer *tokens = tokens_of("wordpiece", true, lines);
    int first = sl_tokenizer_size(tokens) - (int)COUNT(pieces);
    for (size_t i = 0; i < COUNT(cases); i++) {
        int32_t ids[4] = {0};
        int count = 0;
        for (; count < 4 && cases[i].pieces[count]; count++)
            while (strcmp(pieces[ids[count]], cases[i].pieces[count]) != 0)
                ids[count]++;
        for (int k = 0; k < count; k++)
            ids[k] += first;
        const struct sl_decoding job = {
            .ids = ids, .count = count, .text = text, .capacity = sizeof text - 1};
        long bytes = sl_tokenizer_decode(tokens, &job, &err);
        text[bytes] = '\0';
        cr_assert_str_eq(text, cases[i].text);
    }
    sl_tokenizer_destroy(tokens);
}

Test(decode, characters_come_back_whole)
{
    char out[MOST];
    struct sl_err err;
    const char *text = "na\xC3\xAFve \xE4\xB8\xAD\n";
    struct sl_tokenizer *tokens =
        sl_tokenizer_train_default("characters", text, strlen(text), &err);
    cr_assert_str_eq(decoded(tokens, text, true, out), text);
    cr_assert_eq(sl_tokenizer_special(tokens, SL_SPECIAL_PAD), -1);
    struct encoded e;
    encode(tokens, text, strlen(text), /* special= */ true, &e);
    cr_assert_eq(e.count, 8);
    cr_assert_eq(e.places[2].start, 2);
    cr_assert_eq(e.places[2].stop, 4);
    cr_assert_eq(e.places[6].start, 7);
    cr_assert_eq(e.places[6].stop, 10);
    sl_tokenizer_destroy(tokens);
}

Test(decode, only_as_much_as_there_is_room_for)
{
    static const int32_t ids[] = {4, 5, 4}, bad[] = {4, 6};
    struct sl_tokenizer *tokens = tokens_of("wordpiece", true, SPECIALS "ab\n##c\n");
    struct sl_err err;
    for (size_t max = 0; max <= 6; max++) {
        char text[8] = "-------";
        struct sl_decoding job = {.ids = ids, .count = 3, .text = text, .capacity = max};
        cr_assert_eq(sl_tokenizer_decode(tokens, &job, &err), 6);
        cr_assert_eq(strncmp(text, "abc ab", max), 0, "%s", text);
        cr_assert_eq(text[max], '-');
    }
    struct sl_decoding job = {.ids = bad, .count = 2};
    EXPECT_FAIL(sl_tokenizer_decode(tokens, &job, &err) >= 0, err, SL_BAD_INPUT,
                "token 1: invalid id 6: expected 0 to 5");
    sl_tokenizer_destroy(tokens);
}
