/* test_recipe_kinds.c - of kinds of recipes that are about equally good, the preferred one is
 * chosen; of surely different ones, the better. */
#include "linear/linear_search.h"
#include "linear/linear_training.h"
#include "linear/linear_trials.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "support/workspace.h"

enum { TEXTS = 120, LABELS = 2 };

static struct workspace dirs;

/* A word of each text says its label, so that linear recipes are always right. */
static void setup(void)
{
    workspace_create(&dirs, "store/mine/1");
    FILE *file = fopen(dirs.corpus, "we");
    cr_assert(file);
    for (int i = 0; i < TEXTS; i++)
        cr_assert_gt(fprintf(file, "%d\t%s film %d\n", i % LABELS, i % LABELS ? "good" : "bad", i),
                     0);
    cr_assert_eq(fclose(file), 0);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(recipe_kinds, .init = setup, .fini = teardown);

/* Of how many texts a frozen and a tuned encoder predict the wrong label. */
struct pretended {
    int frozen_wrong, tuned_wrong;
};

static void predict(struct sl_linear_run *s, int wrong)
{
    for (int i = 0; i < TEXTS; i++) {
        const int right = sl_label_only(&s->options->set->label_lists, i),
                  given = (i < wrong) ^ right;
        s->logits[i * LABELS + given] = 3.0f;
        s->logits[i * LABELS + !given] = 0.0f;
    }
}

static bool try_all(void *context, struct sl_linear_run *s, struct sl_err *err)
{
    const struct pretended *p = context;
    (void)err;
    struct sl_linear_trial trial = {.encoder = {.batch_size = 32}, .encoder_scale = 1.0f};
    predict(s, p->frozen_wrong);
    sl_linear_keep(s, trial, 0.0);
    trial.encoder.epochs = 1;
    predict(s, p->tuned_wrong);
    sl_linear_keep(s, trial, 0.0);
    return true;
}

/* The search's choice, and the accuracy of the predictions that it has kept. */
static enum sl_recipe_kind choose(struct pretended pretended, double *accuracy)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_linear_training l;
    const struct sl_linear_training_options options = {
        .engine = engine,
        .sources = {.data = dirs.corpus, .columns = {.label = "1", .text = "2", .format = "tsv"}}};
    const struct sl_other_models others = {.context = &pretended, .count = 2, .try_all = try_all};
    EXPECT_OK(sl_linear_training_open(&l, &options, &err), err);
    EXPECT_OK(sl_text_features_open(&l.features, engine, &l.parts,
                                    (struct sl_ngram_limits){2, SL_NGRAMS_MAX}, &l.set, &err),
              err);
    const struct sl_linear_search_options search = {
        .engine = engine, .features = &l.features, .set = &l.set, .others = &others};
    EXPECT_OK(sl_linear_search_run(&l.search, &search, &err), err);
    int right = 0;
    for (int i = 0; i < TEXTS; i++)
        right += l.search.probabilities[i * LABELS + sl_label_only(&l.set.label_lists, i)] > 0.5f;
    *accuracy = (double)right / TEXTS;
    const enum sl_recipe_kind kind = sl_linear_trial_kind(&l.search.trials[l.search.best]);
    sl_linear_training_close(&l);
    sl_engine_destroy(engine);
    return kind;
}

Test(recipe_kinds, the_preferred_kind_gives_way_only_to_what_is_surely_better)
{
    static const struct {
        struct pretended pretended;
        enum sl_recipe_kind chosen;
        int wrong;
    } cases[] = {
        {{2, 2}, SL_RECIPE_TUNED_ENCODER, 2},   {{0, 3}, SL_RECIPE_TUNED_ENCODER, 3},
        {{2, 40}, SL_RECIPE_FROZEN_ENCODER, 2}, {{40, 2}, SL_RECIPE_TUNED_ENCODER, 2},
        {{40, 40}, SL_RECIPE_LINEAR, 0},        {{4, 12}, SL_RECIPE_FROZEN_ENCODER, 4},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double accuracy = 0.0;
        cr_expect_eq(choose(cases[i].pretended, &accuracy), cases[i].chosen, "case %zu", i);
        cr_expect_float_eq(accuracy, 1.0 - (double)cases[i].wrong / TEXTS, 1e-9, "case %zu", i);
    }
}
