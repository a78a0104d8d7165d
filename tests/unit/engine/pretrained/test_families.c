/* test_families.c - tiny models of every family, saved by the Python package `transformers`,
 * compute what it recorded of them in double precision (golden/record_pretrained.py). */
#include "base/file.h"
#include "formats/safetensors.h"
#include "pretrained/pretrained.h"
#include "sluice/classifier.h"
#include "support/model_fixture.h"
#include "support/reference_math.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN SL_SOURCE_DIR "/tests/golden/pretrained/"

static const struct {
    const char *name;
    enum sl_task task;
} families[] = {
    {"bert", SL_TASK_PRETRAINING},
    {"bert_classifier", SL_TASK_CLASSIFICATION},
    {"distilbert", SL_TASK_PRETRAINING},
    {"distilbert_classifier", SL_TASK_CLASSIFICATION},
    {"roberta_classifier", SL_TASK_CLASSIFICATION},
    {"xlm_roberta", SL_TASK_PRETRAINING},
    {"electra_classifier", SL_TASK_CLASSIFICATION},
    {"modernbert", SL_TASK_PRETRAINING},
    {"modernbert_classifier", SL_TASK_CLASSIFICATION},
    {"gpt2", SL_TASK_COMPLETION},
    {"llama", SL_TASK_COMPLETION},
    {"qwen2", SL_TASK_COMPLETION},
    {"gguf", SL_TASK_COMPLETION},
    {"gguf_bert", SL_TASK_PRETRAINING},
    {"gguf_distilbert", SL_TASK_PRETRAINING},
    {"bert_ranker", SL_TASK_CLASSIFICATION},
    {"bert_masked", SL_TASK_PRETRAINING},
    {"bert_untied_masked", SL_TASK_PRETRAINING},
    {"distilbert_masked", SL_TASK_PRETRAINING},
    {"roberta_masked", SL_TASK_PRETRAINING},
    {"xlm_roberta_masked", SL_TASK_PRETRAINING},
    {"electra_masked", SL_TASK_PRETRAINING},
    {"modernbert_masked", SL_TASK_PRETRAINING},
    {"bert_tagger", SL_TASK_TOKEN_CLASSIFICATION},
    {"distilbert_tagger", SL_TASK_TOKEN_CLASSIFICATION},
    {"roberta_tagger", SL_TASK_TOKEN_CLASSIFICATION},
    {"xlm_roberta_tagger", SL_TASK_TOKEN_CLASSIFICATION},
    {"electra_tagger", SL_TASK_TOKEN_CLASSIFICATION},
    {"modernbert_tagger", SL_TASK_TOKEN_CLASSIFICATION},
    {"llama_chat", SL_TASK_COMPLETION},
};

/* How far off is still right, of the largest number, in fp32: the order of additions. */
static const double bound = 1e-5;

enum { TEXTS_MAX = 8, ROWS_MAX = 64 };

struct golden {
    const char *name;
    struct sl_map map;
    struct sl_safetensors file;
    struct sl_engine *engine;
    struct sl_model *m;
    struct sl_batch batch;
    struct sl_sequence sequences[TEXTS_MAX];
    int32_t tokens[ROWS_MAX], types[ROWS_MAX], right[ROWS_MAX];
};

/* -- what was recorded ------------------------------------------------------------------------ */

static float *numbers(const struct golden *g, const char *name, size_t *count)
{
    const struct sl_safetensor *t = sl_safetensors_find(&g->file, name);
    *count = t ? t->count : 0;
    float *out = malloc((*count + 1) * sizeof *out);
    cr_assert(out);
    if (t)
        sl_safetensor_read(t, out);
    return out;
}

static int ids(const struct golden *g, const char *name, int32_t *out, int max)
{
    size_t count;
    float *values = numbers(g, name, &count);
    cr_assert_leq(count, (size_t)max, "%s: %s", g->name, name);
    for (size_t i = 0; i < count; i++)
        out[i] = (int32_t)values[i];
    free(values);
    return (int)count;
}

static double fact(const struct golden *g, const char *name)
{
    const char *text = sl_safetensors_metadata(&g->file, name);
    cr_assert(text, "%s: no %s is recorded", g->name, name);
    return strtod(text, NULL);
}

