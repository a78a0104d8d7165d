/* test_encoder.c - the baselines: the encoder's choices, which make it one paper's or another's. */
#include "support/gradient_check.h"
#include "support/model_fixture.h"
#include "support/test.h"

#include <math.h>

static const struct sl_arch *encoder(void)
{
    return sl_arch_find("encoder");
}

enum { GELU, RELU };

enum { UNIT, SMALL, GLOROT, WIDTH };

/* What a paper compares itself with. */
static const struct variant {
    const char *name;
    int activation, pooling, embedding_init, scale_embedding, final_norm, pairs;
    float embedding_dropout;
} variants[] = {
    {"Epsilon's, as published", GELU, SL_POOLING_MEAN, UNIT, 0, 1, 0, 0.0f},
    {"Epsilon's, matched", GELU, SL_POOLING_FIRST, GLOROT, 1, 1, 0, 0.1f},
    {"EAM's", RELU, SL_POOLING_MEAN, WIDTH, 0, 0, 0, 0.0f},
    {"of the last token", RELU, SL_POOLING_LAST, SMALL, 1, 1, 0, 0.0f},
    {"with pairs of tokens", GELU, SL_POOLING_MEAN, UNIT, 0, 1, 50, 0.1f},
};

enum { VARIANTS = sizeof variants / sizeof variants[0] };

static struct sl_config config_of(const struct variant *v)
{
    struct sl_config c = fixture_config_for(encoder(), SL_TASK_CLASSIFICATION);
    fixture_set(encoder(), &c, "activation", v->activation);
    c.pooling = v->pooling;
    fixture_set(encoder(), &c, "embedding_init", v->embedding_init);
    fixture_set(encoder(), &c, "scale_embedding", v->scale_embedding);
    fixture_set(encoder(), &c, "final_norm", v->final_norm);
    c.embedding_dropout = v->embedding_dropout;
    c.hash_bigrams = v->pairs;
    c.wide_ngrams = v->pairs;
    return c;
}

Test(encoder, gradients_of_every_variant_agree_with_finite_differences)
{
    static const int lengths[] = {24, 1, 7, 0};
    struct sl_engine *engine = fixture_exact_engine(2);
    for (int v = 0; v < VARIANTS; v++) {
        struct sl_config c = config_of(&variants[v]);
        struct sl_model *m = fixture_model(engine, encoder(), &c);
        gradient_check_model(m, lengths);
        sl_model_close(m);
    }
    sl_engine_destroy(engine);
}

/* A model with the values it starts from. */
static struct sl_model *drawn(struct sl_engine *engine, const struct sl_config *c)
{
    struct sl_err err;
    struct sl_model *m = sl_model_create(engine, encoder(), c, &err);
    cr_assert(m, "%s", err.text);
    EXPECT_OK(sl_model_allocate_gradients(m, &err), err);
    sl_model_initialize(m, 7);
    return m;
}

static const struct sl_parameter *find(const struct sl_model *m, const char *name)
{
    for (int i = 0; i < m->builder.count; i++)
        if (strcmp(m->builder.parameters[i].name, name) == 0)
            return &m->builder.parameters[i];
    cr_assert_fail("no parameter '%s'", name);
    return NULL;
}

/* Glorot and Bengio 2010, eq. 16, is a uniform distribution: its deviation is the bound by the root
 * of 3. */
Test(encoder, embeddings_start_as_wide_as_they_should, TEST_ONE_THREAD)
{
    enum { VOCAB = 3000, COLS = 24 };

    const double wanted[] = {
        [UNIT] = 1.0,
        [SMALL] = 0.02,
        [GLOROT] = sqrt(6.0 / (VOCAB + COLS)) / sqrt(3.0),
        [WIDTH] = 1.0 / sqrt((double)COLS),
    };

    struct sl_engine *engine = fixture_exact_engine(1);
    for (int v = 0; v < VARIANTS; v++) {
        struct sl_config c = config_of(&variants[v]);
        c.vocab = VOCAB;
        c.width = COLS;
        struct sl_model *m = drawn(engine, &c);
        const struct sl_parameter *p = find(m, "token_embedding.weight");
        double sum = 0.0;
        for (int i = 0; i < VOCAB * COLS; i++)
            sum += (double)p->data[i] * (double)p->data[i];
        double deviation = sqrt(sum / (VOCAB * COLS)), want = wanted[variants[v].embedding_init];
        cr_expect_float_eq(deviation, want, 0.02 * want, "%s: %g, want %g", variants[v].name,
                           deviation, want);
        sl_model_close(m);
    }
    sl_engine_destroy(engine);
}

/* The Transformer that EAM's paper trains, with 10,000 words and two classes. */
Test(encoder, eams_transformer_has_its_published_size, TEST_ONE_THREAD)
{
    struct sl_engine *engine = fixture_exact_engine(1);
    struct sl_config c = config_of(&variants[2]);
    c.vocab = 10000;
    c.context_length = 256;
    c.width = 128;
    c.depth = 3;
    c.heads = 4;
    c.ffn_width = 1024;
    c.classes = 2;
    struct sl_model *m = drawn(engine, &c);
    cr_assert_eq(sl_model_info(m)->parameters, 2269826, "%lld",
                 (long long)sl_model_info(m)->parameters);
    sl_model_close(m);
    sl_engine_destroy(engine);
}
