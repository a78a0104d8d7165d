/* test_text_embeddings.c - embeddings of pretrained models: those of a base of word vectors by
 * their formula, and of all of them the same bits in any batch. */
#include "layers/bag_of_words.h"
#include "sluice/classifier.h"
#include "support/model_fixture.h"
#include "support/test.h"

#include <math.h>

enum { TEXTS = 5, WIDTH = 6, SPECIAL = 0, COMMA = 1, PIECE = 2 };

static const int32_t texts[TEXTS][FIXTURE_CONTEXT] = {{SPECIAL, 3, 4, PIECE, COMMA, 5, SPECIAL},
                                                      {COMMA, COMMA},
                                                      {3},
                                                      {PIECE, PIECE, 9, PIECE, PIECE, 10},
                                                      {10, 9, 8, 7, 6, 5}};
static const int counts[TEXTS] = {7, 2, 1, 6, 6};

static struct sl_engine *engine;
static struct sl_model *model;
static struct sl_classifier *embedder;

static void open_embedder(const struct sl_arch *arch, int width, int threads)
{
    struct sl_err err;
    struct sl_config config = fixture_config_for(arch, SL_TASK_PRETRAINING);
    const struct sl_classifier_options options = {.max_batch_size = TEXTS,
                                                  .max_batch_tokens = TEXTS * FIXTURE_CONTEXT};
    if (width > 0)
        config.width = width;
    engine = fixture_engine(NULL, threads);
    model = fixture_model(engine, arch, &config);
    if (strcmp(arch->name, "linear") == 0) {
        struct sl_bag_of_words *m = model->self;
        for (int t = 0; t < FIXTURE_VOCAB; t++) {
            m->roles->data[t] = (float)(t <= COMMA   ? SL_TOKEN_SKIPPED
                                        : t == PIECE ? SL_TOKEN_CONTINUES
                                                     : SL_TOKEN_WORD);
            m->token_weights->data[FIXTURE_VOCAB + t] =
                t == SPECIAL ? 0.0f : 1.0f / (1.0f + 0.3f * (float)t);
        }
    }
    sl_model_pack(model);
    EXPECT_OK((embedder = sl_classifier_create(model, &options, &err)), err);
}

static void close_embedder(void)
{
    sl_classifier_destroy(embedder);
    sl_model_close(model);
    sl_engine_destroy(engine);
}

static void embed(int first, int count, float out[][64])
{
    struct sl_err err;
    struct sl_classifier_item items[TEXTS] = {0};
    int dimensions = sl_model_info(model)->dimensions;
    for (int i = 0; i < count; i++)
        items[i] =
            (struct sl_classifier_item){.tokens = texts[first + i], .count = counts[first + i]};
    EXPECT_OK(sl_classifier_run(embedder, items, count, &err), err);
    for (int i = 0; i < count; i++) {
        cr_assert(items[i].finite, "text %d", first + i);
        memcpy(out[i], items[i].embedding, (size_t)dimensions * sizeof(float));
    }
}

/* ---- word vectors ---------------------------------------------------------------------------- */

static double weight_of(const struct sl_bag_of_words *m, int t)
{
    return t == SPECIAL ? 0.0
           : t == COMMA ? 1e-6
                        : (double)m->token_weights->data[FIXTURE_VOCAB + t];
}

static int occurrences(int text, int t)
{
    int times = 0;
    for (int i = 0; i < counts[text]; i++)
        times += texts[text][i] == t;
    return times;
}

/* The sum over all tokens of the vocabulary, in their order. */
static void expect_embedding(int text, const float *got)
{
    const struct sl_bag_of_words *m = model->self;
    double v[WIDTH] = {0}, total = 0.0;
    for (int t = 0; t < FIXTURE_VOCAB; t++) {
        int times = occurrences(text, t);
        double w = times ? (1.0 + log(times)) * weight_of(m, t) : 0.0;
        total += w;
        for (int d = 0; d < WIDTH; d++)
            v[d] += w * (double)m->vectors->data[t * WIDTH + d];
    }
    for (int d = 0; d < WIDTH; d++)
        cr_expect_float_eq((double)got[d], v[d] / total, 1e-5, "text %d, %d: %g, not %g", text, d,
                           (double)got[d], v[d] / total);
}

Test(text_embeddings, of_word_vectors_are_weighted_means, .fini = close_embedder)
{
    float got[TEXTS][64];
    open_embedder(sl_arch_find("linear"), WIDTH, 2);
    cr_assert_eq(sl_model_info(model)->dimensions, WIDTH);
    cr_assert_str_eq(sl_model_info(model)->pooling, "weighted_mean");
    embed(0, TEXTS, got);
    for (int i = 0; i < TEXTS; i++)
        expect_embedding(i, got[i]);
}

/* ---- any pretrained model -------------------------------------------------------------------- */

static void expect_same_bits(const struct sl_arch *arch)
{
    float together[TEXTS][64], alone[1][64], other[TEXTS][64];
    open_embedder(arch, 0, 2);
    size_t bytes = (size_t)sl_model_info(model)->dimensions * sizeof(float);
    cr_assert_gt(bytes, 0);
    embed(0, TEXTS, together);
    for (int i = 0; i < TEXTS; i++) {
        embed(i, 1, alone);
        cr_expect_eq(memcmp(alone[0], together[i], bytes), 0, "%s, text %d", arch->name, i);
    }
    close_embedder();
    open_embedder(arch, 0, 1);
    embed(0, TEXTS, other);
    for (int i = 0; i < TEXTS; i++)
        cr_expect_eq(memcmp(other[i], together[i], bytes), 0, "%s, text %d, one thread", arch->name,
                     i);
    close_embedder();
}

Test(text_embeddings, do_not_depend_on_the_batch_or_on_threads)
{
    int tried = 0;
    for (int a = 0; sl_arch_at(a); a++)
        if (sl_arch_at(a)->embeds) {
            expect_same_bits(sl_arch_at(a));
            tried++;
        }
    cr_assert_geq(tried, 3);
}

/* The mean of the last layer's normalized outputs. */
Test(text_embeddings, of_an_encoder_are_means, .fini = close_embedder)
{
    float got[TEXTS][64];
    open_embedder(sl_arch_find("encoder"), 0, 1);
    cr_assert_str_eq(sl_model_info(model)->pooling, "mean");
    embed(0, TEXTS, got);
    for (int i = 0; i < TEXTS; i++) {
        double sum = 0.0;
        for (int d = 0; d < sl_model_info(model)->dimensions; d++)
            sum += fabs((double)got[i][d]);
        cr_expect_gt(sum, 0.1);
    }
    cr_expect_neq(memcmp(got[0], got[4], 8 * sizeof(float)), 0);
}
