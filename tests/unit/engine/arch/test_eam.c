/* test_eam.c - what EAM's specification asks of it beyond what every architecture must keep: sizes,
 * experts chosen or all, dropout, and both of its tasks in all its variants. test_eam_ops.c has its
 * ops. */
#include "arch/eam/eam.h"
#include "base/random.h"
#include "support/gradient_check.h"
#include "support/model_fixture.h"
#include "support/test.h"

#include "sluice/classifier.h"
#include "sluice/session.h"

#include <math.h>

static const struct sl_arch *eam(void)
{
    return sl_arch_find("eam");
}

/* -- variants --------------------------------------------------------------------------------- */

/* One of each choice; what is 0 stays as the fixture has it. */
struct variant {
    const char *name;
    int pattern, heads, pool, used, pre_norm;
};

static const struct variant variants[] = {
    {.name = "log, all experts"},
    {.name = "one head, windows of 3", .heads = 1, .pool = 3},
    {.name = "top 1, pre_norm", .used = 1, .pre_norm = 1},
    {.name = "top 2", .used = 2},
    {.name = "one head, pre_norm", .heads = 1, .pre_norm = 1},
    {.name = "stride", .pattern = SL_PATTERN_STRIDE},
    {.name = "window and stride, top 3", .pattern = SL_PATTERN_WINDOW_STRIDE, .used = 3},
    {.name = "dense", .pattern = SL_PATTERN_DENSE, .pre_norm = 1},
    {.name = "dense, one head", .pattern = SL_PATTERN_DENSE, .heads = 1},
    {.name = "none", .pattern = SL_PATTERN_NONE, .used = 1},
};

enum { VARIANTS = sizeof variants / sizeof variants[0] };

static struct sl_eam_config *own(struct sl_config *c)
{
    return fixture_own(c);
}

static struct sl_config config_of(const struct variant *v, enum sl_task task)
{
    struct sl_err err;
    struct sl_config c = fixture_config_for(eam(), task);
    own(&c)->attention_pattern = v->pattern;
    c.heads = v->heads ? v->heads : c.heads;
    own(&c)->pool_size = task == SL_TASK_CLASSIFICATION ? v->pool : 0;
    own(&c)->experts_per_token = v->used;
    own(&c)->pre_norm = v->pre_norm;
    own(&c)->stride = 5;
    own(&c)->window = 2;
    EXPECT_OK(sl_config_check(eam(), &c, &err), err);
    return c;
}

static struct sl_parameter *parameter(const struct sl_model *m, const char *name)
{
    for (int i = 0; i < m->builder.count; i++)
        if (strcmp(m->builder.parameters[i].name, name) == 0)
            return &m->builder.parameters[i];
    cr_assert(false, "no parameter %s", name);
    return NULL;
}

/* -- sizes and refusals ----------------------------------------------------------------------- */

Test(eam, sizes_follow_from_its_choices)
{
    static const struct {
        struct variant v;
        int64_t count;
    } cases[] = {
        {{.name = "calibrated"}, 1610502},
        {{.name = "one head: no projection", .heads = 1}, 1610502 - 128 * 129},
        {{.name = "no attention", .pattern = SL_PATTERN_NONE}, 1610502 - 66048},
        {{.name = "two norms", .pre_norm = 1}, 1610502 + 4 * 128},
        {{.name = "few at a time", .used = 1}, 1610502},
    };
    struct sl_engine *engine = fixture_engine(NULL, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sl_config c;
        struct sl_err err;
        sl_config_set_defaults(eam(), &c);
        c.task = SL_TASK_CLASSIFICATION;
        c.classes = 2;
        c.vocab = 10000;
        own(&c)->attention_pattern = cases[i].v.pattern;
        c.heads = cases[i].v.heads ? cases[i].v.heads : c.heads;
        own(&c)->pre_norm = cases[i].v.pre_norm;
        own(&c)->experts_per_token = cases[i].v.used;
        EXPECT_OK(sl_config_check(eam(), &c, &err), err);
        struct sl_model *m = sl_model_create(engine, eam(), &c, &err);
        cr_assert(m, "%s", err.text);
        cr_expect_eq(sl_model_parameter_count(m), cases[i].count, "%s: %lld", cases[i].v.name,
                     (long long)sl_model_parameter_count(m));
        sl_model_close(m);
    }
    sl_engine_destroy(engine);
}

