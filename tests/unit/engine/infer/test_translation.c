/* test_translation.c - beam search: the best token at each step with a beam of 1, else what a slow
 * reference finds, and the same result whatever is translated beside. */
#include "sluice/session.h"
#include "sluice/translation.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "tokenizer/tokenizer_kinds.h"

#include <math.h>
#include <stdlib.h>

enum { TEXTS = 7, BEGIN = 2, END = 3 };

static struct sl_engine *engine;
static struct sl_model *model;
static int32_t sources[TEXTS][FIXTURE_CONTEXT];
static struct sl_translated texts[TEXTS];

static void open_model(const char *architecture)
{
    static const struct sl_piece pieces[FIXTURE_VOCAB] = {
        {"[PAD]", 5}, {"[UNK]", 5}, {"[CLS]", 5}, {"[SEP]", 5}, {"[MASK]", 6}, {"a", 1},
        {"b", 1},     {"c", 1},     {"d", 1},     {"##e", 3},   {"##f", 3}};
    struct sl_err err;
    const struct sl_arch *arch = sl_arch_find(architecture);
    const struct sl_config config = fixture_config_for(arch, SL_TASK_TRANSLATION);
    const uint64_t key = sl_random_key(test_seed(), "sources");
    engine = fixture_exact_engine(2);
    model = fixture_model(engine, arch, &config);
    model->tokenizer = sl_tokenizer_create("wordpiece", true, pieces, FIXTURE_VOCAB, &err);
    cr_assert(model->tokenizer, "%s", err.text);
    cr_assert_eq(sl_tokenizer_special(model->tokenizer, SL_SPECIAL_BEGIN), BEGIN);
    cr_assert_eq(sl_tokenizer_special(model->tokenizer, SL_SPECIAL_END), END);
    for (int i = 0; i < TEXTS; i++) {
        for (int k = 0; k < FIXTURE_CONTEXT; k++)
            sources[i][k] = (int32_t)sl_random_below(key, (uint64_t)(i * 100 + k), FIXTURE_VOCAB);
        texts[i] = (struct sl_translated){.source = sources[i],
                                          .source_count = 1 + (i * 5) % FIXTURE_CONTEXT};
    }
}

static void close_model(void)
{
    sl_model_close(model);
    sl_engine_destroy(engine);
    model = NULL;
    engine = NULL;
}

TestSuite(translation, .fini = close_model);

static struct sl_translator *translator_of(struct sl_translator_options options)
{
    struct sl_err err;
    struct sl_translator *t = sl_translator_create(model, &options, &err);
    cr_assert(t, "%s", err.text);
    return t;
}

static struct sl_session *session_of(void)
{
    struct sl_err err;
    const struct sl_session_options options = {.max_sequences = 1,
                                               .max_batch_tokens = 2 * FIXTURE_CONTEXT};
    struct sl_session *s = sl_session_create(model, &options, &err);
    cr_assert(s, "%s", err.text);
    return s;
}

/* log P of each token after `count` tokens of a translation, computed as a whole. */
static void log_probabilities(struct sl_session *s, const struct sl_translated *text,
                              const int32_t *tokens, int count, float *out)
{
    struct sl_err err;
    struct sl_chunk chunk = {.tokens = tokens,
                             .count = count,
                             .source = text->source,
                             .source_count = text->source_count};
    sl_session_clear(s, 0);
    EXPECT_OK(sl_session_run(s, &chunk, 1, &err), err);
    sl_log_softmax(chunk.logits, FIXTURE_VOCAB, out);
}

