/* test_encoder_trials.c - a pretrained encoder is tried with the linear recipes, and what is
 * published is what was fitted. */
#include "checkpoint/checkpoint.h"
#include "infer/logits.h"
#include "linear/linear_training.h"
#include "linear/linear_trials.h"
#include "sluice/classifier.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "support/tiny_transformer.h"
#include "support/workspace.h"
#include "tuning/encoder_trials.h"

#include <math.h>

enum { TEXTS = 48, LABELS = 3, LOGITS = TEXTS * LABELS };

static struct workspace dirs;
static char encoder[PATH_MAX], other[PATH_MAX];

/* A label's word is at any place of a text. */
static void setup(void)
{
    static const char *const words[LABELS] = {"good", "bad", "plain"};
    static const char *const others[] = {"the film", "a day", "one more word", "it was"};
    workspace_create(&dirs, "store/mine/1");
    FILE *file = fopen(dirs.corpus, "we");
    cr_assert(file);
    for (int i = 0; i < TEXTS; i++)
        cr_assert_gt(fprintf(file, "%s\t%s %s %s %d\n", words[i % LABELS], others[i / 3 % 4],
                             words[i % LABELS], others[i % 4], i),
                     0);
    cr_assert_eq(fclose(file), 0);
    tiny_transformer_make(test_path(encoder, dirs.top, "store/encoder/1"), SL_TASK_PRETRAINING);
    tiny_transformer_make(test_path(other, dirs.top, "store/other/1"), SL_TASK_COMPLETION);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(encoder_trials, .init = setup, .fini = teardown);

static struct sl_data_sources sources(void)
{
    return (struct sl_data_sources){.data = dirs.corpus,
                                    .columns = {.label = "1", .text = "2", .format = "tsv"}};
}

/* A training, and an encoder that it tries. */
struct trained {
    struct sl_engine *engine;
    struct sl_linear_training l;
    struct sl_encoder_trials e;
    double threshold; /* of the last fit, from which on n-grams answer alone */
};

static void open_training(struct trained *t, int threads)
{
    struct sl_err err;
    t->engine = fixture_engine(NULL, threads);
    const struct sl_linear_training_options options = {.engine = t->engine, .sources = sources()};
    EXPECT_OK(sl_linear_training_open(&t->l, &options, &err), err);
    const struct sl_data_sources from = sources();
    const struct sl_encoder_trials_options options_of_encoder = {
        .engine = t->engine, .encoder = encoder, .sources = &from, .set = &t->l.set};
    EXPECT_OK(sl_encoder_trials_open(&t->e, &options_of_encoder, &err), err);
    t->l.others = &t->e.models;
}

static void close_training(struct trained *t)
{
    sl_linear_training_close(&t->l);
    sl_encoder_trials_close(&t->e);
    sl_engine_destroy(t->engine);
}

Test(encoder_trials, only_encoders_are_tuned)
{
    cr_expect(sl_encoder_trials_can_use(encoder));
    cr_expect_not(sl_encoder_trials_can_use(other));
    cr_expect_not(sl_encoder_trials_can_use(SL_SOURCE_DIR "/models/base/1"));
    cr_expect_not(sl_encoder_trials_can_use("/nowhere/1"));
}

static int count_encoders(const struct sl_linear_search *search)
{
    int count = 0;
    for (int i = 0; i < search->count; i++)
        count += !sl_linear_trial_is_linear(&search->trials[i]);
    return count;
}

Test(encoder_trials, are_among_the_recipes_and_do_not_depend_on_threads)
{
    struct trained t[2];
    struct sl_err err;
    for (int i = 0; i < 2; i++) {
        open_training(&t[i], 1 + 2 * i);
        EXPECT_OK(sl_linear_training_run(&t[i].l, NULL, NULL, &err), err);
    }
    const struct sl_linear_search *one = &t[0].l.search, *three = &t[1].l.search;
    cr_expect(t[0].e.is_long, "so the encoder is not tried alone");
    cr_expect_eq(count_encoders(one), 6, "tuned and as it is");
    cr_expect_eq(one->count, one->planned);
    cr_assert_eq(one->count, three->count);
    cr_expect_eq(one->best, three->best);
    for (int i = 0; i < one->count; i++) {
        cr_expect_eq(one->trials[i].accuracy, three->trials[i].accuracy, "trial %d", i);
        cr_expect_eq(one->trials[i].loss, three->trials[i].loss, "trial %d", i);
        cr_expect(isfinite(one->trials[i].loss));
    }
    close_training(&t[0]);
    close_training(&t[1]);
}

/* The logits of all texts by a model of the training's encoder. */
static void predict(const struct trained *t, const struct sl_model *model, float *logits)
{
    struct sl_err err;
    struct sl_classifier_item items[TEXTS] = {{0}};
    const struct sl_classifier_options options = {.max_batch_size = TEXTS,
                                                  .max_batch_tokens = 8192};
    struct sl_classifier *c = sl_classifier_create(model, &options, &err);
    cr_assert(c, "%s", err.text);
    for (int i = 0; i < TEXTS; i++)
        items[i].tokens = sl_dataset_ids(&t->e.set, i, &items[i].count);
    EXPECT_OK(sl_classifier_run(c, items, TEXTS, &err), err);
    for (int i = 0; i < TEXTS; i++)
        memcpy(logits + (size_t)i * LABELS, items[i].logits, LABELS * sizeof *logits);
    sl_classifier_destroy(c);
}

static double threshold_of(const struct sl_model *model)
{
    return sl_param_get(sl_policy_threshold(model->arch), model->policy.own);
}

/* All texts get the sum, however sure the n-grams are. */
static void ask_always(struct sl_model *model)
{
    if (model->arch->cascade)
        model->policy = sl_model_policy_at(model, 1.0);
}

/* A fit of some trial, as a model; and its logits. */
static struct sl_model *fit(struct trained *t, float encoder_scale, float ngram_scale,
                            double temperature, float *logits)
{
    struct sl_err err;
    const struct sl_calibration calibration = {.temperature = temperature};
    const struct sl_linear_trial trial = {
        .recipe = {.loss = SL_LOSS_SQUARED, .ngrams = {.order = 2}, .sparse_c = 3.0f},
        .encoder = {.epochs = 2, .batch_size = 16, .learning_rate = 1e-3f, .layer_decay = 1.0f},
        .encoder_scale = encoder_scale,
        .ngram_scale = ngram_scale,
        .ngram_weight = ngram_scale > 0.0f ? 0.25f : 0.0f};
    struct sl_model *model = t->e.models.fit(&t->e, &trial, &calibration, &err);
    cr_assert(model, "%s", err.text);
    t->threshold = model->arch->cascade ? threshold_of(model) : 1.0;
    ask_always(model);
    predict(t, model, logits);
    return model;
}

Test(encoder_trials, the_model_is_the_sum_of_both_parts)
{
    struct trained t;
    float alone[LOGITS], small[LOGITS], both[LOGITS];
    open_training(&t, 2);
    sl_model_close(fit(&t, 1.0f, 0.0f, 1.0, alone));
    sl_model_close(fit(&t, 1.0f, 0.5f, 1.0, small));
    sl_model_close(fit(&t, 3.0f, 1.5f, 2.0, both));
    double differs = 0.0;
    for (int i = 0; i < LOGITS; i++) {
        const double ngrams = ((double)small[i] - (double)alone[i]) / 0.5;
        const double wanted = (3.0 * (double)alone[i] + 1.5 * ngrams) / 2.0;
        cr_expect_float_eq((double)both[i], wanted, 1e-2 + 1e-2 * fabs(wanted), "%d", i);
        differs = fmax(differs, fabs(ngrams));
    }
    cr_expect_gt(differs, 0.1);
    close_training(&t);
}

/* The output layer reads what it was fitted to: the classifier's logits are those of the regression
 * of embeddings, and it is right of the texts that it has seen. */
Test(encoder_trials, an_output_layer_is_a_regression_of_embeddings)
{
    struct sl_err err;
    struct trained t;
    struct sl_fine_tuning f = {0};
    float logits[LOGITS];
    open_training(&t, 1);
    EXPECT_OK(sl_encoder_trials_embed(&t.e, &err), err);
    const struct sl_encoder_recipe recipe = {.head_c = 100.0f, .batch_size = 16};
    EXPECT_OK(sl_encoder_fit_all(&t.e.fits, &f, &recipe, t.e.rows, &err), err);
    EXPECT_OK(sl_fine_tuning_predict(&f, t.e.rows, TEXTS, logits, &err), err);
    const struct sl_parameter *weight = sl_model_find(f.tuner.model, "classifier.weight"),
                              *bias = sl_model_find(f.tuner.model, "classifier.bias");
    int right = 0;
    cr_assert_eq(t.e.features.dense_cols, weight->cols);
    for (int i = 0; i < TEXTS; i++) {
        const float *embedding = t.e.features.dense + (ptrdiff_t)i * weight->cols;
        for (int c = 0; c < LABELS; c++) {
            double want = (double)bias->data[c];
            for (int j = 0; j < weight->cols; j++)
                want += (double)weight->data[c * weight->cols + j] * (double)embedding[j] /
                        (double)t.e.fits.embedding_scale;
            cr_expect_float_eq((double)logits[i * LABELS + c], want, 0.05 + 0.02 * fabs(want),
                               "%d, %d", i, c);
        }
        right += sl_argmax(logits + i * LABELS, LABELS) == sl_label_only(&t.e.set.label_lists, i);
    }
    cr_expect_gt(right, 9 * TEXTS / 10, "%d", right);
    sl_fine_tuning_close(&f);
    close_training(&t);
}

/* Each fit begins with the encoder, whatever was fitted before, and leaves its token table. */
Test(encoder_trials, fits_begin_anew_and_leave_the_token_table)
{
    struct sl_err err;
    struct trained t;
    struct sl_fine_tuning f;
    int32_t rows[TEXTS];
    float first[LOGITS] = {0}, again[LOGITS] = {0};
    open_training(&t, 1);
    const struct sl_fine_tuning_options options = {
        .engine = t.engine, .encoder = encoder, .set = &t.e.set};
    const struct sl_encoder_recipe recipe = {
        .epochs = 3, .batch_size = 8, .learning_rate = 1e-2f, .layer_decay = 0.9f};
    EXPECT_OK(sl_fine_tuning_open(&f, &options, &err), err);
    const struct sl_parameter *table =
        sl_builder_find(&f.tuner.model->builder, "token_embedding.weight");
    cr_assert(table);
    const float before = table->data[table->cols + 1];
    for (int i = 0; i < TEXTS; i++)
        rows[i] = i;
    sl_fine_tuning_begin(&f);
    EXPECT_OK(sl_fine_tuning_fit(&f, &recipe, rows, TEXTS, &err), err);
    EXPECT_OK(sl_fine_tuning_predict(&f, rows, TEXTS, first, &err), err);
    sl_fine_tuning_begin(&f);
    EXPECT_OK(sl_fine_tuning_fit(&f, &recipe, rows, TEXTS / 2, &err), err);
    EXPECT_OK(sl_fine_tuning_predict(&f, rows, TEXTS, again, &err), err);
    cr_expect_arr_neq(first, again, sizeof first);
    sl_fine_tuning_begin(&f);
    EXPECT_OK(sl_fine_tuning_fit(&f, &recipe, rows, TEXTS, &err), err);
    EXPECT_OK(sl_fine_tuning_predict(&f, rows, TEXTS, again, &err), err);
    cr_expect_arr_eq(first, again, sizeof first);
    cr_expect_eq(table->data[table->cols + 1], before);
    cr_expect_null(table->grad);
    sl_fine_tuning_close(&f);
    close_training(&t);
}

Test(encoder_trials, a_published_model_answers_as_it_was_measured)
{
    struct sl_err err;
    struct trained t;
    float fitted[LOGITS], opened[LOGITS];
    open_training(&t, 1);
    EXPECT_OK(sl_linear_training_run(&t.l, NULL, NULL, &err), err);
    sl_model_close(t.l.model);
    t.l.search.best = t.l.search.count - 1; /* a sum, whether or not it was the best */
    t.l.model = fit(&t, 1.0f, 1.0f, 1.0, fitted);
    EXPECT_OK(sl_linear_training_publish(&t.l, dirs.output,
                                         &(struct sl_publication){.training = "{}"}, &err),
              err);
    struct sl_model *model = sl_model_open(t.engine, dirs.output, &err);
    cr_assert(model, "%s", err.text);
    predict(&t, model, opened);
    for (int i = 0; i < LOGITS; i++)
        cr_expect_float_eq((double)opened[i], (double)fitted[i], 0.05, "published as bf16");
    cr_expect_str_eq(model->labels[0], "bad");
    cr_expect_str_eq(model->info.architecture, "cascade");
    cr_expect_eq(model->operating_point_count, t.l.model->operating_point_count);
    cr_expect_eq(model->config.context_length, t.e.context, "whole texts");
    sl_model_close(model);
    close_training(&t);
}

/* The encoder is right of all texts. N-grams are very sure of every second one, and of the others
 * not, or as sure of a wrong label. */
static void pretend(struct trained *t, bool wrong)
{
    float *tuned = t->e.logits, *ngrams = t->e.logits + LOGITS;
    memset(t->e.logits, 0, 2 * LOGITS * sizeof *t->e.logits);
    for (int i = 0; i < TEXTS; i++) {
        const int label = sl_label_only(&t->e.set.label_lists, i), at = i * LABELS;
        tuned[at + label] = 4.0f;
        if (i % 2 == 0)
            ngrams[at + label] = 12.0f;
        else if (wrong)
            ngrams[at + (label + 1) % LABELS] = 12.0f;
    }
}

Test(encoder_trials, a_cascade_answers_alone_where_that_costs_nothing)
{
    struct sl_err err;
    struct trained t;
    float logits[LOGITS];
    open_training(&t, 1);
    EXPECT_OK(sl_linear_training_run(&t.l, NULL, NULL, &err), err);
    pretend(&t, false);
    struct sl_model *model = fit(&t, 1.0f, 0.25f, 1.0, logits);
    cr_assert_eq(model->operating_point_count, 2);
    cr_expect_eq(model->operating_points[0].budget, 1.0);
    cr_expect_float_eq(model->operating_points[1].layer_ops_skipped, 0.5, 0.1, "texts differ");
    cr_expect_eq(model->operating_points[1].accuracy, 1.0);
    cr_expect_float_eq(t.threshold, 0.999, 1e-6, "the first that saves as much");
    sl_model_close(model);
    pretend(&t, true);
    model = fit(&t, 1.0f, 0.25f, 1.0, logits);
    cr_expect_eq(model->operating_point_count, 0, "they would cost much");
    cr_expect_eq(t.threshold, 1.0);
    sl_model_close(model);
    close_training(&t);
}

/* ---- several labels ------------------------------------------------------------------------- */

/* Every text has a digit, too, and two in three have one of the words, or two. */
static void write_several(void)
{
    static const char *const words[] = {"good", "bad", "good|bad"};
    static const char *const texts[] = {"the good film", "a bad day", "it was good one bad more"};
    FILE *file = fopen(dirs.corpus, "we");
    cr_assert(file);
    for (int i = 0; i < TEXTS; i++)
        cr_assert_gt(fprintf(file, "%s%s\t%s %d\n", i % 2 ? "plain|" : "", words[i % 3],
                             texts[i % 3], i % 2),
                     0);
    cr_assert_eq(fclose(file), 0);
}

static struct sl_data_sources several_sources(void)
{
    struct sl_data_sources from = sources();
    from.columns.label_separator = "|";
    return from;
}

static void open_several(struct trained *t)
{
    struct sl_err err;
    write_several();
    t->engine = fixture_engine(NULL, 2);
    const struct sl_data_sources from = several_sources();
    const struct sl_linear_training_options options = {.engine = t->engine, .sources = from};
    EXPECT_OK(sl_linear_training_open(&t->l, &options, &err), err);
    cr_assert(t->l.set.multi_label);
    const struct sl_encoder_trials_options options_of_encoder = {
        .engine = t->engine, .encoder = encoder, .sources = &from, .set = &t->l.set};
    EXPECT_OK(sl_encoder_trials_open(&t->e, &options_of_encoder, &err), err);
    cr_assert(t->e.set.multi_label);
    t->l.others = &t->e.models;
}

/* The labels of the encoder's set that a model gives a text, which are those it has. */
static int count_right(const struct trained *t, const float *logits)
{
    int right = 0;
    for (int i = 0; i < TEXTS; i++) {
        const struct sl_label_list labels = sl_label_list(&t->e.set.label_lists, i);
        int at = 0;
        for (int c = 0; c < LABELS; c++)
            right += sl_label_list_next(labels, &at, c) == (logits[i * LABELS + c] > 0.0f);
    }
    return right;
}

Test(encoder_trials, texts_may_have_several_labels)
{
    struct sl_err err;
    struct trained t;
    int32_t rows[TEXTS];
    float logits[LOGITS];
    struct sl_fine_tuning f;
    open_several(&t);
    const struct sl_fine_tuning_options options = {
        .engine = t.engine, .encoder = encoder, .set = &t.e.set};
    const struct sl_encoder_recipe recipe = {
        .epochs = 30, .batch_size = 16, .learning_rate = 5e-3f, .layer_decay = 1.0f};
    for (int i = 0; i < TEXTS; i++)
        rows[i] = i;
    EXPECT_OK(sl_fine_tuning_open(&f, &options, &err), err);
    sl_fine_tuning_begin(&f);
    EXPECT_OK(sl_fine_tuning_fit(&f, &recipe, rows, TEXTS, &err), err);
    EXPECT_OK(sl_fine_tuning_predict(&f, rows, TEXTS, logits, &err), err);
    cr_expect_gt(count_right(&t, logits), 9 * LOGITS / 10, "%d of %d", count_right(&t, logits),
                 LOGITS);
    sl_fine_tuning_close(&f);
    close_training(&t);
}

Test(encoder_trials, of_several_labels_the_shift_is_part_of_the_model)
{
    struct sl_err err;
    struct trained t;
    float plain[LOGITS], shifted[LOGITS];
    open_several(&t);
    EXPECT_OK(sl_linear_training_run(&t.l, NULL, NULL, &err), err);
    cr_expect_eq(count_encoders(&t.l.search), 10);
    const struct sl_calibration none = {.temperature = 1.0, .independent = true};
    const struct sl_calibration some = {.temperature = 2.0, .shift = 0.75, .independent = true};
    const struct sl_linear_trial trial = {
        .recipe = {.loss = SL_LOSS_BINARY, .ngrams = {.order = 2}, .sparse_c = 3.0f},
        .encoder = {.epochs = 2, .batch_size = 16, .learning_rate = 1e-3f, .layer_decay = 1.0f},
        .encoder_scale = 1.0f,
        .ngram_scale = 0.5f,
        .ngram_weight = 0.25f,
        .ngram_shift = 0.5f};
    struct sl_model *a = t.e.models.fit(&t.e, &trial, &none, &err);
    struct sl_model *b = t.e.models.fit(&t.e, &trial, &some, &err);
    cr_assert(a && b, "%s", err.text);
    cr_expect(a->info.multi_label);
    ask_always(a);
    ask_always(b);
    predict(&t, a, plain);
    predict(&t, b, shifted);
    for (int i = 0; i < LOGITS; i++)
        cr_expect_float_eq((double)shifted[i], (double)plain[i] / 2.0 + 0.75, 2e-2, "%d", i);
    sl_model_close(a);
    sl_model_close(b);
    close_training(&t);
}
