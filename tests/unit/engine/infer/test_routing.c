/* test_routing.c - what is recorded of each token is what runs. */
#include "infer/routing.h"

#include "sluice/classifier.h"
#include "sluice/session.h"
#include "support/model_fixture.h"

#include <string.h>

enum { TOKENS = 20 };

static int32_t tokens[TOKENS];

static struct sl_model *open_case(const struct fixture_case *f)
{
    const struct sl_config config = fixture_case_config(f);
    struct sl_model *m = fixture_model(fixture_engine(NULL, 1), sl_arch_at(f->arch), &config);
    for (int i = 0; i < TOKENS; i++)
        tokens[i] = (int32_t)sl_random_below(7, (uint64_t)i, FIXTURE_VOCAB);
    return m;
}

static void close_model(struct sl_model *m)
{
    struct sl_engine *engine = m->engine;
    sl_model_close(m);
    sl_engine_destroy(engine);
}

static int ran_of(const struct sl_routing *r, int token)
{
    int ran = 0;
    for (int p = 0; p < r->parts; p++)
        ran += r->weights[token * r->parts + p] != 0.0f;
    return ran;
}

/* The blocks or steps of each row in a pass that skips, and the statistics. */
static struct sl_forward_stats serve(const struct sl_model *m, const struct sl_policy *policy,
                                     int32_t used[TOKENS])
{
    struct sl_sequence sequence = {.rows = TOKENS};
    struct sl_batch batch = {
        .tokens = tokens, .sequences = &sequence, .rows = TOKENS, .count = 1, .loss_scale = 1.0f};
    struct sl_tape tape;
    struct sl_err err;
    memset(used, 0, TOKENS * sizeof *used);
    EXPECT_OK(sl_model_open_tape(m, policy, &batch, &tape, &err), err);
    tape.stats.layers_used = used;
    sl_tape_begin(&tape, &batch, false);
    (void)sl_model_forward(m, &tape);
    struct sl_forward_stats stats = tape.stats;
    sl_tape_release(&tape);
    return stats;
}

static void check_experts(const struct sl_routing *r)
{
    for (int i = 0; i < TOKENS; i++) {
        float sum = 0.0f;
        for (int p = 0; p < r->parts; p++)
            sum += r->weights[i * r->parts + p];
        cr_expect(ran_of(r, i) >= 1);
        cr_expect(sum > 0.0f && sum < 1.0f + 1e-5f, "token %d: %f", i, (double)sum);
    }
}

/* A classifier stops with its first token; only the dense pass knows when the others halt. */
static void check_steps(const struct sl_routing *r, struct sl_policy policy)
{
    int32_t used[TOKENS];
    int ran = 0;
    policy.dense = true;
    for (int i = 0; i < TOKENS; i++)
        ran += ran_of(r, i);
    cr_expect_eq((double)ran, serve(r->model, &policy, used).depth_sum);
}

/* A soft gate of exactly 0 does not act, but its block runs. */
static void check_blocks(const struct sl_routing *r, struct sl_policy policy, const char *name)
{
    int32_t used[TOKENS];
    const bool skips = strcmp(r->model->arch->skipping(&policy), "soft") != 0;
    (void)serve(r->model, &policy, used);
    for (int i = 0; i < TOKENS; i++)
        cr_expect(skips ? ran_of(r, i) == used[i] : ran_of(r, i) <= used[i],
                  "%s: token %d: %d, served %d", name, i, ran_of(r, i), used[i]);
}

Test(routing, what_is_recorded_runs)
{
    int kinds = 0;
    for (struct fixture_case c = {0}; fixture_next(&c); c.variant++) {
        const struct sl_arch *arch = sl_arch_at(c.arch);
        if (!arch->routes_to || c.task == SL_TASK_PRETRAINING)
            continue;
        struct sl_model *m = open_case(&c);
        for (int p = 0; p < FIXTURE_POLICIES; p++) {
            const struct sl_policy policy = fixture_policy(arch, p);
            struct sl_routing r;
            struct sl_err err;
            EXPECT_OK(sl_routing_open(&r, m, &policy, &err), err);
            sl_routing_run(&r, tokens, TOKENS);
            bool steps = strcmp(arch->routes_to, "step") == 0;
            if (strcmp(arch->routes_to, "expert") == 0)
                check_experts(&r);
            else if (steps && c.task == SL_TASK_CLASSIFICATION)
                check_steps(&r, policy);
            else
                check_blocks(&r, policy, fixture_case_name(&c));
            sl_routing_close(&r);
            kinds++;
        }
        close_model(m);
    }
    cr_assert_gt(kinds, 20);
}