static void expect_greedy(struct sl_session *s, const struct sl_translated *text)
{
    int32_t tokens[FIXTURE_CONTEXT] = {BEGIN};
    float logs[FIXTURE_VOCAB];
    double sum = 0.0;
    for (int i = 0; i < text->count; i++) {
        log_probabilities(s, text, tokens, i + 1, logs);
        cr_assert_eq(sl_argmax(logs, FIXTURE_VOCAB), text->ids[i], "token %d", i);
        sum += (double)logs[text->ids[i]];
        tokens[i + 1] = text->ids[i];
    }
    if (text->count + 1 < FIXTURE_CONTEXT) {
        log_probabilities(s, text, tokens, text->count + 1, logs);
        cr_expect_eq(sl_argmax(logs, FIXTURE_VOCAB), END);
        sum += (double)logs[END];
    }
    cr_expect_float_eq(text->log_probability, sum, 1e-3);
}

Test(translation, a_beam_of_one_takes_the_best_token)
{
    static const char *const names[] = {"vanilla", "transevolve"};
    struct sl_err err;
    for (size_t n = 0; n < COUNT(names); n++) {
        open_model(names[n]);
        struct sl_translator *t =
            translator_of((struct sl_translator_options){.texts = TEXTS, .beam = 1});
        EXPECT_OK(sl_translator_run(t, texts, TEXTS, &err), err);
        struct sl_session *s = session_of();
        for (int i = 0; i < TEXTS; i++)
            expect_greedy(s, &texts[i]);
        sl_session_destroy(s);
        sl_translator_destroy(t);
        close_model();
    }
}

/* ---- a slow reference: whole texts instead of caches ----------------------------------------- */

struct beginning {
    int32_t ids[FIXTURE_CONTEXT];
    int count; /* with the first */
    double log_probability;
};

static int compare(const void *a, const void *b)
{
    const struct beginning *x = a, *y = b;
    return (x->log_probability < y->log_probability) - (x->log_probability > y->log_probability);
}

static double score_of(const struct beginning *b, double penalty)
{
    return b->log_probability / pow((5.0 + (b->count - 1)) / 6.0, penalty);
}

/* All that one token more makes of some beginnings, the most probable first. */
static int continue_all(struct sl_session *s, const struct sl_translated *text,
                        const struct beginning *alive, int count, struct beginning *out)
{
    int made = 0;
    for (int b = 0; b < count; b++) {
        float logs[FIXTURE_VOCAB];
        log_probabilities(s, text, alive[b].ids, alive[b].count, logs);
        for (int32_t id = 0; id < FIXTURE_VOCAB; id++) {
            out[made] = alive[b];
            out[made].ids[out[made].count++] = id;
            out[made++].log_probability += (double)logs[id];
        }
    }
    qsort(out, (size_t)made, sizeof *out, compare);
    return made;
}

static struct beginning best_of(struct sl_session *s, const struct sl_translated *text, int beam,
                                int most, double penalty)
{
    struct beginning alive[SL_BEAM_MAX] = {{.ids = {BEGIN}, .count = 1}}, best = {.count = 0};
    static struct beginning all[SL_BEAM_MAX * FIXTURE_VOCAB];
    for (int count = 1; count > 0 && alive[0].count <= most;) {
        const int made = continue_all(s, text, alive, count, all);
        count = 0;
        for (int i = 0; i < made && i < 2 * beam && count < beam; i++) {
            if (all[i].ids[all[i].count - 1] != END)
                alive[count++] = all[i];
            else if (best.count == 0 || score_of(&all[i], penalty) > score_of(&best, penalty))
                best = all[i];
        }
        /* What is left can only become worse. */
        struct beginning longest = alive[0];
        longest.count = most + 1;
        if (best.count > 0 && score_of(&best, penalty) >= score_of(&longest, penalty))
            count = 0;
    }
    return best.count > 0 ? best : alive[0];
}

static void expect_best(struct sl_session *s, const struct sl_translated *text, int beam,
                        double penalty)
{
    const int room = FIXTURE_CONTEXT - 1, most = text->source_count + 3;
    const struct beginning best = best_of(s, text, beam, most < room ? most : room, penalty);
    const int tokens = best.count - 1 - (best.ids[best.count - 1] == END);
    cr_assert_eq(text->count, tokens, "beam %d, penalty %g", beam, penalty);
    cr_expect_arr_eq(text->ids, best.ids + 1, (size_t)tokens * sizeof *text->ids);
    cr_expect_float_eq(text->log_probability, best.log_probability, 1e-3);
}

