/* test_corpus.c - text files as tokens, their parts, and the windows cut from them. */
#include "data/corpus.h"
#include "data/token_windows.h"
#include "support/test.h"
#include "tokenizer/tokenizer_trainer.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static char directory[PATH_MAX], path[PATH_MAX];
static const struct sl_tokenizer_options characters = {.kind = "characters"};

static void setup(void)
{
    test_directory_create(directory);
    (void)test_path(path, directory, "input.txt");
}

static void teardown(void)
{
    test_directory_remove(directory);
}

static void numbers_make(struct sl_corpus *corpus, int64_t count)
{
    *corpus = (struct sl_corpus){.ids = malloc((size_t)count * sizeof(int32_t)), .count = count};
    cr_assert(corpus->ids);
    for (int64_t i = 0; i < count; i++)
        corpus->ids[i] = (int32_t)i;
}

/* ---- files ---------------------------------------------------------------------------------- */

Test(corpus, a_file_becomes_ids, .init = setup, .fini = teardown)
{
    struct sl_corpus corpus = {0};
    struct sl_tokenizer *tokens = NULL;
    struct sl_err err;
    test_write_file(path, "caf\xC3\xA9\nc");
    EXPECT_OK((tokens = sl_corpus_train_tokenizer(path, &characters, &err)), err);
    EXPECT_OK(sl_corpus_open(&corpus, path, tokens, &err), err);
    static const int32_t want[] = {2, 1, 3, 4, 0, 2}; /* of \n a c f e' */
    cr_assert_eq(corpus.count, (int64_t)COUNT(want));
    for (size_t i = 0; i < COUNT(want); i++)
        cr_assert_eq(corpus.ids[i], want[i]);
    sl_corpus_close(&corpus);
    sl_corpus_close(&corpus);
    sl_tokenizer_destroy(tokens);
}

static const struct {
    const char *name, *text; /* NULL: no such file */
    enum sl_code code;
    const char *want;
} bad_files[] = {
    {"missing", NULL, SL_NOT_FOUND, "input.txt'"},
    {"empty", "", SL_BAD_INPUT, "input.txt': the file is empty"},
    {"Latin-1", "caf\xE9", SL_BAD_INPUT, "input.txt': byte 4 is 0xE9: not UTF-8"},
    {"unknown", "abz", SL_BAD_INPUT, "input.txt': 1 character is not in the vocabulary: 'z'"},
};

Test(corpus, bad_files_are_rejected, .init = setup, .fini = teardown)
{
    struct sl_err err;
    struct sl_tokenizer *tokens = sl_tokenizer_train_default("characters", "abc", 3, &err);
    for (size_t i = 0; i < COUNT(bad_files); i++) {
        struct sl_corpus corpus = {0};
        if (bad_files[i].text)
            test_write_file(path, bad_files[i].text);
        EXPECT_FAIL(sl_corpus_open(&corpus, path, tokens, &err), err, bad_files[i].code,
                    bad_files[i].want);
        cr_assert_null(corpus.ids, "%s: touched on failure", bad_files[i].name);
        if (strcmp(bad_files[i].name, "unknown") != 0)
            EXPECT_FAIL(sl_corpus_train_tokenizer(path, &characters, &err), err, bad_files[i].code,
                        bad_files[i].want);
    }
    struct sl_corpus corpus = {0};
    EXPECT_FAIL(sl_corpus_open(&corpus, directory, tokens, &err), err, SL_BAD_INPUT,
                "a directory, not a file");
    sl_tokenizer_destroy(tokens);
}

/* ---- parts ---------------------------------------------------------------------------------- */

static const struct {
    int64_t count;
    struct sl_split_fractions shares;
    int64_t want[SL_SPLITS];
} splits[] = {
    {1115394, {0.8, 0.1}, {892315, 111539, 111540}}, /* Tiny Shakespeare, as in the TSA paper */
    {100, {0.29, 0.57}, {29, 57, 14}},               /* 0.29 * 100 < 29 in binary */
    {100, {0.9, 0.1}, {90, 10, 0}},
    {100, {1, 0}, {100, 0, 0}},
    {10, {0.7, 0.3}, {7, 3, 0}},
    {11, {0.8, 0.2}, {8, 2, 1}},
};

Test(corpus, parts_follow_one_another)
{
    for (size_t i = 0; i < COUNT(splits); i++) {
        struct sl_corpus corpus;
        struct sl_span parts[SL_SPLITS];
        struct sl_err err;
        numbers_make(&corpus, splits[i].count);
        EXPECT_OK(sl_corpus_split(&corpus, splits[i].shares, 4, parts, &err), err);
        const int32_t *next = corpus.ids;
        for (int part = 0; part < SL_SPLITS; part++) {
            cr_assert_eq(parts[part].count, splits[i].want[part], "case %zu part %d: %lld", i, part,
                         (long long)parts[part].count);
            cr_assert_eq(parts[part].ids, next);
            next += parts[part].count;
        }
        cr_assert_eq(next, corpus.ids + corpus.count);
        sl_corpus_close(&corpus);
    }
}

