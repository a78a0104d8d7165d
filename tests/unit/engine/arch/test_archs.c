/* test_archs.c - what every row of the table of architectures must keep: gradients, the same bits
 * alone and in a batch, with one thread and with more, with a cache and without, saved and
 * loaded. */
#include "base/random.h"
#include "support/gradient_check.h"
#include "support/model_fixture.h"
#include "support/test.h"

#include "sluice/session.h"
#include "tokenizer/tokenizer.h"

#include <math.h>
#include <stdlib.h>

/* -- gradients -------------------------------------------------------------------------------- */

Test(archs, gradients_agree_with_finite_differences, TEST_ONE_THREAD)
{
    static const int lengths[] = {24, 1, 7, 17, 0};
    struct sl_engine *engine = fixture_exact_engine(1);
    for (struct fixture_case c = {0}; fixture_next(&c); c.variant++) {
        const struct sl_arch *arch = sl_arch_at(c.arch);
        struct sl_config config = fixture_case_config(&c);
        struct sl_model *m = fixture_model(engine, arch, &config);
        gradient_check_model(m, lengths);
        sl_model_close(m);
    }
    sl_engine_destroy(engine);
}

/* Every level's gradients against those of the reference. bf16 has 8 bits, and gates far from their
 * steep part have small gradients made of large terms; a wrong formula is off by its own size. */
Test(archs, gradients_agree_across_instruction_levels)
{
    static const int lengths[] = {24, 1, 7, 17, 0};
    struct sl_engine *plain = fixture_engine("ref", 1), *fast = fixture_engine(NULL, 2);
    double bound = fast->kernels->operand == SL_BF16 ? 0.25 : 1e-4;
    for (struct fixture_case c = {0}; fixture_next(&c); c.variant++) {
        const struct sl_arch *arch = sl_arch_at(c.arch);
        struct sl_config config = fixture_case_config(&c);
        struct sl_engine *engines[2] = {plain, fast};
        struct sl_model *models[2];
        for (int e = 0; e < 2; e++) {
            struct sl_model *m = models[e] = fixture_model(engines[e], arch, &config);
            struct fixture_batch f;
            struct sl_tape t;
            fixture_batch_init(&f, lengths, 3);
            fixture_set_task(&f, config.task);
            fixture_tape_init(&t, m, &f.batch, true);
            sl_model_zero_gradients(m);
            (void)fixture_loss(m, &t, &f.batch);
            sl_tape_backward(&t);
            sl_model_backprop_buffers(m);
            sl_tape_release(&t);
        }
        /* Of few labels less is left after terms cancel than of many targets. */
        double allowed = config.task == SL_TASK_CLASSIFICATION ? 2.0 * bound : bound;
        for (int i = 0; i < models[0]->builder.count; i++) {
            const struct sl_parameter *p = &models[0]->builder.parameters[i];
            const float *g = p->grad, *h = models[1]->builder.parameters[i].grad;
            double difference = 0.0, size = 0.0;
            for (int j = 0; j < p->rows * p->cols; j++) {
                difference += pow((double)(g[j] - h[j]), 2.0);
                size += pow((double)g[j], 2.0);
            }
            /* And in one number, errors do not even out. */
            double max = (p->rows * p->cols == 1 ? 2.0 : 1.0) * allowed * sqrt(size) + 1e-6;
            cr_expect_lt(sqrt(difference), max, "%s %s: %g of %g", arch->name, p->name,
                         sqrt(difference), sqrt(size));
        }
        sl_model_close(models[0]);
        sl_model_close(models[1]);
    }
    sl_engine_destroy(plain);
    sl_engine_destroy(fast);
}

/* -- the same bits ---------------------------------------------------------------------------- */

