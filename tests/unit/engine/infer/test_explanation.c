/* test_explanation.c - which words moved a score: how texts are cut into words, and that exact
 * contributions sum to what the text adds to the margin. */
#include "layers/bag_of_words.h"
#include "sluice/explanation.h"
#include "support/model_fixture.h"
#include "support/test.h"

#include <math.h>

/* ---- words ----------------------------------------------------------------------------------- */

enum { TOKENS_MAX = 64 };

/* A token for each byte, after a special one. */
static int cut(const char *text, int max, struct sl_text_word *words, int *word_of)
{
    static struct sl_token_offset offsets[TOKENS_MAX];
    int count = 0;
    offsets[count++] = (struct sl_token_offset){.special = true};
    for (size_t i = 0; text[i]; i++)
        offsets[count++] = (struct sl_token_offset){.start = i, .stop = i + 1};
    const struct sl_tokenized_text tokenized = {
        .text = text, .bytes = strlen(text), .offsets = offsets, .count = count};
    return sl_text_words(&tokenized, max, words, word_of);
}

static void expect_word(const char *text, const struct sl_text_word *word, const char *expected)
{
    cr_expect(word->stop - word->start == strlen(expected) &&
                  memcmp(text + word->start, expected, strlen(expected)) == 0,
              "'%.*s', not '%s'", (int)(word->stop - word->start), text + word->start, expected);
}

Test(explanation, words_are_letters_and_signs)
{
    static const char text[] = " I don't like  it!! ";
    static const char *const expected[] = {"I", "don't", "like", "it", "!!"};
    struct sl_text_word words[TOKENS_MAX];
    int word_of[TOKENS_MAX];
    cr_assert_eq(cut(text, TOKENS_MAX, words, word_of), 5);
    for (int i = 0; i < 5; i++)
        expect_word(text, &words[i], expected[i]);
    cr_expect_eq(word_of[0], -1, "a special token");
    cr_expect_eq(word_of[1], -1, "a space before the first word");
    cr_expect_eq(word_of[2], 0);
    cr_expect_eq(word_of[3], 0, "a space belongs to the word before it");
    cr_expect_eq(word_of[8], 1, "an apostrophe between letters");
}

Test(explanation, many_words_are_cut_into_runs)
{
    static const char text[] = "a b c, d e";
    struct sl_text_word words[TOKENS_MAX];
    int word_of[TOKENS_MAX];
    cr_assert_eq(cut(text, 3, words, word_of), 3);
    expect_word(text, &words[0], "a b");
    expect_word(text, &words[1], "c,");
    expect_word(text, &words[2], "d e");
    cr_expect_eq(word_of[strlen(text)], 2);
}

Test(explanation, a_token_may_be_longer_than_a_word)
{
    static const char text[] = "ab-cd ef";
    static const struct sl_token_offset offsets[] = {{.start = 0, .stop = 5},
                                                     {.start = 6, .stop = 8}};
    const struct sl_tokenized_text tokenized = {
        .text = text, .bytes = strlen(text), .offsets = offsets, .count = 2};
    struct sl_text_word words[2];
    int word_of[2];
    cr_assert_eq(sl_text_words(&tokenized, 9, words, word_of), 2);
    expect_word(text, &words[0], "ab-cd");
    expect_word(text, &words[1], "ef");
}

Test(explanation, tokens_without_a_word_and_ranks)
{
    static const int32_t tokens[] = {7, 8, 9, 10};
    static const int word_of[] = {-1, 0, 1, 0};
    int32_t out[4];
    struct sl_text_word words[] = {{.start = 0, .contribution = 0.5f},
                                   {.start = 1, .contribution = -2.0f},
                                   {.start = 2, .contribution = 0.5f}};
    cr_assert_eq(sl_tokens_without(tokens, word_of, 4, 0, out), 2);
    cr_expect(out[0] == 7 && out[1] == 9);
    sl_text_words_rank(words, 3);
    cr_expect(words[0].start == 1 && words[1].start == 0 && words[2].start == 2);
}

/* ---- exact contributions --------------------------------------------------------------------- */

enum { TEXTS = 4, BLANK = 1, PIECE = 2 };

static const int32_t texts[TEXTS][FIXTURE_CONTEXT] = {{BLANK},
                                                      {3, 4, PIECE, BLANK, 5, 3, 4, PIECE},
                                                      {9},
                                                      {10, 9, 8, 10, 10, PIECE, PIECE, 7, 6}};
