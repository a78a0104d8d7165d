/* test_multi_label_training.c - the linear classifier of texts with several labels, or none. */
#include "linear/linear_training.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "support/topic_texts.h"
#include "support/workspace.h"
#include "train/evaluate.h"

#include <math.h>

static struct workspace dirs;

static void setup(void)
{
    workspace_create(&dirs, "store/topics/1");
    topic_texts_write(dirs.corpus);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(multi_label_training, .init = setup, .fini = teardown);

static void train(struct sl_linear_training *l, struct sl_engine *engine)
{
    struct sl_err err;
    const struct sl_linear_training_options options = {
        .engine = engine,
        .sources = {.data = dirs.corpus,
                    .columns = {.label = "1",
                                .text = "2",
                                .format = "tsv",
                                .label_separator = "|",
                                .skip_incomplete = true}}};
    EXPECT_OK(sl_linear_training_open(l, &options, &err), err);
    EXPECT_OK(sl_linear_training_run(l, NULL, NULL, &err), err);
}

Test(multi_label_training, is_measured_by_f1_and_has_no_learning_curve)
{
    struct sl_linear_training l;
    struct sl_engine *engine = fixture_engine(NULL, 2);
    int binary = 0;
    train(&l, engine);
    cr_assert_eq(l.set.count, TOPIC_TEXTS);
    cr_expect(l.search.calibration.independent);
    cr_expect_eq(l.search.calibration.exponent, 0.0);
    cr_expect_eq(l.search.curve.count, 0);
    const struct sl_linear_trial *best = &l.search.trials[l.search.best];
    cr_expect_gt(best->micro_f1, 0.98, "%g", best->micro_f1);
    for (int i = 0; i < l.search.count; i++) {
        const struct sl_linear_trial *trial = &l.search.trials[i];
        cr_expect_neq(trial->recipe.loss, SL_LOSS_LOGISTIC, "a softmax has one label");
        binary += trial->recipe.loss == SL_LOSS_BINARY;
        cr_expect_leq(trial->accuracy, trial->micro_f1 + 1e-9);
        cr_expect_float_eq(trial->merit, trial->micro_f1 - 0.3 * trial->loss / 1.5, 1e-9);
        cr_expect_leq(trial->merit, best->merit);
    }
    cr_expect_gt(binary, 0);
    sl_linear_training_close(&l);
    sl_engine_destroy(engine);
}

/* The folds have each label's texts evenly: of three labels together, as of one. */
Test(multi_label_training, every_fold_has_every_label)
{
    struct sl_linear_training l;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    int texts[5][4] = {{0}};
    train(&l, engine);
    cr_assert_eq(l.search.folds, 5);
    for (int i = 0; i < l.set.count; i++) {
        const struct sl_label_list list = sl_label_list(&l.set.label_lists, i);
        for (int k = 0; k < list.count; k++)
            texts[l.search.fold[i]][list.ids[k]]++;
        texts[l.search.fold[i]][3] += list.count == 0;
    }
    for (int fold = 0; fold < 5; fold++) {
        for (int label = 0; label < 3; label++)
            cr_expect(abs(texts[fold][label] - 16) <= 2, "fold %d: %d texts of label %d", fold,
                      texts[fold][label], label);
        cr_expect_eq(texts[fold][3], 4);
    }
    sl_linear_training_close(&l);
    sl_engine_destroy(engine);
}

/* The model that is read from the disk gives the probabilities that the fit has. */
Test(multi_label_training, is_published_as_it_was_fitted)
{
    struct sl_err err;
    struct sl_linear_training l;
    struct sl_evaluation fitted, served;
    struct sl_engine *engine = fixture_engine(NULL, 2);
    train(&l, engine);
    EXPECT_OK(sl_linear_training_publish(&l, dirs.output,
                                         &(struct sl_publication){.training = "{}"}, &err),
              err);
    struct sl_model *m = sl_model_open(engine, dirs.output, &err);
    cr_assert(m, "%s", err.text);
    cr_expect(sl_model_info(m)->multi_label);
    cr_expect_str_eq(sl_model_info(m)->problem_type, "multi_label_classification");
    EXPECT_OK(sl_evaluate_labelled(l.model, &l.set, NULL, &fitted, NULL, &err), err);
    EXPECT_OK(sl_evaluate_labelled(m, &l.set, NULL, &served, NULL, &err), err);
    cr_expect_float_eq(fitted.loss, served.loss, 0.01);
    cr_expect_gt(served.micro_f1, 0.99);
    cr_expect_lt(served.loss, 0.3, "%g", served.loss);
    sl_model_close(m);
    sl_linear_training_close(&l);
    sl_engine_destroy(engine);
}