Test(eam, rejects_inconsistent_hyper_parameters)
{
    struct sl_err err;
    struct sl_config c = fixture_config_for(eam(), SL_TASK_COMPLETION);
    own(&c)->pool_size = 1;
    EXPECT_OK(sl_config_check(eam(), &c, &err), err);
    own(&c)->pool_size = 2;
    EXPECT_FAIL(sl_config_check(eam(), &c, &err), err, SL_BAD_INPUT, "expected 1 for completion");
    c = fixture_config_for(eam(), SL_TASK_CLASSIFICATION);
    own(&c)->pool_size = 2;
    EXPECT_OK(sl_config_check(eam(), &c, &err), err);
    own(&c)->experts_per_token = own(&c)->experts + 1;
    EXPECT_FAIL(sl_config_check(eam(), &c, &err), err, SL_BAD_INPUT,
                "invalid experts_per_token '5'");
    own(&c)->experts_per_token = 0;
    own(&c)->load_balancing_weight = 0.01f;
    EXPECT_FAIL(sl_config_check(eam(), &c, &err), err, SL_BAD_INPUT, "expected 0, because");
    c = fixture_config_for(eam(), SL_TASK_CLASSIFICATION);
    own(&c)->experts = 64;
    c.width = 8192;
    c.heads = 8;
    c.ffn_width = 32768;
    EXPECT_OK(sl_config_check(eam(), &c, &err), err);
    struct sl_engine *engine = fixture_engine(NULL, 1);
    EXPECT_FAIL(sl_model_create(engine, eam(), &c, &err), err, SL_BAD_INPUT,
                "has 3.46e+10 parameters");
    sl_engine_destroy(engine);
}

/* -- whole models ----------------------------------------------------------------------------- */

static const int texts[] = {24, 1, 7, 17, 2, 24, 3, 0};

/* Loss and gradients of a batch of texts. */
static double train_on(struct sl_model *m, const int *lengths)
{
    struct fixture_batch f;
    struct sl_tape t;
    fixture_batch_init(&f, lengths, 3);
    fixture_set_task(&f, m->config.task);
    fixture_tape_init(&t, m, &f.batch, true);
    sl_model_zero_gradients(m);
    double loss = fixture_loss(m, &t, &f.batch);
    sl_tape_backward(&t);
    sl_model_backprop_buffers(m);
    sl_tape_release(&t);
    return loss;
}

static void expect_gradients(const struct sl_model *have, const struct sl_model *want, double bound)
{
    for (int i = 0; i < want->builder.count; i++) {
        const struct sl_parameter *p = &want->builder.parameters[i];
        const float *g = parameter(have, p->name)->grad;
        double difference = 0.0, size = 0.0;
        for (int j = 0; j < p->rows * p->cols; j++) {
            difference += pow((double)(p->grad[j] - g[j]), 2.0);
            size += pow((double)p->grad[j], 2.0);
        }
        cr_expect_lt(sqrt(difference), bound * sqrt(size) + 1e-9, "%s: %g of %g", p->name,
                     sqrt(difference), sqrt(size));
    }
}

/* Parameters of both are drawn by name, so they are the same. */
Test(eam, all_experts_chosen_equal_all_experts)
{
    struct sl_engine *engine = fixture_engine("ref", 2);
    struct sl_config c = fixture_config_for(eam(), SL_TASK_CLASSIFICATION);
    c.dropout = 0.0f;
    struct sl_model *all = fixture_model(engine, eam(), &c);
    own(&c)->experts_per_token = own(&c)->experts;
    struct sl_model *chosen = fixture_model(engine, eam(), &c);
    double want = train_on(all, texts), have = train_on(chosen, texts);
    cr_expect_float_eq(have, want, 1e-5 * want, "loss %.9g, want %.9g", have, want);
    expect_gradients(chosen, all, 1e-4);
    sl_model_close(all);
    sl_model_close(chosen);
    sl_engine_destroy(engine);
}