static const struct {
    struct sl_split_fractions shares;
    int context;
    const char *want;
} bad_splits[] = {
    {{0.8, 0.1},
     79,
     "the training part, 80 % of the text, has 80 tokens, too few for a context length of 79"},
    {{0.8, 0.1}, 2147483647, "too few for a context length of 2147483647"},
    {{0.98, 0.015}, 8, "the validation part, 1.5 % of the text, is too short (tokens: 1)"},
    {{0, 0.5}, 8, "train 0 and validation 0.5"},
    {{0.8, -0.1}, 8, "train 0.8 and validation -0.1"},
    {{0.8, 0.3}, 8, "train 0.8 and validation 0.3"},
    {{(double)NAN, 0.1}, 8, "validation 0.1"},
    {{0.5, (double)NAN}, 8, "train 0.5"},
    {{(double)INFINITY, 0}, 8, "train inf"},
};

Test(corpus, bad_splits_are_rejected)
{
    struct sl_corpus corpus;
    numbers_make(&corpus, 100);
    for (size_t i = 0; i < COUNT(bad_splits); i++) {
        struct sl_span parts[SL_SPLITS];
        struct sl_err err;
        EXPECT_FAIL(
            sl_corpus_split(&corpus, bad_splits[i].shares, bad_splits[i].context, parts, &err), err,
            SL_BAD_INPUT, bad_splits[i].want);
    }
    sl_corpus_close(&corpus);
}

/* ---- windows -------------------------------------------------------------------------------- */

Test(windows, every_token_after_the_first_is_predicted_once)
{
    enum { MOST = 40 };

    struct sl_corpus corpus;
    numbers_make(&corpus, MOST);
    for (int context = 1; context <= MOST; context++) {
        for (int64_t count = 0; count <= MOST; count++) {
            const struct sl_span part = {corpus.ids, count};
            int32_t next = 1;
            for (int64_t i = 0; i < sl_window_count(part, context); i++) {
                struct sl_window w = sl_window_at(part, context, i);
                cr_assert_gt(w.rows, 0);
                cr_assert_leq(w.rows, context);
                for (int row = 0; row < w.rows; row++, next++) {
                    cr_assert_eq(w.targets[row], next);
                    cr_assert_eq(w.tokens[row], next - 1);
                }
            }
            cr_assert_eq(next, count > 1 ? count : 1, "count %lld context %d", (long long)count,
                         context);
        }
    }
    sl_corpus_close(&corpus);
}

Test(windows, random_ones_are_within_and_everywhere)
{
    enum { TOKENS = 50, CONTEXT = 8, STARTS = TOKENS - CONTEXT - 1, EACH = 400 };

    struct sl_corpus corpus;
    int hits[TOKENS] = {0};
    numbers_make(&corpus, TOKENS);
    const struct sl_span part = {corpus.ids, TOKENS};
    uint64_t seed = test_seed();
    for (int step = 0; step < EACH; step++) {
        uint64_t key = sl_window_key(seed, (uint64_t)step);
        for (uint64_t i = 0; i < STARTS; i++) {
            struct sl_window w = sl_window_random(part, CONTEXT, key, i);
            cr_assert_eq(w.rows, CONTEXT);
            cr_assert_eq(w.targets, w.tokens + 1);
            hits[w.tokens[0]]++;
        }
    }
    /* EACH expected per start, deviation 20: six of them are allowed. */
    for (int start = 0; start < TOKENS; start++)
        cr_assert(start < STARTS ? abs(hits[start] - EACH) < 120 : hits[start] == 0,
                  "start %d: %d times (seed %llu)", start, hits[start], (unsigned long long)seed);
    sl_corpus_close(&corpus);
}

Test(windows, a_start_depends_on_seed_step_and_index_alone)
{
    struct sl_corpus corpus;
    numbers_make(&corpus, 100000);
    const struct sl_span part = {corpus.ids, corpus.count};
    uint64_t key = sl_window_key(7, 3);
    const int32_t *start = sl_window_random(part, 128, key, 5).tokens;
    (void)sl_window_random(part, 128, key, 6);
    cr_assert_eq(sl_window_random(part, 128, sl_window_key(7, 3), 5).tokens, start);
    cr_assert_neq(sl_window_random(part, 128, sl_window_key(8, 3), 5).tokens, start);
    cr_assert_neq(sl_window_random(part, 128, sl_window_key(7, 4), 5).tokens, start);
    cr_assert_neq(sl_window_random(part, 128, key, 6).tokens, start);
    sl_corpus_close(&corpus);
}

Test(windows, the_smallest_part_has_one_start)
{
    struct sl_corpus corpus;
    numbers_make(&corpus, 10);
    const struct sl_span part = {corpus.ids, 10};
    for (uint64_t i = 0; i < 100; i++)
        cr_assert_eq(sl_window_random(part, 8, sl_window_key(1, i), i).tokens, corpus.ids);
    sl_corpus_close(&corpus);
}