static const int counts[TEXTS] = {1, 8, 1, 9};

static struct sl_engine *engine;
static struct sl_model *model;
static struct sl_classifier *classifier;

static void open_linear(double exponent, bool characters, bool multi_label)
{
    struct sl_err err;
    const struct sl_arch *arch = sl_arch_find("linear");
    struct sl_config config = fixture_config_for(arch, SL_TASK_CLASSIFICATION);
    const struct sl_classifier_options options = {.max_batch_size = TEXTS,
                                                  .max_batch_tokens = TEXTS * FIXTURE_CONTEXT};
    config.multi_label = multi_label;
    fixture_set(arch, &config, "score_exponent", exponent);
    fixture_set(arch, &config, "character_ngrams", characters);
    fixture_set(arch, &config, "ngram_order", 3);
    engine = fixture_exact_engine(2);
    model = fixture_model(engine, arch, &config);
    struct sl_bag_of_words *m = model->self;
    for (int t = 0; t < FIXTURE_VOCAB; t++) {
        m->roles->data[t] = (float)(t == BLANK   ? SL_TOKEN_SKIPPED
                                    : t == PIECE ? SL_TOKEN_CONTINUES
                                                 : SL_TOKEN_WORD);
        for (int view = 0; view < SL_BAG_VIEWS; view++)
            m->token_weights->data[view * FIXTURE_VOCAB + t] =
                t == BLANK ? 0.0f : 1.0f / (1.0f + (float)(view * t));
        for (int at = 0; characters && t != BLANK && at < 5; at++)
            sl_spelling_set(m->spellings->data + (size_t)t * SL_SPELLING_FLOATS, at,
                            (uint32_t)('a' + (t * at) % 26));
    }
    sl_model_pack(model);
    EXPECT_OK((classifier = sl_classifier_create(model, &options, &err)), err);
}

static void close_linear(void)
{
    sl_classifier_destroy(classifier);
    sl_model_close(model);
    sl_engine_destroy(engine);
}

/* By its definition. */
static double margin(const float *logits, int label, bool multi_label)
{
    double others = 0.0;
    for (int c = 0; c < FIXTURE_CLASSES; c++)
        others += c == label || multi_label ? 0.0 : (double)logits[c] / (FIXTURE_CLASSES - 1);
    return (double)logits[label] - others;
}

/* The tokens of a text add up to its margin less that of a text without words. */
static void expect_sums(double exponent, bool characters, bool multi_label)
{
    struct sl_err err;
    struct sl_classifier_item items[TEXTS] = {0};
    float contributions[FIXTURE_CONTEXT], again[FIXTURE_CONTEXT];
    open_linear(exponent, characters, multi_label);
    cr_assert(sl_model_info(model)->explains);
    for (int i = 0; i < TEXTS; i++)
        items[i] = (struct sl_classifier_item){.tokens = texts[i], .count = counts[i]};
    EXPECT_OK(sl_classifier_run(classifier, items, TEXTS, &err), err);
    for (int i = 0; i < TEXTS; i++)
        for (int label = 0; label < FIXTURE_CLASSES; label++) {
            double sum = 0.0, gained = sl_margin(model, items[i].logits, label) -
                                       sl_margin(model, items[0].logits, label);
            cr_expect_float_eq(sl_margin(model, items[i].logits, label),
                               margin(items[i].logits, label, multi_label), 1e-6);
            EXPECT_OK(sl_classifier_explain(classifier, &items[i], label, contributions, &err),
                      err);
            EXPECT_OK(sl_classifier_explain(classifier, &items[i], label, again, &err), err);
            for (int t = 0; t < counts[i]; t++)
                sum += (double)contributions[t];
            cr_expect_float_eq(sum, gained, 1e-4 * (1.0 + fabs(gained)),
                               "exponent %g, characters %d, text %d, label %d: %.7g, not %.7g",
                               exponent, characters, i, label, sum, gained);
            cr_expect_eq(memcmp(contributions, again, (size_t)counts[i] * sizeof *again), 0);
            cr_expect(i == 0 || fabs(gained) > 1e-3, "a text without effect tests nothing");
        }
    close_linear();
}

Test(explanation, contributions_sum_to_the_difference_of_logits)
{
    expect_sums(0.0, false, false);
    expect_sums(0.0, true, false);
    expect_sums(4.0, false, false);
    expect_sums(4.0, true, false);
    expect_sums(0.0, true, true);
}