static void train_once(struct fixture_case c, int threads, float *out, size_t *count)
{
    static const int lengths[] = {24, 24, 24, 24, 0};
    struct sl_engine *engine = fixture_engine(NULL, threads);
    const struct sl_arch *arch = sl_arch_at(c.arch);
    struct sl_config config = fixture_case_config(&c);
    struct sl_model *m = fixture_model(engine, arch, &config);
    struct fixture_batch f;
    struct sl_tape t;
    fixture_batch_init(&f, lengths, 3);
    fixture_set_task(&f, config.task);
    fixture_tape_init(&t, m, &f.batch, true);
    sl_model_zero_gradients(m);
    (void)fixture_loss(m, &t, &f.batch);
    sl_tape_backward(&t);
    sl_model_backprop_buffers(m);
    *count = 0;
    for (int i = 0; i < m->builder.count; i++) {
        const struct sl_parameter *p = &m->builder.parameters[i];
        memcpy(out + *count, p->grad, (size_t)(p->rows * p->cols) * sizeof *out);
        *count += (size_t)(p->rows * p->cols);
    }
    sl_tape_release(&t);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

Test(archs, gradients_do_not_depend_on_threads)
{
    enum { MOST = 1 << 18 };

    float *one = malloc(MOST * sizeof *one), *three = malloc(MOST * sizeof *three);
    cr_assert(one && three);
    for (struct fixture_case c = {0}; fixture_next(&c); c.variant++) {
        size_t count, again;
        train_once(c, 1, one, &count);
        train_once(c, 3, three, &again);
        cr_assert_eq(count, again);
        cr_expect_eq(memcmp(one, three, count * sizeof *one), 0, "%s", sl_arch_at(c.arch)->name);
    }
    free(one);
    free(three);
}

enum { TEXTS = TEST_SANITIZED ? 24 : 64, FEW_TEXTS = TEST_SANITIZED ? 2 : 8 };

struct texts {
    int lengths[TEXTS];
    int32_t tokens[TEXTS][FIXTURE_CONTEXT];
};

static void draw_texts(struct texts *x)
{
    uint64_t key = sl_random_key(test_seed(), "texts");
    for (int i = 0; i < TEXTS; i++) {
        x->lengths[i] = 1 + (int)sl_random_below(key, (uint64_t)i, FIXTURE_CONTEXT);
        for (int j = 0; j < FIXTURE_CONTEXT; j++)
            x->tokens[i][j] = (int32_t)sl_random_below(key, 1000 + (uint64_t)i * 100 + (uint64_t)j,
                                                       FIXTURE_VOCAB);
    }
}

/* Of the model that is tested. */
static bool translates;

/* The first chunk of a translation has a source, whose length depends on its first token. */
static void give_source(struct sl_chunk *chunk)
{
    static const int32_t source[FIXTURE_VOCAB] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
    if (!translates)
        return;
    chunk->source = source;
    chunk->source_count = 1 + chunk->tokens[0];
}

static struct sl_session *session_of(const struct sl_model *m, int slots)
{
    struct sl_err err;
    struct sl_session_options options = {.max_sequences = slots, .max_batch_tokens = 2400};
    struct sl_session *s = sl_session_create(m, &options, &err);
    cr_assert(s, "%s", err.text);
    return s;
}

/* All logits of one text, fed as a whole or token by token. */
static void logits_alone(struct sl_session *s, const int32_t *tokens, int count, bool stepwise,
                         float *out)
{
    struct sl_err err;
    sl_session_clear(s, 0);
    for (int i = 0; i < count;) {
        struct sl_chunk feed = {
            .tokens = tokens + i, .count = stepwise ? 1 : count, .all_logits = true};
        if (i == 0)
            give_source(&feed);
        EXPECT_OK(sl_session_run(s, &feed, 1, &err), err);
        memcpy(out + (size_t)i * FIXTURE_VOCAB, feed.logits,
               (size_t)feed.count * FIXTURE_VOCAB * sizeof *out);
        i += feed.count;
    }
}

static void each_policy_of(struct sl_engine *engine,
                           void (*check)(struct sl_model *m, const char *name))
{
    for (struct fixture_case c = {0}; fixture_next(&c); c.variant++) {
        const struct sl_arch *arch = sl_arch_at(c.arch);
        if (!sl_task_generates((enum sl_task)c.task))
            continue;
        translates = c.task == SL_TASK_TRANSLATION;
        struct sl_config config = fixture_case_config(&c);
        struct sl_model *m = fixture_model(engine, arch, &config);
        for (int p = 0; p < (arch->policy ? FIXTURE_POLICIES : 1); p++) {
            char name[128];
            (void)snprintf(name, sizeof name, "%s, policy %d, %s", fixture_case_name(&c), p,
                           sl_engine_precision(engine));
            m->policy = fixture_policy(m->arch, p);
            check(m, name);
        }
        sl_model_close(m);
    }
    sl_engine_destroy(engine);
}

static void each_policy(int threads, void (*check)(struct sl_model *m, const char *name))
{
    each_policy_of(fixture_engine(NULL, threads), check);
    each_policy_of(fixture_int8_engine(NULL, threads), check);
    if (TEST_SANITIZED) /* it rounds keys and values; otherwise a level of its own */
        each_policy_of(fixture_int8_engine("portable", threads), check);
}

/* The reference level is slow. */
static int text_count(const struct sl_model *m)
{
    return strcmp(m->engine->kernels->name, "ref") == 0 ? FEW_TEXTS : TEXTS;
}

static void alone_and_among_many(struct sl_model *m, const char *name)
{
    const int count = text_count(m);
    struct texts x;
    struct sl_err err;
    struct sl_chunk feeds[TEXTS] = {0};
    float alone[FIXTURE_CONTEXT * FIXTURE_VOCAB];
    draw_texts(&x);
    struct sl_session *many = session_of(m, TEXTS), *one = session_of(m, 1);
    for (int i = 0; i < count; i++)
        feeds[i] = (struct sl_chunk){.slot = TEXTS - 1 - i,
                                     .tokens = x.tokens[i],
                                     .count = x.lengths[i],
                                     .all_logits = i % 3 != 0};
    for (int i = 0; i < count; i++)
        give_source(&feeds[i]);
    EXPECT_OK(sl_session_run(many, feeds, count, &err), err);
    for (int i = 0; i < count; i++) {
        logits_alone(one, x.tokens[i], x.lengths[i], false, alone);
        size_t rows = feeds[i].all_logits ? (size_t)x.lengths[i] : 1;
        const float *want = alone + ((size_t)x.lengths[i] - rows) * FIXTURE_VOCAB;
        cr_expect_eq(memcmp(feeds[i].logits, want, rows * FIXTURE_VOCAB * sizeof *want), 0,
                     "%s: text %d of %d tokens (seed %llu)", name, i, x.lengths[i],
                     (unsigned long long)test_seed());
    }
    sl_session_destroy(many);
    sl_session_destroy(one);
}

Test(archs, answers_do_not_depend_on_the_batch)
{
    each_policy(2, alone_and_among_many);
}

static void cached_and_whole(struct sl_model *m, const char *name)
{
    struct texts x;
    float whole[FIXTURE_CONTEXT * FIXTURE_VOCAB], steps[FIXTURE_CONTEXT * FIXTURE_VOCAB];
    draw_texts(&x);
    struct sl_session *s = session_of(m, 1);
    for (int i = 0; i < FEW_TEXTS; i++) {
        logits_alone(s, x.tokens[i], FIXTURE_CONTEXT, false, whole);
        logits_alone(s, x.tokens[i], FIXTURE_CONTEXT, true, steps);
        cr_expect_eq(memcmp(whole, steps, sizeof whole), 0, "%s: text %d", name, i);
    }
    sl_session_destroy(s);
}

Test(archs, decoding_with_a_cache_equals_the_full_forward)
{
    each_policy(2, cached_and_whole);
}

struct recording {
    float logits[FIXTURE_CONTEXT * FIXTURE_VOCAB];
};

static struct recording *recorded;
static int recorded_count;

static void record(struct sl_model *m, const char *name)
{
    struct texts x;
    (void)name;
    draw_texts(&x);
    struct sl_session *s = session_of(m, 1);
    recorded = realloc(recorded, (size_t)(recorded_count + 2) * sizeof *recorded);
    cr_assert(recorded);
    for (int i = 0; i < 2; i++)
        logits_alone(s, x.tokens[i], FIXTURE_CONTEXT, false, recorded[recorded_count++].logits);
    sl_session_destroy(s);
}

static void compare(struct sl_model *m, const char *name)
{
    struct texts x;
    float logits[FIXTURE_CONTEXT * FIXTURE_VOCAB];
    draw_texts(&x);
    struct sl_session *s = session_of(m, 1);
    for (int i = 0; i < 2; i++) {
        logits_alone(s, x.tokens[i], FIXTURE_CONTEXT, false, logits);
        cr_expect_eq(memcmp(logits, recorded[recorded_count++].logits, sizeof logits), 0, "%s",
                     name);
    }
    sl_session_destroy(s);
}

Test(archs, answers_do_not_depend_on_threads)
{
    recorded_count = 0;
    each_policy(1, record);
    recorded_count = 0;
    each_policy(3, compare);
    free(recorded);
    recorded = NULL;
}

/* Wanted rows are copied unless all are: the most memory is taken when all but one are wanted. */
static void want_all_but_one(struct sl_model *m, const char *name)
{
    static const int32_t zeros[FIXTURE_CONTEXT];
    struct sl_err err;
    const struct sl_session_options options = {
        .max_sequences = 3, .max_batch_tokens = 2 * FIXTURE_CONTEXT + (translates ? 3 : 0)};
    struct sl_session *s = sl_session_create(m, &options, &err);
    cr_assert(s, "%s: %s", name, err.text);
    struct sl_chunk feeds[] = {
        {.slot = 0, .tokens = zeros, .count = FIXTURE_CONTEXT, .all_logits = true},
        {.slot = 1, .tokens = zeros, .count = FIXTURE_CONTEXT - 2, .all_logits = true},
        {.slot = 2, .tokens = zeros, .count = 2},
    };
    for (int i = 0; i < 3; i++)
        give_source(&feeds[i]);
    EXPECT_OK(sl_session_run(s, feeds, 3, &err), err);
    sl_session_destroy(s);
}

Test(archs, full_runs_have_room_whatever_is_wanted)
{
    each_policy(1, want_all_but_one);
}

/* Lists of rows are as long as the batch is, for every block. */
Test(archs, sessions_may_be_large_and_models_deep, TEST_ONE_THREAD)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    const struct sl_session_options options = {.max_sequences = 1, .max_batch_tokens = 65536};
    for (struct fixture_case c = {0}; fixture_next(&c); c.variant++) {
        const struct sl_arch *arch = sl_arch_at(c.arch);
        if (!sl_task_generates((enum sl_task)c.task))
            continue;
        struct sl_config config = fixture_case_config(&c);
        config.depth = 128;
        fixture_clamp(arch, &config);
        struct sl_model *m = sl_model_create(engine, arch, &config, &err);
        cr_assert(m, "%s: %s", arch->name, err.text);
        sl_model_pack(m);
        struct sl_session *s = sl_session_create(m, &options, &err);
        cr_expect(s, "%s: %s", arch->name, err.text);
        sl_session_destroy(s);
        sl_model_close(m);
    }
    sl_engine_destroy(engine);
}