/* Every token goes to the expert of the largest bias; the others' weights must not be read. */
Test(eam, unselected_experts_are_not_computed)
{
    struct sl_engine *engine = fixture_engine(NULL, 2);
    struct sl_config c = fixture_config_for(eam(), SL_TASK_CLASSIFICATION);
    own(&c)->experts_per_token = 1;
    own(&c)->load_balancing_weight = 0.5f;
    struct sl_model *m = fixture_model(engine, eam(), &c);
    const struct sl_parameter *gate = parameter(m, "experts.gate.weight");
    memset(gate->data, 0, (size_t)gate->rows * (size_t)gate->cols * sizeof *gate->data);
    const float biases[] = {0.0f, 1.0f, 2.0f, 1.0f};
    memcpy(parameter(m, "experts.gate.bias")->data, biases, sizeof biases);
    const struct sl_parameter *up = parameter(m, "experts.up.weight");
    for (int i = 0; i < up->rows * up->cols; i++)
        if (i / up->cols / c.ffn_width != 2)
            up->data[i] = NAN;
    sl_model_pack(m);
    struct fixture_batch f;
    struct sl_tape t;
    fixture_batch_init(&f, texts, 3);
    fixture_set_task(&f, c.task);
    fixture_tape_init(&t, m, &f.batch, true);
    cr_expect(isfinite(fixture_loss(m, &t, &f.batch)));
    /* K x (all rows go there) x (what the gate gives it). */
    double want = 0.5 * 4 * exp(2.0) / (1.0 + 2.0 * exp(1.0) + exp(2.0));
    cr_expect_float_eq(t.stats.aux_loss, want, 1e-5, "price %g, want %g", t.stats.aux_loss, want);
    sl_tape_release(&t);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* Window 1, one expert, one head: softmax(Q K^T) V, then an MLP, then the mean, by other ops. */
Test(eam, without_its_ideas_it_is_attention_and_an_mlp)
{
    struct sl_engine *engine = fixture_engine("ref", 1);
    struct sl_config c = fixture_config_for(eam(), SL_TASK_CLASSIFICATION);
    c.heads = own(&c)->experts = own(&c)->pool_size = 1;
    own(&c)->attention_pattern = SL_PATTERN_DENSE;
    struct sl_model *m = fixture_model(engine, eam(), &c);
    struct fixture_batch f;
    struct sl_tape t;
    struct sl_err err;
    fixture_batch_init(&f, texts, 3);
    EXPECT_OK(sl_tape_init(&t, engine->kernels, engine->pool, 1 << 22, &err), err);
    t.policy = &m->policy;
    sl_tape_begin(&t, &f.batch, false);
    const struct sl_tensor *have = sl_model_forward(m, &t);
    struct sl_parameter bias = *parameter(m, "experts.down.bias");
    bias.cols = bias.rows;
    bias.rows = 1;
    struct sl_linear_args query = {.weight = parameter(m, "attention.query.weight"),
                                   .bias = parameter(m, "attention.query.bias"),
                                   .operand = true},
                          both = {.weight = parameter(m, "attention.key_value.weight"),
                                  .bias = parameter(m, "attention.key_value.bias"),
                                  .operand = true},
                          up = {.weight = parameter(m, "experts.up.weight"),
                                .bias = parameter(m, "experts.up.bias"),
                                .activation = SL_RELU},
                          down = {.weight = parameter(m, "experts.down.weight"), .bias = &bias},
                          out = {.weight = parameter(m, "output.weight"),
                                 .bias = parameter(m, "output.bias")};
    struct sl_tensor *h = sl_embedding_lookup(
        &t, (struct sl_embedding_lookup_args){.tokens = parameter(m, "token_embedding.weight"),
                                              .positions = &m->builder.buffers[0],
                                              .scale = 1.0f});
    struct sl_tensor *q = sl_linear(&t, h, query), *kv = sl_linear(&t, h, both);
    h = sl_attention(&t, q, kv, (struct sl_attention_args){.heads = 1, .bidirectional = true});
    h = sl_linear(&t, sl_linear(&t, h, up), down);
    const struct sl_tensor *want = sl_linear(&t, sl_segment_mean(&t, h, NULL), out);
    for (int i = 0; i < want->rows * want->cols; i++)
        cr_expect_float_eq(sl_row(have, 0)[i], sl_row(want, 0)[i], 1e-5, "logit %d: %g, want %g", i,
                           (double)sl_row(have, 0)[i], (double)sl_row(want, 0)[i]);
    sl_tape_release(&t);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* No choice of experts is on the edge for these values, or the check would say so. */
Test(eam, gradients_of_every_variant_agree_with_finite_differences)
{
    static const int lengths[] = {24, 1, 7, 0};
    struct sl_engine *engine = fixture_exact_engine(2);
    for (int v = 0; v < VARIANTS; v++) {
        struct sl_config c = config_of(&variants[v], SL_TASK_CLASSIFICATION);
        own(&c)->load_balancing_weight = variants[v].used ? 0.3f : 0.0f;
        struct sl_model *m = fixture_model(engine, eam(), &c);
        gradient_check_model(m, lengths);
        sl_model_close(m);
    }
    sl_engine_destroy(engine);
}

Test(eam, gradients_of_every_variant_do_not_depend_on_threads)
{
    for (int v = 0; v < VARIANTS; v++) {
        struct sl_config c = config_of(&variants[v], SL_TASK_CLASSIFICATION);
        struct sl_engine *engines[] = {fixture_engine(NULL, 1), fixture_engine(NULL, 3)};
        struct sl_model *models[2];
        double losses[2];
        for (int i = 0; i < 2; i++) {
            models[i] = fixture_model(engines[i], eam(), &c);
            losses[i] = train_on(models[i], texts);
        }
        cr_expect_eq(losses[0], losses[1], "%s", variants[v].name);
        for (int i = 0; i < models[0]->builder.count; i++) {
            const struct sl_parameter *p = &models[0]->builder.parameters[i];
            const float *other = models[1]->builder.parameters[i].grad;
            cr_expect_eq(memcmp(p->grad, other, sl_parameter_floats(p) * sizeof *other), 0,
                         "%s: %s", variants[v].name, p->name);
        }
        for (int i = 0; i < 2; i++) {
            sl_model_close(models[i]);
            sl_engine_destroy(engines[i]);
        }
    }
}

/* Makes a tape as a trainer does, by a dry run of texts as long as the context, and trains with it
 * on shorter ones. */
static void train_within(struct sl_model *m, int count, int length)
{
    struct fixture_batch full, f;
    struct sl_tape t;
    int lengths[9] = {0};
    for (int i = 0; i < count; i++)
        lengths[i] = FIXTURE_CONTEXT;
    fixture_batch_init(&full, lengths, 3);
    for (int i = 0; i < count; i++)
        lengths[i] = i % 3 ? FIXTURE_CONTEXT : length;
    fixture_batch_init(&f, lengths, 3);
    fixture_tape_init(&t, m, &full.batch, true);
    sl_model_zero_gradients(m);
    cr_expect(isfinite(fixture_loss(m, &t, &f.batch)));
    sl_tape_backward(&t);
    sl_tape_release(&t);
}

/* Sizes at which, all texts being of even length, tensors of windows are as large as tensors of
 * tokens: they must not count on the same memory, for other texts are not so. */
Test(eam, room_for_full_texts_is_enough_for_others)
{
    struct sl_engine *engine = fixture_engine(NULL, 2);
    for (int used = 0; used <= 3; used++)
        for (int pool = 2; pool <= 4; pool++) {
            struct sl_config c = fixture_config_for(eam(), SL_TASK_CLASSIFICATION);
            own(&c)->pool_size = pool;
            c.ffn_width = c.width / 4 * pool; /* experts * hidden = pool * width */
            own(&c)->experts_per_token = used;
            own(&c)->pre_norm = 1;
            struct sl_model *m = fixture_model(engine, eam(), &c);
            for (int length = 1; length <= FIXTURE_CONTEXT; length++) {
                train_within(m, 1, length);
                train_within(m, 8, length);
            }
            sl_model_close(m);
        }
    sl_engine_destroy(engine);
}

/* One number of a pass with one key or another for dropout. */
static bool depends_on_dropout(struct sl_config c, bool price)
{
    double found[2];
    struct sl_engine *engine = fixture_engine("ref", 1);
    struct sl_model *m = fixture_model(engine, eam(), &c);
    for (int i = 0; i < 2; i++) {
        struct fixture_batch f;
        struct sl_tape t;
        fixture_batch_init(&f, texts, 3);
        fixture_set_task(&f, c.task);
        fixture_tape_init(&t, m, &f.batch, true);
        t.random_key = (uint64_t)i;
        (void)fixture_loss(m, &t, &f.batch);
        found[i] = price ? t.stats.aux_loss : t.stats.loss;
        sl_tape_release(&t);
    }
    sl_model_close(m);
    sl_engine_destroy(engine);
    return fabs(found[0] - found[1]) > 1e-4;
}

/* After attention, which the gates and so the price see, and in the experts, which only the loss
 * does. */
Test(eam, drops_after_attention_and_in_experts)
{
    struct sl_config c = fixture_config_for(eam(), SL_TASK_CLASSIFICATION);
    own(&c)->load_balancing_weight = 1.0f;
    own(&c)->experts_per_token = 1;
    for (int i = 0; i < 8; i++) {
        c.dropout = i % 2 ? 0.4f : 0.0f;
        own(&c)->pre_norm = i / 2 % 2;
        c.heads = i / 4 ? 1 : 3;
        cr_expect_eq(depends_on_dropout(c, true), i % 2, "case %d", i);
    }
    own(&c)->attention_pattern = SL_PATTERN_NONE;
    cr_expect(!depends_on_dropout(c, true));
    cr_expect(depends_on_dropout(c, false));
    own(&c)->load_balancing_weight = 0.0f;
    own(&c)->experts_per_token = 0;
    cr_expect(depends_on_dropout(c, false));
    c.dropout = 0.0f;
    cr_expect(!depends_on_dropout(c, false));
    c.embedding_dropout = 0.4f;
    cr_expect(depends_on_dropout(c, false));
}

/* Texts first.. of a batch as a batch of their own, as a trainer cuts it. */
static struct sl_batch part_of(const struct sl_batch *whole, struct sl_sequence *sequences,
                               int first, int last)
{
    int row = whole->sequences[first].first;
    struct sl_batch part = *whole;
    part.tokens += row;
    part.labels += first;
    part.sequences = sequences;
    part.count = part.rows = 0;
    part.row_base = row;
    for (int s = first; s < last; s++) {
        sequences[part.count] = whole->sequences[s];
        sequences[part.count++].first = part.rows;
        part.rows += whole->sequences[s].rows;
    }
    return part;
}

/* Dropout in the experts is that of the tokens a window stands for, however the batch is cut. */
Test(eam, dropout_of_windows_does_not_depend_on_the_cut)
{
    struct sl_engine *engine = fixture_engine("ref", 2);
    for (int used = 0; used < 3; used++) {
        struct sl_config c = fixture_config_for(eam(), SL_TASK_CLASSIFICATION);
        c.dropout = 0.4f;
        own(&c)->experts_per_token = used;
        struct sl_model *whole = fixture_model(engine, eam(), &c);
        struct sl_model *cut = fixture_model(engine, eam(), &c);
        double want = train_on(whole, texts), have = 0.0;
        struct fixture_batch f;
        struct sl_sequence sequences[8];
        fixture_batch_init(&f, texts, 3);
        fixture_set_task(&f, c.task);
        sl_model_zero_gradients(cut);
        for (int part = 0; part < 2; part++) {
            struct sl_tape t;
            struct sl_batch batch =
                part_of(&f.batch, sequences, part ? 3 : 0, part ? f.batch.count : 3);
            fixture_tape_init(&t, cut, &batch, true);
            have += fixture_loss(cut, &t, &batch);
            sl_tape_backward(&t);
            sl_tape_release(&t);
        }
        sl_model_backprop_buffers(cut);
        cr_expect_float_eq(have, want, 1e-5 * want, "%d used: %g, want %g", used, have, want);
        expect_gradients(cut, whole, 1e-4);
        sl_model_close(whole);
        sl_model_close(cut);
    }
    sl_engine_destroy(engine);
}

/* -- serving ---------------------------------------------------------------------------------- */

enum { ITEMS = 23, ROWS = 251 };

/* Texts that fill a classifier to its last row; tokens must outlive the items. */
static void draw_items(struct sl_classifier_item *items, int32_t *tokens)
{
    int left = ROWS;
    for (int i = 0; i < ROWS; i++)
        tokens[i] = (int32_t)sl_random_below(test_seed(), (uint64_t)i, FIXTURE_VOCAB);
    for (int i = 0; i < ITEMS; i++) {
        int max = left - (ITEMS - 1 - i), min = left - (ITEMS - 1 - i) * FIXTURE_CONTEXT;
        int count = 1 + (int)sl_random_below(test_seed(), 1000 + (uint64_t)i, 21);
        count = count > max ? max : count < min ? min : count;
        items[i] = (struct sl_classifier_item){.tokens = tokens + ROWS - left, .count = count};
        left -= count;
    }
    cr_assert_eq(left, 0);
}

static struct sl_classifier *classifier_of(const struct sl_model *m, int items)
{
    struct sl_err err;
    struct sl_classifier_options options = {.max_batch_size = items, .max_batch_tokens = ROWS};
    struct sl_classifier *c = sl_classifier_create(m, &options, &err);
    cr_assert(c, "%s", err.text);
    return c;
}

/* There is no padding to be invariant to: each text has as many rows as tokens, and its logits are
 * those it has alone. */
Test(eam, classes_do_not_depend_on_company_or_threads)
{
    struct sl_err err;
    int32_t tokens[ROWS];
    struct sl_engine *engines[] = {fixture_engine(NULL, 1), fixture_engine(NULL, 3)};
    for (int v = 0; v < VARIANTS; v++) {
        struct sl_config config = config_of(&variants[v], SL_TASK_CLASSIFICATION);
        struct sl_model *one = fixture_model(engines[0], eam(), &config);
        struct sl_model *other = fixture_model(engines[1], eam(), &config);
        struct sl_classifier *alone = classifier_of(one, 1), *many = classifier_of(other, ITEMS);
        struct sl_classifier_item items[ITEMS], item;
        draw_items(items, tokens);
        EXPECT_OK(sl_classifier_run(many, items, ITEMS, &err), err);
        for (int i = 0; i < ITEMS; i++) {
            item = items[i];
            EXPECT_OK(sl_classifier_run(alone, &item, 1, &err), err);
            cr_expect_eq(memcmp(item.logits, items[i].logits, FIXTURE_CLASSES * sizeof(float)), 0,
                         "%s: text %d of %d tokens (seed %llu)", variants[v].name, i, item.count,
                         (unsigned long long)test_seed());
            cr_expect_eq(items[i].layers_used, items[i].count);
            cr_expect_eq(items[i].layers_full, items[i].count);
        }
        sl_classifier_destroy(alone);
        sl_classifier_destroy(many);
        sl_model_close(one);
        sl_model_close(other);
    }
    sl_engine_destroy(engines[0]);
    sl_engine_destroy(engines[1]);
}

/* As many windows as this many texts and tokens can have: each text ends with a short one. */
Test(eam, the_largest_number_of_windows_fits)
{
    enum { TEXTS = 24 };

    struct sl_err err;
    int32_t tokens[FIXTURE_CONTEXT] = {0};
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_config config = fixture_config_for(eam(), SL_TASK_CLASSIFICATION);
    struct sl_model *m = fixture_model(engine, eam(), &config);
    struct sl_classifier_options options = {.max_batch_size = TEXTS,
                                            .max_batch_tokens = 10 * TEXTS};
    struct sl_classifier *c = sl_classifier_create(m, &options, &err);
    struct sl_classifier_item items[TEXTS];
    cr_assert(c, "%s", err.text);
    for (int i = 0; i < TEXTS; i++)
        items[i] = (struct sl_classifier_item){.tokens = tokens, .count = i % 2 ? 9 : 11};
    EXPECT_OK(sl_classifier_run(c, items, TEXTS, &err), err);
    sl_classifier_destroy(c);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* The logits of a text fed in pieces of a size; each piece's last only, unless all are wanted. */
static void feed(struct sl_session *s, const int32_t *tokens, int size, bool all, float *out)
{
    struct sl_err err;
    sl_session_clear(s, 0);
    for (int i = 0; i < FIXTURE_CONTEXT; i += size) {
        struct sl_chunk f = {.tokens = tokens + i, .count = size, .all_logits = all};
        EXPECT_OK(sl_session_run(s, &f, 1, &err), err);
        int rows = all ? size : 1;
        memcpy(out + (size_t)(i + size - rows) * FIXTURE_VOCAB, f.logits,
               (size_t)(rows * FIXTURE_VOCAB) * sizeof *out);
    }
}

/* The same as a trainer sees it: without a cache. */
static void forward(const struct sl_model *m, const int32_t *tokens, float *out)
{
    struct sl_tape t;
    struct sl_sequence sequence = {.rows = FIXTURE_CONTEXT};
    struct sl_batch batch = {
        .tokens = tokens, .sequences = &sequence, .rows = FIXTURE_CONTEXT, .count = 1};
    fixture_tape_init(&t, m, &batch, false);
    sl_tape_begin(&t, &batch, false);
    const struct sl_tensor *logits = sl_model_forward(m, &t);
    memcpy(out, logits->data, (size_t)logits->rows * FIXTURE_VOCAB * sizeof *out);
    sl_tape_release(&t);
}

Test(eam, every_variant_decodes_the_same_bits_from_its_cache)
{
    enum { LOGITS = FIXTURE_CONTEXT * FIXTURE_VOCAB, LAST = LOGITS - FIXTURE_VOCAB };

    struct sl_engine *engine = fixture_engine(NULL, 2);
    int32_t tokens[FIXTURE_CONTEXT];
    float whole[LOGITS], pieces[LOGITS];
    for (int i = 0; i < FIXTURE_CONTEXT; i++)
        tokens[i] = (int32_t)sl_random_below(test_seed(), (uint64_t)i, FIXTURE_VOCAB);
    for (int v = 0; v < VARIANTS; v++) {
        struct sl_err err;
        struct sl_config c = config_of(&variants[v], SL_TASK_COMPLETION);
        struct sl_model *m = fixture_model(engine, eam(), &c);
        struct sl_session_options options = {.max_sequences = 1,
                                             .max_batch_tokens = FIXTURE_CONTEXT};
        struct sl_session *s = sl_session_create(m, &options, &err);
        cr_assert(s, "%s", err.text);
        forward(m, tokens, whole);
        feed(s, tokens, FIXTURE_CONTEXT, true, pieces);
        cr_expect_eq(memcmp(whole, pieces, sizeof whole), 0, "%s, in a session", variants[v].name);
        for (int size = 1; size <= 8; size *= 2) {
            feed(s, tokens, size, true, pieces);
            cr_expect_eq(memcmp(whole, pieces, sizeof whole), 0, "%s, %d at a time",
                         variants[v].name, size);
        }
        feed(s, tokens, FIXTURE_CONTEXT, false, pieces);
        cr_expect_eq(memcmp(whole + LAST, pieces + LAST, FIXTURE_VOCAB * sizeof *whole), 0,
                     "%s, the last alone", variants[v].name);
        sl_session_destroy(s);
        sl_model_close(m);
    }
    sl_engine_destroy(engine);
}
