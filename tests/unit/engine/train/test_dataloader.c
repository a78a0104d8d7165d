/* test_dataloader.c - what steps of labelled texts hold when there are crops of the texts, too. */
#include "support/model_fixture.h"
#include "support/test.h"
#include "tokenizer/tokenizer.h"
#include "train/dataloader.h"

enum { TEXTS = 6, WORDS = 60, CONTEXT = 64, CROPS = 2, EXAMPLES = TEXTS * (1 + CROPS) };

static char top[PATH_MAX], data[PATH_MAX];

/* Every text has the same words, each once. */
static void setup(void)
{
    test_directory_create(top);
    FILE *file = fopen(test_path(data, top, "data.tsv"), "we");
    cr_assert(file);
    for (int i = 0; i < 2 * TEXTS; i++) {
        cr_assert_gt(fprintf(file, "%d\t", i % 2), 0);
        for (int w = 0; w < WORDS; w++)
            cr_assert_gt(fprintf(file, "w%d ", w), 0);
        cr_assert_gt(fprintf(file, "\n"), 0);
    }
    cr_assert_eq(fclose(file), 0);
}

static void teardown(void)
{
    test_directory_remove(top);
}

TestSuite(dataloader, .init = setup, .fini = teardown);

/* Half of the texts are trained on, an epoch in one step. */
static void material_open(struct sl_dataloader *m, const char *tokenizer,
                          struct sl_hyperparameters *hyperparameters)
{
    struct sl_err err;
    struct sl_config config = {.context_length = CONTEXT};
    const struct sl_data_sources sources = {
        .data = data, .tokenizer = tokenizer, .columns = {.label = "1", .text = "2"}};
    sl_params_set_defaults(sl_hyperparameter_rows, hyperparameters);
    hyperparameters->epochs = 2;
    hyperparameters->batch_size = EXAMPLES;
    hyperparameters->micro_batch_size = EXAMPLES;
    hyperparameters->validation_fraction = 0.5f;
    hyperparameters->random_crops = CROPS;
    EXPECT_OK(sl_dataloader_open(m, &sources, &config, hyperparameters, &err), err);
    cr_assert_eq(sl_dataloader_epoch_steps(m), 1);
    cr_assert_eq(sl_dataloader_examples(m, 0), EXAMPLES);
}

static const int32_t *tokens_of(const struct sl_batch *batch, int s, int *rows)
{
    *rows = batch->sequences[s].rows;
    return batch->tokens + batch->sequences[s].first;
}

/* One after another in the whole text, between what begins and ends it, if anything. */
static void check_crop(const struct sl_batch *batch, int s, const int32_t *whole, int count,
                       int ends)
{
    int rows, at = 1;
    const int32_t *ids = tokens_of(batch, s, &rows);
    cr_assert(rows >= 5 + ends && rows < count, "%d of %d tokens", rows, count);
    cr_expect_eq(ids[0], whole[0]);
    cr_expect(!ends || ids[rows - 1] == whole[count - 1]);
    while (at < count && whole[at] != ids[1])
        at++;
    cr_assert_leq(at + rows - 1 - ends, count - ends);
    cr_expect_eq(memcmp(ids + 1, whole + at, (size_t)(rows - 1 - ends) * sizeof *ids), 0, "text %d",
                 s);
}

/* Texts are whole, or crops. */
static void check_epoch(const struct sl_batch *batch, int ends)
{
    int longest = 0, whole = 0, rows, count, labels[2] = {0};
    for (int s = 0; s < batch->count; s++) {
        labels[batch->labels[s]]++;
        if (batch->sequences[s].rows > batch->sequences[longest].rows)
            longest = s;
    }
    cr_expect(labels[0] == EXAMPLES / 2 && labels[1] == EXAMPLES / 2);
    const int32_t *ids = tokens_of(batch, longest, &count);
    cr_assert_geq(count, WORDS);
    for (int s = 0; s < batch->count; s++) {
        const int32_t *others = tokens_of(batch, s, &rows);
        if (rows == count)
            whole += memcmp(others, ids, (size_t)count * sizeof *ids) == 0;
        else
            check_crop(batch, s, ids, count, ends);
    }
    cr_expect_geq(whole, TEXTS);
    cr_expect_lt(whole, EXAMPLES, "there are crops");
}

/* The last word of a text ends it only where something is added that says so. */
static const struct {
    const char *tokenizer;
    int ends; /* tokens added at the end; one begins */
} tokenizers[] = {{"words", 0}, {"wordpiece", 1}};