/* Skipping is exact: the same bits as computing everything and multiplying by zero. */
static void sparse_and_dense(struct sl_model *m, const char *name)
{
    struct texts x;
    float sparse[FIXTURE_CONTEXT * FIXTURE_VOCAB], dense[FIXTURE_CONTEXT * FIXTURE_VOCAB];
    draw_texts(&x);
    struct sl_session *s = session_of(m, 1);
    for (int i = 0; i < FEW_TEXTS; i++) {
        m->policy.dense = false;
        logits_alone(s, x.tokens[i], FIXTURE_CONTEXT, false, sparse);
        m->policy.dense = true;
        logits_alone(s, x.tokens[i], FIXTURE_CONTEXT, false, dense);
        cr_expect_eq(memcmp(sparse, dense, sizeof sparse), 0, "%s: text %d", name, i);
    }
    m->policy.dense = false;
    sl_session_destroy(s);
}

Test(archs, skipping_is_exact)
{
    each_policy(2, sparse_and_dense);
}

static void past_ignores_future(struct sl_model *m, const char *name)
{
    struct texts x;
    float before[FIXTURE_CONTEXT * FIXTURE_VOCAB], after[FIXTURE_CONTEXT * FIXTURE_VOCAB];
    draw_texts(&x);
    struct sl_session *s = session_of(m, 1);
    for (int k = 1; k < FIXTURE_CONTEXT; k += 5) {
        logits_alone(s, x.tokens[0], FIXTURE_CONTEXT, false, before);
        x.tokens[0][k] = (x.tokens[0][k] + 1) % FIXTURE_VOCAB;
        logits_alone(s, x.tokens[0], FIXTURE_CONTEXT, false, after);
        size_t earlier = (size_t)k * FIXTURE_VOCAB * sizeof *before;
        cr_expect_eq(memcmp(before, after, earlier), 0, "%s: token %d", name, k);
        cr_expect_neq(memcmp(before, after, sizeof before), 0, "%s: token %d", name, k);
    }
    sl_session_destroy(s);
}

