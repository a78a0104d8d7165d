/* test_pretraining.c - pretraining: what a corrupted batch holds, gradients, the same bits after an
 * interruption, and what a classifier takes over. */
#include "support/gradient_check.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "support/trainer_fixture.h"
#include "tokenizer/tokenizer.h"

#include <math.h>

static struct workspace dirs;

/* Two kinds of documents; the last line ends the file without a line feed. */
static void write_documents(const char *path, int documents)
{
    FILE *file = fopen(path, "we");
    cr_assert(file);
    for (int i = 0; i < documents; i++)
        cr_assert_gt(fprintf(file,
                             i % 2 ? "the ship sails over the %d. sea and\nback home\n\n\n"
                                   : "a cook bakes bread with %d. grams of salt\n\n",
                             i),
                     0);
    cr_assert_geq(fputs("the end of it", file), 0);
    cr_assert_eq(fclose(file), 0);
}

static void setup(void)
{
    workspace_create(&dirs, "out");
    write_documents(dirs.corpus, 60);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(pretraining, .init = setup, .fini = teardown);

static struct sl_train_options pretraining(const struct sl_arch *arch)
{
    struct sl_train_options t = small_training(&dirs, arch, dirs.run);
    t.sources.tokenizer = "wordpiece";
    t.hyperparameters.mask_fraction = 0.2f;
    t.hyperparameters.replace_fraction = 0.2f;
    return t;
}

Test(pretraining, gradients_agree_with_finite_differences)
{
    static const int lengths[] = {24, 1, 7, 17, 0};
    struct sl_engine *engine = fixture_exact_engine(1);
    int checked = 0;
    for (int a = 0; sl_arch_at(a); a++) {
        if (!(sl_arch_at(a)->tasks & SL_PRETRAINS) || sl_arch_at(a)->pretrained_by)
            continue;
        struct sl_config config = fixture_config_for(sl_arch_at(a), SL_TASK_PRETRAINING);
        struct sl_model *m = fixture_model(engine, sl_arch_at(a), &config);
        gradient_check_model(m, lengths);
        sl_model_close(m);
        checked++;
    }
    cr_expect_geq(checked, 2);
    sl_engine_destroy(engine);
}

/* -- batches ---------------------------------------------------------------------------------- */

struct loaded {
    struct sl_dataloader m;
    struct sl_config config;
    struct sl_hyperparameters hyperparameters;
};

static void load(struct loaded *l, int window)
{
    struct sl_err err;
    const struct sl_data_sources sources = {.corpus = dirs.corpus, .tokenizer = "wordpiece"};
    *l = (struct loaded){.config = {.context_length = 16}};
    sl_params_set_defaults(sl_hyperparameter_rows, &l->hyperparameters);
    l->hyperparameters.mask_fraction = 0.25f;
    l->hyperparameters.replace_fraction = 0.25f;
    l->hyperparameters.passage_length = window;
    l->hyperparameters.batch_size = l->hyperparameters.micro_batch_size = 7;
    EXPECT_OK(sl_dataloader_open(&l->m, &sources, &l->config, &l->hyperparameters, &err), err);
}

static void expect_refused(int context, int passage, const char *says)
{
    struct sl_err err;
    struct sl_dataloader m;
    struct sl_hyperparameters hyperparameters;
    struct sl_config config = {.context_length = context};
    const struct sl_data_sources sources = {.corpus = dirs.corpus, .tokenizer = "wordpiece"};
    sl_params_set_defaults(sl_hyperparameter_rows, &hyperparameters);
    hyperparameters.mask_fraction = 0.25f;
    hyperparameters.passage_length = passage;
    EXPECT_FAIL(sl_dataloader_open(&m, &sources, &config, &hyperparameters, &err), err,
                SL_BAD_INPUT, says);
}

Test(pretraining, lengths_that_do_not_fit_are_named)
{
    expect_refused(6, 0, "invalid context_length '6': pretraining needs at least 8");
    expect_refused(16, 7, "invalid passage_length '7': expected 8 to 16, the context length");
    expect_refused(16, 17, "invalid passage_length '17': expected 8 to 16, the context length");
}

Test(pretraining, documents_end_at_empty_lines)
{
    struct loaded l;
    load(&l, 0);
    cr_expect_eq(l.config.task, SL_TASK_PRETRAINING);
    cr_expect_eq(l.m.documents.documents, 61);
    cr_expect_eq(l.m.documents.starts[61], l.m.documents.count);
    for (int i = 0; i < 61; i++)
        cr_expect_lt(l.m.documents.starts[i], l.m.documents.starts[i + 1]);
    sl_dataloader_close(&l.m);
}

/* Every token of the training part occurs once in an epoch, masked, replaced or as it is. */
static void check_passage(const struct loaded *l, const struct sl_batch *batch, int s, int *masked,
                          int64_t *counts)
{
    const struct sl_sequence *q = &batch->sequences[s];
    const struct sl_corruption *c = batch->corruption;
    const int32_t mask = sl_tokenizer_special(l->m.tokens, SL_SPECIAL_MASK);
    int last = q->first + q->rows - 1, changed = 0, hidden = 0;
    cr_expect_eq(batch->tokens[q->first], sl_tokenizer_special(l->m.tokens, SL_SPECIAL_BEGIN));
    cr_expect_eq(batch->tokens[last], sl_tokenizer_special(l->m.tokens, SL_SPECIAL_END));
    cr_expect(c->replaced[q->first] == -1 && c->replaced[last] == -1);
    cr_expect(q->position >= 0 && q->position + q->rows <= l->config.context_length);
    for (int row = q->first + 1; row < last; row++) {
        bool is_masked = *masked < c->masked->count && c->masked->index[*masked] == row;
        cr_expect_eq(is_masked, batch->tokens[row] == mask);
        cr_expect_eq(is_masked, c->replaced[row] == -1);
        counts[is_masked ? c->targets[*masked] : batch->tokens[row]]++;
        *masked += is_masked;
        hidden += is_masked;
        changed += c->replaced[row] == 1;
    }
    int part = (int)lroundf(0.25f * (float)(q->rows - 2));
    cr_expect_eq(hidden, part);
    cr_expect_leq(changed, part);
}

static void check_epoch(struct loaded *l, int epoch, int64_t *counts)
{
    int steps = sl_dataloader_epoch_steps(&l->m), passages = 0;
    for (int step = epoch * steps; step < (epoch + 1) * steps; step++) {
        int examples = sl_dataloader_examples(&l->m, step), masked = 0;
        struct sl_batch batch = sl_dataloader_batch(&l->m, step, 0, examples);
        for (int s = 0; s < batch.count; s++)
            check_passage(l, &batch, s, &masked, counts);
        cr_expect_eq(masked, batch.corruption->masked->count);
        passages += batch.count;
    }
    cr_expect_eq(passages, l->m.passages_count - l->m.validation_passages);
}

Test(pretraining, an_epoch_masks_and_replaces_as_many_tokens_as_it_should)
{
    int64_t counts[2][256] = {{0}};
    struct loaded l;
    load(&l, 10);
    cr_assert_leq(sl_tokenizer_size(l.m.tokens), 256);
    check_epoch(&l, 0, counts[0]);
    check_epoch(&l, 1, counts[1]);
    int64_t sums[2] = {0};
    for (int i = 0; i < 256; i++)
        for (int e = 0; e < 2; e++)
            sums[e] += counts[e][i];
    cr_expect_eq(sums[0], sums[1]);
    cr_expect_neq(memcmp(counts[0], counts[1], sizeof counts[0]), 0, "the same corruption again");
    sl_dataloader_close(&l.m);
}

/* What stands in for a token has stood next to its neighbour somewhere. */
Test(pretraining, replacements_are_neighbours_elsewhere)
{
    struct loaded l;
    load(&l, 0);
    const int32_t *ids = l.m.documents.ids;
    for (int i = 0; i < 200; i++) {
        int32_t token = ids[i],
                drawn = sl_occurrences_draw(&l.m.occurrences, token, 1, (uint64_t)i);
        bool found = false;
        for (int64_t j = 0; j + 1 < l.m.documents.count && !found; j++)
            found = ids[j] == token && ids[j + 1] == drawn;
        cr_expect(found, "%d after %d", drawn, token);
    }
    sl_dataloader_close(&l.m);
}

/* -- runs ------------------------------------------------------------------------------------- */

Test(pretraining, interrupted_runs_end_with_the_same_bits)
{
    static const int stops[] = {1, 4, 7, 0};
    struct sl_train_options training = pretraining(sl_arch_find("tsa"));
    struct run_digests want = digests_without_events(&dirs, training, 1);
    for (size_t i = 0; i < COUNT(stops); i++) {
        (void)train_until(&dirs, &training, stops[i], 1 + (int)i % 3);
        training.resume = true;
    }
    expect_same_digests(digests_of(&dirs, dirs.run), want, "tsa");
}

Test(pretraining, the_loss_falls)
{
    struct sl_train_options training = pretraining(sl_arch_find("encoder"));
    training.hyperparameters.steps = 1;
    struct train_follower begun = train_until(&dirs, &training, 0, 1);
    test_directory_remove(dirs.run);
    training.hyperparameters.steps = 150;
    training.hyperparameters.evaluate_every = 0;
    struct train_follower ended = train_until(&dirs, &training, 0, 1);
    cr_expect_lt(ended.last.validation_loss, 0.8 * begun.last.validation_loss);
}

static const struct sl_parameter *parameter(const struct sl_model *m, const char *name)
{
    const struct sl_parameter *found = sl_model_find(m, name);
    cr_assert(found, "no parameter %s", name);
    return found;
}

static void write_reviews(const char *path)
{
    FILE *file = fopen(path, "we");
    cr_assert(file);
    for (int i = 0; i < 40; i++)
        cr_assert_gt(fprintf(file, "%d\tthe %s is here\n", i % 2, i % 2 ? "ship" : "bread"), 0);
    cr_assert_eq(fclose(file), 0);
}

Test(pretraining, a_classifier_begins_with_the_pretrained_weights)
{
    static const char *const names[] = {"token_embedding.weight", "layers.1.mlp.up.weight",
                                        "final_norm.weight", "layers.0.router.down.bias"};
    struct sl_err err;
    char run[PATH_MAX], data[PATH_MAX];
    struct sl_train_options training = pretraining(sl_arch_find("tsa"));
    (void)train_until(&dirs, &training, 0, 1);
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_model *base = sl_model_open(engine, dirs.output, &err);
    cr_assert(base, "%s", err.text);
    cr_expect_eq(sl_model_info(base)->task, SL_TASK_PRETRAINING);
    write_reviews(test_path(data, dirs.top, "reviews.tsv"));
    struct sl_train_options fine;
    sl_train_options_init(&fine, sl_arch_find("tsa"));
    EXPECT_OK(sl_train_options_init_from(&fine, dirs.output, &err), err);
    fine.sources = (struct sl_data_sources){.data = data, .columns = {.label = "1", .text = "2"}};
    fine.init_from = dirs.output;
    fine.run_dir = test_path(run, dirs.top, "fine");
    sl_train_options_complete(&fine);
    struct sl_trainer *trainer = trainer_begin(engine, &fine);
    const struct sl_model *begun = sl_trainer_model(trainer);
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct sl_parameter *want = parameter(base, names[i]),
                                  *have = parameter(begun, names[i]);
        cr_expect_eq(memcmp(want->data, have->data, sl_parameter_floats(want) * sizeof(float)), 0,
                     "%s", names[i]);
    }
    cr_expect_eq(begun->config.classes, 2);
    sl_trainer_destroy(trainer);
    sl_model_close(base);
    sl_engine_destroy(engine);
}

Test(pretraining, fractions_that_cannot_work_are_errors)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_train_options training = pretraining(sl_arch_find("tsa"));
    training.hyperparameters.mask_fraction = training.hyperparameters.replace_fraction = 0.6f;
    cr_expect_null(sl_trainer_create(engine, &training, &err));
    cr_expect(strstr(err.text, "at most 0.9 together"), "%s", err.text);
    training = pretraining(sl_arch_find("eam"));
    test_directory_remove(dirs.run);
    cr_expect_null(sl_trainer_create(engine, &training, &err));
    cr_expect_str_eq(err.text, "eam cannot be pretrained; these can: vanilla, tsa, encoder, "
                               "transformer, adaptive_transformer");
    sl_engine_destroy(engine);
}
