/* test_material.c - what a step of labelled texts holds when tokens are left out of them. */
#include "net_fixture.h"
#include "train/material.h"

enum { TEXTS = 6, WORDS = 60, CONTEXT = 64 };

static char top[PATH_MAX], data[PATH_MAX];

/* Every text has the same words, each once. */
static void setup(void)
{
    test_directory_make(top);
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

TestSuite(material, .init = setup, .fini = teardown);

/* Half of the texts are trained on, in one step an epoch. */
static void material_open(struct sl_material *m, struct sl_recipe *recipe, float dropout)
{
    struct sl_err err;
    struct sl_config config = {.context = CONTEXT};
    const struct sl_sources sources = {.data = data, .columns = {.label = "1", .text = "2"}};
    sl_numbers_standard(sl_recipe_rows, recipe);
    recipe->epochs = 2;
    recipe->batch = TEXTS;
    recipe->micro_batch = TEXTS;
    recipe->validation_share = 0.5f;
    recipe->token_dropout = dropout;
    EXPECT_OK(sl_material_open(m, &sources, &config, recipe, &err), err);
    cr_assert_eq(sl_material_examples(m, 0), TEXTS);
}

/* Words stand in the order of the whole text, which begins and ends as it did. */
static void check_thinned(const struct sl_batch *batch, const int32_t *whole, int count)
{
    for (int s = 0; s < batch->count; s++) {
        const int32_t *ids = batch->tokens + batch->sequences[s].first;
        int rows = batch->sequences[s].rows, at = 0;
        cr_expect_eq(ids[0], whole[0]);
        cr_expect_eq(ids[rows - 1], whole[count - 1]);
        for (int i = 0; i < rows; i++, at++) {
            while (at < count && whole[at] != ids[i])
                at++;
            cr_assert_lt(at, count, "text %d, token %d", s, i);
        }
    }
}

Test(material, half_of_the_tokens_are_left_out_others_in_every_epoch)
{
    struct sl_material all, thin;
    struct sl_recipe recipe_all, recipe_thin;
    int32_t first[TEXTS * CONTEXT];
    material_open(&all, &recipe_all, 0.0f);
    material_open(&thin, &recipe_thin, 0.5f);
    struct sl_batch whole = sl_material_batch(&all, 0, 0, TEXTS);
    cr_assert_eq(whole.rows, TEXTS * whole.sequences[0].rows);
    cr_assert_geq(whole.sequences[0].rows, WORDS);
    struct sl_batch batch = sl_material_batch(&thin, 0, 0, TEXTS);
    check_thinned(&batch, whole.tokens, whole.sequences[0].rows);
    double share = (double)batch.rows / whole.rows;
    cr_expect(share > 0.4 && share < 0.63, "%g of the tokens", share);
    cr_expect_float_eq(batch.row_scale, 1.0f / (float)batch.rows, 1e-9f);
    int rows = batch.rows;
    memcpy(first, batch.tokens, (size_t)rows * sizeof *first);
    batch = sl_material_batch(&thin, 1, 0, TEXTS);
    check_thinned(&batch, whole.tokens, whole.sequences[0].rows);
    cr_expect(batch.rows != rows || memcmp(first, batch.tokens, (size_t)rows * sizeof *first) != 0);
    sl_material_close(&all);
    sl_material_close(&thin);
}

Test(material, parts_of_a_step_are_what_the_step_is)
{
    struct sl_material m;
    struct sl_recipe recipe;
    int32_t tokens[TEXTS * CONTEXT];
    material_open(&m, &recipe, 0.3f);
    struct sl_batch batch = sl_material_batch(&m, 1, 0, TEXTS);
    int rows = batch.rows, done = 0;
    float scale = batch.row_scale;
    memcpy(tokens, batch.tokens, (size_t)rows * sizeof *tokens);
    for (int i = 0; i < TEXTS; i += 2, done += batch.rows) {
        batch = sl_material_batch(&m, 1, i, i + 2);
        cr_expect_eq(batch.row_base, done);
        cr_expect_eq(batch.row_scale, scale);
        cr_assert_leq(done + batch.rows, rows);
        cr_expect_eq(memcmp(tokens + done, batch.tokens, (size_t)batch.rows * sizeof *tokens), 0);
    }
    cr_expect_eq(done, rows);
    sl_material_close(&m);
}