Test(archs, the_past_does_not_see_the_future)
{
    each_policy(2, past_ignores_future);
}

static int64_t parameters_with(struct sl_engine *engine, const struct sl_arch *arch, int pairs,
                               int bag)
{
    struct sl_err err;
    struct sl_config c = fixture_config_for(arch, SL_TASK_CLASSIFICATION);
    c.hash_bigrams = pairs;
    c.wide_ngrams = bag;
    struct sl_model *m = sl_model_create(engine, arch, &c, &err);
    cr_assert(m, "%s", err.text);
    int64_t count = sl_model_parameter_count(m);
    sl_model_close(m);
    return count;
}

Test(archs, tables_have_the_requested_number_of_parameters, TEST_ONE_THREAD)
{
    static const char *const names[] = {"encoder", "epsilon"};
    struct sl_engine *engine = fixture_engine(NULL, 1);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct sl_arch *arch = sl_arch_find(names[i]);
        int64_t without = parameters_with(engine, arch, 0, 0);
        int width = fixture_config_for(arch, SL_TASK_CLASSIFICATION).width;
        cr_expect_eq(parameters_with(engine, arch, 30, 0), without + 30 * width, "%s", names[i]);
        cr_expect_eq(parameters_with(engine, arch, 0, 20), without + 20 * (FIXTURE_CLASSES - 1),
                     "%s", names[i]);
    }
    sl_engine_destroy(engine);
}