Test(routing, predictions_have_an_entropy)
{
    for (struct fixture_case c = {0}; fixture_next(&c); c.variant++) {
        if (!sl_arch_at(c.arch)->routes_to || c.task != SL_TASK_COMPLETION)
            continue;
        struct sl_model *m = open_case(&c);
        struct sl_routing r;
        struct sl_err err;
        EXPECT_OK(sl_routing_open(&r, m, NULL, &err), err);
        sl_routing_run(&r, tokens, TOKENS);
        for (int i = 0; i < TOKENS; i++)
            cr_expect(r.entropy[i] > 0.0f && r.entropy[i] < 2.4f); /* log 11 */
        sl_routing_close(&r);
        close_model(m);
    }
}

Test(routing, a_model_without_routes_is_refused_by_name)
{
    const struct sl_arch *arch = sl_arch_find("vanilla");
    const struct sl_config config = fixture_config(arch);
    struct sl_model *m = fixture_model(fixture_engine(NULL, 1), arch, &config);
    struct sl_routing r;
    struct sl_err err;
    EXPECT_FAIL(sl_routing_open(&r, m, NULL, &err), err, SL_BAD_INPUT, "vanilla");
    sl_routing_close(&r);
    close_model(m);
}

/* ---- served ---------------------------------------------------------------------------------- */

/* The gates of the text when it is served as the second of a batch, whose first wants none; NULL:
 * none were given. They last until the classifier or session, which is *owner, is destroyed. */
static const float *classified_gates(const struct sl_model *m, struct sl_classifier **owner)
{
    const struct sl_classifier_options options = {.max_batch_size = 2,
                                                  .max_batch_tokens = 2 * FIXTURE_CONTEXT};
    struct sl_err err;
    const enum sl_output output = sl_model_main_output(&m->info);
    struct sl_classifier_item items[] = {
        {.tokens = tokens, .count = 3, .output = output},
        {.tokens = tokens, .count = TOKENS, .output = output, .wants_gates = true}};
    *owner = sl_classifier_create(m, &options, &err);
    cr_assert(*owner, "%s", err.text);
    EXPECT_OK(sl_classifier_run(*owner, items, 2, &err), err);
    cr_expect_null(items[0].gates);
    int64_t layers = 0;
    for (int i = 0; i < TOKENS; i++)
        layers += items[1].token_layers[i];
    cr_expect_eq(layers, items[1].layers_used);
    return items[1].gates;
}

static const float *completed_gates(const struct sl_model *m, struct sl_session **owner)
{
    const struct sl_session_options options = {.max_sequences = 2, .max_batch_tokens = 2 * TOKENS};
    struct sl_err err;
    struct sl_chunk chunks[] = {
        {.slot = 0, .tokens = tokens, .count = 3},
        {.slot = 1, .tokens = tokens, .count = TOKENS, .all_logits = true, .wants_gates = true}};
    *owner = sl_session_create(m, &options, &err);
    cr_assert(*owner, "%s", err.text);
    EXPECT_OK(sl_session_run(*owner, chunks, 2, &err), err);
    cr_expect_null(chunks[0].gates);
    return chunks[1].gates;
}

Test(routing, what_is_served_has_the_gates_that_are_recorded)
{
    int kinds = 0;
    for (struct fixture_case c = {0}; fixture_next(&c); c.variant++) {
        const struct sl_arch *arch = sl_arch_at(c.arch);
        const bool classifies = c.task == SL_TASK_CLASSIFICATION;
        if (!arch->routes_to || (!classifies && c.task != SL_TASK_COMPLETION) ||
            (classifies && strcmp(arch->routes_to, "step") == 0))
            continue;
        struct sl_model *m = open_case(&c);
        struct sl_classifier *classifier = NULL;
        struct sl_session *session = NULL;
        struct sl_routing r;
        struct sl_err err;
        const float *gates =
            classifies ? classified_gates(m, &classifier) : completed_gates(m, &session);
        EXPECT_OK(sl_routing_open(&r, m, NULL, &err), err);
        sl_routing_run(&r, tokens, TOKENS);
        cr_assert(gates);
        for (int i = 0; i < TOKENS * r.parts; i++)
            cr_assert_float_eq(gates[i], r.weights[i], 1e-6, "%s: token %d, part %d: %g, not %g",
                               fixture_case_name(&c), i / r.parts, i % r.parts, (double)gates[i],
                               (double)r.weights[i]);
        sl_routing_close(&r);
        sl_classifier_destroy(classifier);
        sl_session_destroy(session);
        close_model(m);
        kinds++;
    }
    cr_assert_gt(kinds, 5);
}