static void load_batch(struct golden *g)
{
    int32_t lengths[TEXTS_MAX];
    g->batch = (struct sl_batch){.count = ids(g, "lengths", lengths, TEXTS_MAX),
                                 .rows = ids(g, "tokens", g->tokens, ROWS_MAX),
                                 .tokens = g->tokens,
                                 .types = g->types,
                                 .sequences = g->sequences};
    (void)ids(g, "types", g->types, ROWS_MAX);
    for (int i = 0, first = 0; i < g->batch.count; first += lengths[i++])
        g->sequences[i] = (struct sl_sequence){.first = first, .rows = lengths[i]};
    if (g->m->config.task == SL_TASK_CLASSIFICATION)
        g->batch.labels = g->right;
    else if (g->m->config.task != SL_TASK_PRETRAINING)
        g->batch.targets = g->right;
    if (ids(g, "right", g->right, ROWS_MAX) > 0)
        g->batch.loss_scale = 1.0f / (float)(g->batch.labels ? g->batch.count : g->batch.rows);
    g->batch.row_scale = 1.0f / (float)g->batch.rows;
}

/* -- the model -------------------------------------------------------------------------------- */

static void golden_open(struct golden *g, int i)
{
    char directory[PATH_MAX], path[PATH_MAX];
    struct sl_pretrained p;
    struct sl_err err;
    *g = (struct golden){.name = families[i].name, .engine = fixture_exact_engine(2)};
    (void)snprintf(directory, sizeof directory, GOLDEN "%s", g->name);
    EXPECT_OK(sl_path_join(path, directory, "expected.safetensors", &err), err);
    EXPECT_OK(sl_map_open(&g->map, path, &err), err);
    EXPECT_OK(sl_safetensors_parse(&g->file, g->map.data, g->map.size, &err), err);
    if (strcmp(g->name, "gguf") == 0)
        EXPECT_OK(sl_path_join(directory, GOLDEN "gguf", "model.gguf", &err), err);
    cr_assert(sl_pretrained_is(directory), "%s", directory);
    EXPECT_OK(sl_pretrained_open(&p, directory, &err), err);
    cr_assert_eq(p.published.config.task, families[i].task, "%s", g->name);
    g->m = sl_model_create(g->engine, p.published.arch, &p.published.config, &err);
    EXPECT_OK(g->m, err);
    EXPECT_OK(sl_model_allocate_gradients(g->m, &err), err);
    EXPECT_OK(sl_pretrained_load(&p, g->m->state_dict, g->m->state_dict_count, &err), err);
    sl_pretrained_close(&p);
    sl_model_pack(g->m);
    load_batch(g);
}

static void golden_close(struct golden *g)
{
    sl_model_close(g->m);
    sl_engine_destroy(g->engine);
    sl_safetensors_close(&g->file);
    sl_map_close(&g->map);
}

/* -- outputs ---------------------------------------------------------------------------------- */

static bool predicts_tokens(const struct golden *g)
{
    return sl_model_info(g->m)->output_size[SL_OUTPUT_SPARSE] > 0;
}

static void expect_outputs(struct golden *g)
{
    struct sl_tape t;
    size_t count;
    float *want = numbers(g, "outputs", &count);
    if (predicts_tokens(g))
        g->batch.output = SL_OUTPUT_MASKED; /* of every token, because none is listed */
    fixture_tape_init(&t, g->m, &g->batch, /* training= */ false);
    sl_tape_begin(&t, &g->batch, /* training= */ false);
    const struct sl_tensor *out = sl_model_forward(g->m, &t);
    cr_assert_eq((size_t)out->rows * (size_t)out->cols, count, "%s: %d x %d", g->name, out->rows,
                 out->cols);
    double error = 0;
    for (int i = 0; i < out->rows; i++)
        error =
            fmax(error, reference_max_relative(sl_row(out, i), want + (size_t)i * (size_t)out->cols,
                                               (size_t)out->cols));
    cr_expect_leq(error, bound, "%s: %g", g->name, error);
    sl_tape_release(&t);
    free(want);
}

/* From the logits of every token: a row per text. Returns how many numbers they are. */
static size_t make_sparse(const struct golden *g, float *values)
{
    const int vocab = g->m->config.vocab;
    for (int i = 0; i < g->batch.count; i++)
        for (int v = 0; v < vocab; v++) {
            float largest = 0.0f;
            for (int r = 0; r < g->sequences[i].rows; r++)
                largest =
                    fmaxf(largest,
                          values[(size_t)(g->sequences[i].first + r) * (size_t)vocab + (size_t)v]);
            values[(size_t)i * (size_t)vocab + (size_t)v] = log1pf(largest);
        }
    return (size_t)g->batch.count * (size_t)vocab;
}