Test(archs, thresholds_are_options_from_0_to_1)
{
    for (int a = 0; sl_arch_at(a); a++) {
        const struct sl_arch *arch = sl_arch_at(a);
        if (!arch->threshold)
            continue;
        const struct sl_param *row = sl_policy_threshold(arch);
        cr_assert(row, "%s: its policy has no row '%s'", arch->name, arch->threshold);
        cr_expect_eq(row->kind, SL_REAL, "%s: %s is no number", arch->name, row->name);
        cr_expect(row->min >= 0.0 && row->max <= 1.0, "%s: %s: expected 0 to 1", arch->name,
                  row->name);
    }
}

Test(archs, reject_every_hyper_parameter_out_of_bounds)
{
    for (int a = 0; sl_arch_at(a); a++) {
        const struct sl_arch *arch = sl_arch_at(a);
        struct sl_config c;
        struct sl_err err;
        sl_config_set_defaults(arch, &c);
        for (const struct sl_param *h = arch->hypers; h->name; h++) {
            EXPECT_OK(sl_param_set(h, &c, h->min, &err), err);
            EXPECT_OK(sl_param_set(h, &c, h->max, &err), err);
            EXPECT_FAIL(sl_param_set(h, &c, h->min - 1, &err), err, SL_BAD_INPUT, h->name);
            EXPECT_FAIL(sl_param_set(h, &c, h->max + 1, &err), err, SL_BAD_INPUT, h->name);
            EXPECT_FAIL(sl_param_set(h, &c, (double)NAN, &err), err, SL_BAD_INPUT, h->name);
        }
    }
}

Test(archs, reject_heads_that_do_not_divide_the_width)
{
    struct sl_config c;
    struct sl_err err;
    sl_config_set_defaults(sl_arch_find("vanilla"), &c);
    c.vocab = 65;
    c.heads = 7;
    EXPECT_FAIL(sl_config_check(sl_arch_find("vanilla"), &c, &err), err, SL_BAD_INPUT,
                "width must be a multiple of heads");
}

/* A hyper-parameter that has no effect on the task is an error, so that no user expects one. */
Test(archs, reject_hyper_parameters_of_other_tasks)
{
    struct sl_err err;
    struct sl_config c = fixture_config(sl_arch_find("vanilla"));
    c.bidirectional = false;
    EXPECT_FAIL(sl_config_check(sl_arch_find("vanilla"), &c, &err), err, SL_BAD_INPUT,
                "bidirectional has no effect on a model for completion");
    c = fixture_config_for(sl_arch_find("vanilla"), SL_TASK_CLASSIFICATION);
    c.bidirectional = false;
    EXPECT_OK(sl_config_check(sl_arch_find("vanilla"), &c, &err), err);
}

