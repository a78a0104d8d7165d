/* test_completions.c - lines of a corpus: which are found, and which tokens are predicted. */
#include "data/completions.h"
#include "support/test.h"
#include "tokenizer/tokenizer_kind.h"
#include "tokenizer/tokenizer_trainer.h"

#include <string.h>

static char directory[PATH_MAX], path[PATH_MAX];
static struct sl_corpus corpus;
static struct sl_tokenizer *tokens;
static struct sl_completions found;

static void setup(void)
{
    test_directory_create(directory);
    test_path(path, directory, "corpus.txt");
}

static void teardown(void)
{
    sl_completions_close(&found);
    sl_corpus_close(&corpus);
    sl_tokenizer_destroy(tokens);
    test_directory_remove(directory);
}

TestSuite(completions, .init = setup, .fini = teardown);

static void open_corpus(const char *text)
{
    struct sl_err err;
    const struct sl_tokenizer_options how = {.kind = "characters"};
    test_write_file(path, text);
    tokens = sl_corpus_train_tokenizer(path, &how, &err);
    cr_assert(tokens, "%s", err.text);
    EXPECT_OK(sl_corpus_open(&corpus, path, tokens, &err), err);
}

static bool open_part(int64_t first, int64_t count, const char *separator, int context,
                      struct sl_err *err)
{
    const struct sl_completion_form form = {tokens, separator, context};
    sl_completions_close(&found);
    return sl_completions_open(&found, &corpus, (struct sl_span){corpus.ids + first, count}, &form,
                               err);
}

Test(completions, targets_begin_after_the_separator)
{
    struct sl_err err;
    int32_t ids[8], targets[8];
    open_corpus("ab|cd\n\n|e\n");
    EXPECT_OK(open_part(0, corpus.count, "|", 5, &err), err);
    cr_assert_eq(found.count, 2);
    cr_expect_eq(found.longest, 0);
    cr_assert_eq(sl_completions_copy(&found, 0, ids, targets), 5);
    cr_expect_eq(memcmp(ids, corpus.ids, 5 * sizeof *ids), 0);
    cr_expect_eq(targets[0], -1);
    cr_expect_eq(targets[1], -1);
    cr_expect_eq(memcmp(targets + 2, corpus.ids + 3, 3 * sizeof *ids), 0);
    cr_assert_eq(sl_completions_copy(&found, 1, ids, targets), 2);
    cr_expect_eq(targets[0], corpus.ids[8]);
    cr_expect_eq(targets[1], corpus.ids[9]);
}

/* Lines that a border cuts are in neither part. */
Test(completions, only_whole_lines_of_the_part_are_found)
{
    struct sl_err err;
    open_corpus("a|b\nc|d\ne|f\ng|h");
    EXPECT_OK(open_part(0, 6, "|", 9, &err), err);
    cr_expect_eq(found.count, 1);
    EXPECT_OK(open_part(5, 7, "|", 9, &err), err);
    cr_expect_eq(found.count, 1);
    cr_expect_eq(found.list[0].first, 8);
    EXPECT_OK(open_part(4, 8, "|", 9, &err), err);
    cr_expect_eq(found.count, 2);
    EXPECT_FAIL(open_part(12, 3, "|", 9, &err), err, SL_BAD_INPUT, "has no whole line");
}

Test(completions, errors_name_the_line)
{
    struct sl_err err;
    open_corpus("a|b\n\nab\nc|defg\n");
    EXPECT_FAIL(open_part(0, corpus.count, "|", 9, &err), err, SL_BAD_INPUT,
                "line 3 lacks the separator");
    EXPECT_FAIL(open_part(8, 7, "|", 5, &err), err, SL_BAD_INPUT,
                "line 4 has 6 tokens: expected at most 5, the context length");
    EXPECT_FAIL(open_part(0, 4, "ab", 9, &err), err, SL_BAD_INPUT, "is not one character");
    EXPECT_FAIL(open_part(0, 4, "", 9, &err), err, SL_BAD_INPUT, "is not one character");
    EXPECT_FAIL(open_part(0, 4, "\n", 9, &err), err, SL_BAD_INPUT, "is not one character");
    EXPECT_FAIL(open_part(0, 4, "z", 9, &err), err, SL_BAD_INPUT, "is not one character");
}