/* As the daemon runs them: all texts in one batch. */
static void expect_served(struct golden *g)
{
    struct sl_classifier_item items[TEXTS_MAX];
    const struct sl_classifier_options options = {.max_batch_size = TEXTS_MAX,
                                                  .max_batch_tokens = ROWS_MAX};
    struct sl_err err;
    size_t count;
    float *want = numbers(g, "outputs", &count);
    struct sl_classifier *c = sl_classifier_create(g->m, &options, &err);
    EXPECT_OK(c, err);
    for (int i = 0; i < g->batch.count; i++)
        items[i] = (struct sl_classifier_item){
            .tokens = g->tokens + g->sequences[i].first,
            .types = g->types + g->sequences[i].first,
            .count = g->sequences[i].rows,
            .output =
                predicts_tokens(g) ? SL_OUTPUT_SPARSE : sl_model_main_output(sl_model_info(g->m))};
    if (predicts_tokens(g))
        count = make_sparse(g, want);
    EXPECT_OK(sl_classifier_run(c, items, g->batch.count, &err), err);
    size_t at = 0;
    for (int i = 0; i < g->batch.count; i++) {
        const size_t each =
            (size_t)items[i].rows * (size_t)sl_model_info(g->m)->output_size[items[i].output];
        double error = reference_max_relative(items[i].logits, want + at, each);
        cr_expect_leq(error, bound, "%s, served: %g", g->name, error);
        at += each;
    }
    cr_assert_eq(at, count, "%s", g->name);
    sl_classifier_destroy(c);
    free(want);
}

static double gradient_norm(const struct sl_model *m)
{
    double squares = 0.0;
    for (int i = 0; i < m->builder.count; i++) {
        const struct sl_parameter *p = &m->builder.parameters[i];
        for (size_t at = 0; at < sl_parameter_floats(p); at++)
            squares += (double)p->grad[at] * (double)p->grad[at];
    }
    return sqrt(squares);
}

static void expect_gradients(struct golden *g)
{
    struct sl_tape t;
    if (!sl_safetensors_metadata(&g->file, "loss"))
        return;
    fixture_tape_init(&t, g->m, &g->batch, /* training= */ true);
    const double loss = fixture_loss(g->m, &t, &g->batch);
    sl_model_zero_gradients(g->m);
    sl_tape_backward(&t);
    cr_expect_float_eq(loss, fact(g, "loss"), bound * fact(g, "loss"), "%s: loss %.9g, want %.9g",
                       g->name, loss, fact(g, "loss"));
    const double norm = gradient_norm(g->m), want = fact(g, "gradient_norm");
    cr_expect_float_eq(norm, want, bound * want, "%s: gradients of norm %.9g, want %.9g", g->name,
                       norm, want);
    sl_tape_release(&t);
}

Test(families, compute_what_was_recorded)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        struct golden g;
        golden_open(&g, (int)i);
        expect_outputs(&g);
        if (families[i].task != SL_TASK_COMPLETION)
            expect_served(&g);
        expect_gradients(&g);
        golden_close(&g);
    }
}

/* -- pairs ------------------------------------------------------------------------------------ */

static struct sl_model *open_golden(struct sl_engine *engine, const char *name)
{
    char path[PATH_MAX];
    struct sl_err err;
    (void)snprintf(path, sizeof path, GOLDEN "%s", name);
    struct sl_model *m = sl_model_open(engine, path, &err);
    EXPECT_OK(m, err);
    return m;
}

Test(families, classifiers_take_pairs)
{
    static const struct {
        const char *name;
        bool takes_pairs;
    } cases[] = {{"bert_ranker", true},
                 {"bert_classifier", true},
                 {"roberta_classifier", true},
                 {"distilbert_classifier", true},
                 {"modernbert_classifier", true},
                 {"bert", false},
                 {"llama", false}};
    struct sl_engine *engine = fixture_engine(NULL, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sl_model *m = open_golden(engine, cases[i].name);
        cr_expect_eq(sl_model_info(m)->takes_pairs, cases[i].takes_pairs, "%s", cases[i].name);
        sl_model_close(m);
    }
    sl_engine_destroy(engine);
}

/* RoBERTa's: the tokenizer's type 1 is no other than 0. */
Test(families, a_model_with_one_type_has_it_for_every_token)
{
    static const int32_t tokens[] = {2, 5, 3, 6, 3}, types[] = {0, 0, 0, 1, 1};
    const struct sl_classifier_options options = {.max_batch_size = 2, .max_batch_tokens = 32};
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_model *m = open_golden(engine, "roberta_classifier");
    struct sl_classifier *c = sl_classifier_create(m, &options, &err);
    EXPECT_OK(c, err);
    struct sl_classifier_item items[] = {{.tokens = tokens, .types = types, .count = 5},
                                         {.tokens = tokens, .count = 5}};
    EXPECT_OK(sl_classifier_run(c, items, 2, &err), err);
    cr_assert_eq(memcmp(items[0].logits, items[1].logits, 3 * sizeof *items[0].logits), 0);
    sl_classifier_destroy(c);
    sl_model_close(m);
    sl_engine_destroy(engine);
}