/* -- what the TSA paper says of its routers
 * ------------------------------------------------------- */

Test(archs, tsa_starts_with_gates_at_0_73, TEST_ONE_THREAD)
{
    static const int lengths[] = {24, 24, 24, 24, 0};
    struct sl_engine *engine = fixture_engine(NULL, 1);
    const struct sl_arch *arch = sl_arch_find("tsa");
    struct sl_config config;
    struct sl_err err;
    sl_config_set_defaults(arch, &config);
    config.vocab = FIXTURE_VOCAB;
    struct sl_model *m = sl_model_create(engine, arch, &config, &err);
    cr_assert(m, "%s", err.text);
    EXPECT_OK(sl_model_allocate_gradients(m, &err), err);
    sl_model_initialize(m, 1);
    sl_model_pack(m);
    struct fixture_batch f;
    struct sl_tape t;
    fixture_batch_init(&f, lengths, 3);
    fixture_tape_init(&t, m, &f.batch, true);
    (void)fixture_loss(m, &t, &f.batch);
    /* sigmoid(1) = 0.731: the last bias starts at -1 and little else speaks yet. */
    cr_expect_float_eq(t.stats.gate_sum / t.stats.gate_count, 0.731, 0.03, "%g",
                       t.stats.gate_sum / t.stats.gate_count);
    sl_tape_release(&t);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* The routers' last layer, so that every p becomes sigmoid(bias). */
static void force_routers(struct sl_model *m, float bias)
{
    for (int i = 0; i < m->builder.count; i++) {
        struct sl_parameter *p = &m->builder.parameters[i];
        bool last = strstr(p->name, "router.down") != NULL;
        for (int j = 0; last && j < p->rows * p->cols; j++)
            p->data[j] = strstr(p->name, "bias") ? bias : 0.0f;
    }
    sl_model_pack(m);
}

/* Copies every parameter of one model that another has, too. */
static void copy_parameters(struct sl_model *to, const struct sl_model *from)
{
    for (int i = 0; i < to->builder.count; i++)
        for (int j = 0; j < from->builder.count; j++) {
            struct sl_parameter *p = &to->builder.parameters[i];
            const struct sl_parameter *q = &from->builder.parameters[j];
            if (strcmp(p->name, q->name) == 0)
                memcpy(p->data, q->data, (size_t)p->rows * (size_t)p->cols * sizeof *p->data);
        }
    sl_model_pack(to);
}

Test(archs, tsa_with_open_routers_is_vanilla_and_with_closed_ones_its_first_block)
{
    struct sl_engine *engine = fixture_engine(NULL, 2);
    struct sl_config config = fixture_config(sl_arch_find("tsa"));
    struct sl_model *tsa = fixture_model(engine, sl_arch_find("tsa"), &config);
    struct sl_model *vanilla = fixture_model(engine, sl_arch_find("vanilla"), &config);
    config.depth = 1;
    struct sl_model *first = fixture_model(engine, sl_arch_find("vanilla"), &config);
    copy_parameters(vanilla, tsa);
    copy_parameters(first, tsa);
    float a[FIXTURE_CONTEXT * FIXTURE_VOCAB], b[FIXTURE_CONTEXT * FIXTURE_VOCAB];
    struct texts x;
    draw_texts(&x);
    for (int open = 0; open < 2; open++) {
        struct sl_model *same = open ? vanilla : first;
        force_routers(tsa, open ? -200.0f : 200.0f);
        for (int p = 0; p < FIXTURE_POLICIES; p++) {
            tsa->policy = fixture_policy(tsa->arch, p);
            struct sl_session *s = session_of(tsa, 1), *u = session_of(same, 1);
            logits_alone(s, x.tokens[0], FIXTURE_CONTEXT, false, a);
            logits_alone(u, x.tokens[0], FIXTURE_CONTEXT, false, b);
            cr_expect_eq(memcmp(a, b, sizeof a), 0, "policy %d, open %d", p, open);
            sl_session_destroy(s);
            sl_session_destroy(u);
        }
    }
    sl_model_close(tsa);
    sl_model_close(vanilla);
    sl_model_close(first);
    sl_engine_destroy(engine);
}
