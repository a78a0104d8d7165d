/* test_dataset_pairs.c - two columns of a file as pairs of texts. */
#include "data/dataset.h"
#include "support/test.h"
#include "tokenizer/tokenizer_trainer.h"

enum { CONTEXT = 12 };

static char directory[PATH_MAX], path[PATH_MAX];

static void setup(void)
{
    test_directory_create(directory);
    test_write_file(test_path(path, directory, "pairs.tsv"),
                    "a film\tit was good\n"
                    "a film a film a film a film\tbad\n"
                    "it\tgood bad good bad good bad good bad good bad\n");
}

static void teardown(void)
{
    test_directory_remove(directory);
}

static struct sl_tokenizer *words(void)
{
    struct sl_err err;
    static const char text[] = "a film it was good bad a film it was good bad";
    const struct sl_tokenizer_options how = {.kind = "wordpiece", .size = 60, .lower = true};
    struct sl_tokenizer *tokens = sl_tokenizer_train(&how, text, strlen(text), &err);
    cr_assert(tokens, "%s", err.text);
    return tokens;
}

/* The first text's tokens have the type 0, the second's 1. */
static void expect_pair(const struct sl_dataset *set, int example)
{
    int count, seconds = 0;
    (void)sl_dataset_ids(set, example, &count);
    const int32_t *types = sl_dataset_types(set, example);
    cr_assert(types && count > 0 && count <= CONTEXT, "%d: %d", example, count);
    cr_expect_eq(types[0], 0);
    cr_expect_eq(types[count - 1], 1);
    for (int i = 1; i < count; i++) {
        cr_expect_geq(types[i], types[i - 1], "%d, %d", example, i);
        seconds += types[i];
    }
    cr_expect_lt(seconds, count, "both are read");
}

Test(dataset_pairs, are_texts_of_two_types, .init = setup, .fini = teardown)
{
    struct sl_err err;
    struct sl_dataset first = {0}, second = {0};
    struct sl_tokenizer *tokens = words();
    const struct sl_record_options options = {.format = "tsv"};
    const struct sl_dataset_encoding how = {.context = CONTEXT};
    EXPECT_OK(sl_dataset_open_pairs(&first, &second, path, &options,
                                    (struct sl_pair_columns){"1", "2"}, &err),
              err);
    EXPECT_OK(sl_dataset_encode_pairs(&first, &second, tokens, &how, &err), err);
    cr_assert_eq(first.count, 3);
    cr_expect_null(first.text);
    cr_expect_null(sl_dataset_types(&second, 0), "only the first has the pairs");
    for (int i = 0; i < first.count; i++)
        expect_pair(&first, i);
    sl_dataset_close(&first);
    sl_dataset_close(&second);
    sl_tokenizer_destroy(tokens);
}