Test(translation, is_that_of_a_slow_reference)
{
    struct sl_err err;
    open_model("vanilla");
    struct sl_session *s = session_of();
    for (int beam = 2; beam <= (TEST_SANITIZED ? 2 : 6); beam += 2)
        for (int penalty = 0; penalty <= 2; penalty++) {
            struct sl_translator *t = translator_of((struct sl_translator_options){
                .texts = TEXTS, .beam = beam, .extra_tokens = 3, .length_penalty = (float)penalty});
            EXPECT_OK(sl_translator_run(t, texts, TEXTS, &err), err);
            for (int i = 0; i < TEXTS; i++)
                expect_best(s, &texts[i], beam, penalty);
            sl_translator_destroy(t);
        }
    sl_session_destroy(s);
}

Test(translation, a_text_does_not_know_its_company)
{
    struct sl_err err;
    open_model("transevolve");
    struct sl_translator *many = translator_of((struct sl_translator_options){
                             .texts = TEXTS, .length_penalty = 0.6f}),
                         *one = translator_of(
                             (struct sl_translator_options){.texts = 1, .length_penalty = 0.6f});
    EXPECT_OK(sl_translator_run(many, texts, TEXTS, &err), err);
    for (int i = 0; i < TEXTS; i++) {
        struct sl_translated alone = texts[i];
        EXPECT_OK(sl_translator_run(one, &alone, 1, &err), err);
        cr_assert_eq(alone.count, texts[i].count, "text %d", i);
        cr_expect_arr_eq(alone.ids, texts[i].ids, (size_t)alone.count * sizeof *alone.ids);
        cr_expect_float_eq(alone.log_probability, texts[i].log_probability, 0.0);
    }
    sl_translator_destroy(many);
    sl_translator_destroy(one);
}

static void expect_refused(struct sl_translator_options options, const char *why)
{
    struct sl_err err;
    EXPECT_FAIL(sl_translator_create(model, &options, &err), err, SL_BAD_INPUT, why);
}

Test(translation, bad_options_and_texts_are_refused)
{
    struct sl_err err;
    open_model("vanilla");
    expect_refused((struct sl_translator_options){.beam = SL_BEAM_MAX + 1}, "invalid beam 17");
    expect_refused((struct sl_translator_options){.texts = -1}, "-1 texts at a time");
    expect_refused((struct sl_translator_options){.length_penalty = NAN}, "invalid length_penalty");
    struct sl_translator *t = translator_of((struct sl_translator_options){.texts = 2});
    EXPECT_FAIL(sl_translator_run(t, texts, 3, &err), err, SL_BAD_INPUT,
                "3 texts: expected 1 to 2");
    texts[0].source_count = FIXTURE_CONTEXT + 1;
    EXPECT_FAIL(sl_translator_run(t, texts, 1, &err), err, SL_BAD_INPUT,
                "to translate of 25 tokens");
    sl_translator_destroy(t);
}

Test(translation, a_session_wants_a_source_once)
{
    struct sl_err err;
    open_model("vanilla");
    struct sl_session *s = session_of();
    struct sl_chunk chunk = {.tokens = sources[0], .count = 1};
    EXPECT_FAIL(sl_session_run(s, &chunk, 1, &err), err, SL_BAD_INPUT,
                "0 tokens: expected 1 to 24");
    chunk.source = sources[1];
    chunk.source_count = 3;
    EXPECT_OK(sl_session_run(s, &chunk, 1, &err), err);
    EXPECT_FAIL(sl_session_run(s, &chunk, 1, &err), err, SL_BAD_INPUT, "3 tokens: expected 0 to 0");
    sl_session_destroy(s);
}