Test(dataloader, every_epoch_has_all_texts_and_other_crops_of_them)
{
    for (size_t i = 0; i < sizeof tokenizers / sizeof tokenizers[0]; i++) {
        struct sl_dataloader m;
        struct sl_hyperparameters hyperparameters;
        material_open(&m, tokenizers[i].tokenizer, &hyperparameters);
        struct sl_batch batch = sl_dataloader_batch(&m, 0, 0, EXAMPLES);
        check_epoch(&batch, tokenizers[i].ends);
        cr_expect_float_eq(batch.row_scale, 1.0f / (float)batch.rows, 1e-9f);
        int rows = batch.rows;
        batch = sl_dataloader_batch(&m, 1, 0, EXAMPLES);
        check_epoch(&batch, tokenizers[i].ends);
        cr_expect_neq(batch.rows, rows, "the same crops again would have as many tokens");
        sl_dataloader_close(&m);
    }
}

Test(dataloader, parts_of_a_step_are_what_the_step_is)
{
    struct sl_dataloader m;
    struct sl_hyperparameters hyperparameters;
    int32_t tokens[EXAMPLES * CONTEXT];
    material_open(&m, "words", &hyperparameters);
    struct sl_batch batch = sl_dataloader_batch(&m, 1, 0, EXAMPLES);
    int rows = batch.rows, done = 0;
    float scale = batch.row_scale;
    memcpy(tokens, batch.tokens, (size_t)rows * sizeof *tokens);
    for (int i = 0; i < EXAMPLES; i += 2, done += batch.rows) {
        batch = sl_dataloader_batch(&m, 1, i, i + 2);
        cr_expect_eq(batch.row_base, done);
        cr_expect_eq(batch.row_scale, scale);
        cr_assert_leq(done + batch.rows, rows);
        cr_expect_eq(memcmp(tokens + done, batch.tokens, (size_t)batch.rows * sizeof *tokens), 0);
    }
    cr_expect_eq(done, rows);
    sl_dataloader_close(&m);
}

/* Nothing can be cut from a text of one token, or two. */
Test(dataloader, texts_too_short_for_a_crop_stay_whole)
{
    struct sl_dataloader m;
    struct sl_hyperparameters hyperparameters;
    struct sl_err err;
    struct sl_config config = {.context_length = CONTEXT};
    const struct sl_data_sources sources = {
        .data = data, .tokenizer = "bytes", .columns = {.label = "1", .text = "2"}};
    test_write_file(data, "0\ta\n1\tbc\n0\td\n1\tef\n");
    sl_params_set_defaults(sl_hyperparameter_rows, &hyperparameters);
    hyperparameters.epochs = 1;
    hyperparameters.batch_size = hyperparameters.micro_batch_size = EXAMPLES;
    hyperparameters.validation_fraction = 0.5f;
    hyperparameters.random_crops = CROPS;
    EXPECT_OK(sl_dataloader_open(&m, &sources, &config, &hyperparameters, &err), err);
    struct sl_batch batch = sl_dataloader_batch(&m, 0, 0, sl_dataloader_examples(&m, 0));
    cr_expect_eq(batch.count, 2 * (1 + CROPS));
    cr_expect_eq(batch.rows, (1 + 2) * (1 + CROPS));
    cr_expect_eq(batch.loss_scale, 1.0f / (float)batch.count, "a step that is not full is a mean");
    sl_dataloader_close(&m);
}

/* A text's vocabulary is learnt as it is asked for, and so is that of labelled texts. */
Test(dataloader, vocabularies_have_the_requested_size_and_case)
{
    enum { SIZE = 40 };

    const struct sl_data_sources both[] = {{.corpus = data},
                                           {.data = data, .columns = {.label = "1", .text = "2"}}};
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++) {
        struct sl_err err;
        struct sl_dataloader m;
        struct sl_hyperparameters hyperparameters;
        struct sl_config config = {.context_length = 8};
        struct sl_data_sources sources = both[i];
        sources.tokenizer = "words";
        sources.vocabulary_size = SIZE;
        sources.cased = true;
        sl_params_set_defaults(sl_hyperparameter_rows, &hyperparameters);
        EXPECT_OK(sl_dataloader_open(&m, &sources, &config, &hyperparameters, &err), err);
        cr_expect_eq(sl_tokenizer_size(m.tokens), SIZE, "case %zu", i);
        cr_expect_not(m.tokens->lower, "case %zu", i);
        sl_dataloader_close(&m);
    }
}
