/* test_generation.c - one text being completed, against a plain loop that runs the model on the
 * whole window for every token: however feeds are cut, whatever is recorded, wherever it stops. */
#include "base/random.h"
#include "sluice/generation.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_trainer.h"

#include <math.h>

enum { LONG = 3 * FIXTURE_CONTEXT, PROMPT = 7, HOT = 4 /* texts with all characters in them */ };

static struct sl_engine *engine;
static struct sl_model *m;

/* Eleven characters: an end of line, one of three bytes, and letters. */
static void setup(void)
{
    static const char text[] = "\nabcdefghi\xE2\x82\xAC";
    struct sl_err err;
    engine = fixture_engine(NULL, 1);
    struct sl_config config = fixture_config(sl_arch_at(0));
    m = fixture_model(engine, sl_arch_at(0), &config);
    m->tokenizer = sl_tokenizer_train_default("characters", text, sizeof text - 1, &err);
    cr_assert(m->tokenizer, "%s", err.text);
}

static void teardown(void)
{
    sl_model_close(m);
    sl_engine_destroy(engine);
}

TestSuite(generate, .init = setup, .fini = teardown);

static const int32_t prompt[PROMPT] = {3, 1, 4, 1, 5, 9, 2};

static struct sl_generation_options asked(int max_tokens)
{
    return (struct sl_generation_options){.prompt = prompt,
                                          .prompt_count = PROMPT,
                                          .max_tokens = max_tokens,
                                          .sampling = {.temperature = HOT, .top_p = 1},
                                          .seed = 5};
}

/* Runs it to its end, at most `rows` tokens at a time. */
static struct sl_generation *run(const struct sl_generation_options *options, int rows)
{
    struct sl_err err;
    struct sl_session_options how = {.max_sequences = 1, .max_batch_tokens = FIXTURE_CONTEXT};
    struct sl_session *session = sl_session_create(m, &how, &err);
    cr_assert(session, "%s", err.text);
    struct sl_generation *g = sl_generation_create(m, options, &err);
    cr_assert(g, "%s", err.text);
    while (!sl_generation_finished(g)) {
        struct sl_chunk feed = {.slot = 0};
        sl_generation_next_chunk(g, session, rows, &feed);
        cr_assert(feed.count >= 1 && feed.count <= rows);
        EXPECT_OK(sl_session_run(session, &feed, 1, &err), err);
        sl_generation_accept(g, &feed);
    }
    sl_session_destroy(session);
    return g;
}

static void expect_text(const struct sl_generation *g, const char *want)
{
    size_t bytes;
    const char *text = sl_generation_text(g, &bytes);
    cr_expect_eq(bytes, strlen(want), "have <%.*s> want <%s>", (int)bytes, text, want);
    cr_expect_arr_eq(text, want, strlen(want), "%.*s", (int)bytes, text);
}

/* The same without a cache: every token from a forward pass over its window. logits: of the last.
 * Returns how many tokens the window has. */
static int plain_logits(const int32_t *history, int count, float logits[FIXTURE_VOCAB])
{
    struct sl_err err;
    struct sl_session_options how = {.max_sequences = 1, .max_batch_tokens = FIXTURE_CONTEXT};
    struct sl_session *session = sl_session_create(m, &how, &err);
    cr_assert(session, "%s", err.text);
    int kept = count;
    while (kept > FIXTURE_CONTEXT)
        kept -=
            FIXTURE_CONTEXT - FIXTURE_CONTEXT / 2 + 1; /* the last was sampled when it was full */
    struct sl_chunk feed = {.slot = 0, .tokens = history + count - kept, .count = kept};
    EXPECT_OK(sl_session_run(session, &feed, 1, &err), err);
    memcpy(logits, feed.logits, FIXTURE_VOCAB * sizeof *logits);
    sl_session_destroy(session);
    return kept;
}

static void plain_text(int max_tokens, char *text)
{
    const struct sl_sampling how = {.temperature = HOT, .top_p = 1};
    uint64_t scratch[FIXTURE_VOCAB * SL_SAMPLE_BYTES / 8 + 1];
    int32_t history[PROMPT + LONG];
    memcpy(history, prompt, sizeof prompt);
    size_t used = 0;
    for (int i = 0; i < max_tokens; i++) {
        float logits[FIXTURE_VOCAB];
        size_t bytes;
        (void)plain_logits(history, PROMPT + i, logits);
        struct sl_sample_params choice = {.logits = logits,
                                          .vocab = FIXTURE_VOCAB,
                                          .sampling = &how,
                                          .key = sl_random_bits(sl_random_key(5, "sample"), 0),
                                          .index = (uint64_t)i,
                                          .scratch = scratch};
        history[PROMPT + i] = sl_sample(&choice);
        const char *piece = sl_tokenizer_piece(m->tokenizer, history[PROMPT + i], &bytes);
        memcpy(text + used, piece, bytes);
        used += bytes;
    }
    text[used] = '\0';
}

/* Over a window that slides three times. */
Test(generate, is_the_plain_loop_however_it_is_fed)
{
    static const int rows[] = {1, 2, 5, FIXTURE_CONTEXT};
    char want[3 * LONG + 1];
    plain_text(LONG, want);
    for (int i = 0; i < 4; i++) {
        struct sl_generation_options options = asked(LONG);
        struct sl_generation *g = run(&options, rows[i]);
        expect_text(g, want);
        struct sl_generation_usage usage = sl_generation_usage(g);
        cr_expect_eq(usage.prompt_tokens, PROMPT);
        cr_expect_eq(usage.completion_tokens, LONG);
        cr_expect_eq(sl_generation_finish(g), SL_FINISH_LENGTH);
        sl_generation_destroy(g);
    }
}

Test(generate, choices_of_a_request_differ)
{
    char first[3 * LONG + 1];
    size_t bytes;
    struct sl_generation_options options = asked(LONG);
    plain_text(LONG, first);
    options.choice = 1;
    struct sl_generation *g = run(&options, FIXTURE_CONTEXT);
    const char *text = sl_generation_text(g, &bytes);
    cr_expect(bytes != strlen(first) || memcmp(text, first, bytes) != 0);
    sl_generation_destroy(g);
}

/* For every piece of the text as a stop string: the answer ends where it first appears, though the
 * piece is of several tokens. */
Test(generate, ends_before_the_first_stop_string)
{
    char all[3 * LONG + 1], want[3 * LONG + 1];
    plain_text(LONG, all);
    for (size_t bytes = 1; bytes <= 4; bytes++)
        for (size_t from = 0; from + bytes < strlen(all); from += 5) {
            char stop[5] = "";
            memcpy(stop, all + from, bytes);
            struct sl_generation_options options = asked(LONG);
            options.stops[0] = "never seen";
            options.stops[1] = stop;
            options.stop_count = 2;
            struct sl_generation *g = run(&options, FIXTURE_CONTEXT);
            memcpy(want, all, sizeof want);
            *strstr(want, stop) = '\0';
            expect_text(g, want);
            cr_expect_eq(sl_generation_finish(g), SL_FINISH_STOP);
            sl_generation_destroy(g);
        }
}

/* What has been certain stays; what may become a stop string, or is part of a character, is not. */
Test(generate, certain_text_only_grows)
{
    char all[3 * LONG + 1], stop[8] = "";
    struct sl_err err;
    plain_text(LONG, all);
    memcpy(stop, all + 40, 4);
    struct sl_generation_options options = asked(LONG);
    options.stops[0] = stop;
    options.stop_count = 1;
    struct sl_session_options how = {.max_sequences = 1, .max_batch_tokens = FIXTURE_CONTEXT};
    struct sl_session *session = sl_session_create(m, &how, &err);
    struct sl_generation *g = sl_generation_create(m, &options, &err);
    cr_assert(session && g);
    size_t before = 0, end = (size_t)(strstr(all, stop) - all);
    while (!sl_generation_finished(g)) {
        struct sl_chunk feed = {.slot = 0};
        sl_generation_next_chunk(g, session, FIXTURE_CONTEXT, &feed);
        EXPECT_OK(sl_session_run(session, &feed, 1, &err), err);
        sl_generation_accept(g, &feed);
        size_t bytes;
        const char *text = sl_generation_text(g, &bytes);
        cr_expect(bytes >= before && bytes <= end);
        cr_expect_arr_eq(text, all, bytes);
        before = bytes;
    }
    cr_expect_eq(before, end);
    sl_generation_destroy(g);
    sl_session_destroy(session);
}

static void expect_record(const struct sl_token_logprob *r, const float *logits)
{
    float lp[FIXTURE_VOCAB];
    sl_log_softmax(logits, FIXTURE_VOCAB, lp);
    cr_expect_float_eq(r->log_probability, lp[r->id], 1e-5);
    cr_expect_eq(r->top_count, 3);
    for (int i = 0; i < 3; i++) {
        int better = 0;
        for (int j = 0; j < FIXTURE_VOCAB; j++)
            better += lp[j] > lp[r->top_ids[i]];
        cr_expect_eq(better, i);
        cr_expect_float_eq(r->top_log_probabilities[i], lp[r->top_ids[i]], 1e-5);
    }
}

/* Of the echoed prompt and of the answer: what a forward pass over the text before says. */
Test(generate, log_probabilities_are_the_models)
{
    enum { ANSWER = 9 };

    struct sl_generation_options options = asked(ANSWER);
    options.echo = options.logprobs = true;
    options.top_logprobs = 3;
    struct sl_generation *g = run(&options, 4);
    int count;
    const struct sl_token_logprob *records = sl_generation_logprobs(g, &count);
    cr_assert_eq(count, PROMPT + ANSWER);
    cr_expect(isnan(records[0].log_probability));
    int32_t history[PROMPT + ANSWER];
    for (int i = 0; i < count; i++) {
        float logits[FIXTURE_VOCAB];
        history[i] = records[i].id;
        if (i < PROMPT)
            cr_expect_eq(records[i].id, prompt[i]);
        if (i == 0)
            continue;
        cr_expect_gt(records[i].text_offset, records[i - 1].text_offset);
        (void)plain_logits(history, i, logits);
        expect_record(&records[i], logits);
    }
    sl_generation_destroy(g);
}

Test(generate, zero_tokens_give_an_empty_text)
{
    struct sl_generation_options options = asked(0);
    struct sl_generation *g = run(&options, FIXTURE_CONTEXT);
    expect_text(g, "");
    sl_generation_destroy(g);
    options.echo = true;
    g = run(&options, FIXTURE_CONTEXT);
    cr_expect_eq(sl_generation_usage(g).completion_tokens, 0);
    size_t bytes;
    (void)sl_generation_text(g, &bytes);
    cr_expect_geq(bytes, PROMPT);
    sl_generation_destroy(g);
}

Test(generate, rejects_invalid_options)
{
    static const int32_t unknown[] = {FIXTURE_VOCAB};
    struct sl_err err;
    struct sl_generation_options options = asked(5);
    options.prompt_count = FIXTURE_CONTEXT + 1;
    EXPECT_FAIL(sl_generation_create(m, &options, &err), err, SL_BAD_INPUT,
                "expected at most 24, the context length");
    options = asked(5);
    options.prompt = unknown;
    options.prompt_count = 1;
    EXPECT_FAIL(sl_generation_create(m, &options, &err), err, SL_BAD_INPUT, "expected 0 to 10");
    options = asked(-1);
    EXPECT_FAIL(sl_generation_create(m, &options, &err), err, SL_BAD_INPUT,
                "invalid max_tokens -1");
    options = asked(5);
    options.stops[0] = "";
    options.stop_count = 1;
    EXPECT_FAIL(sl_generation_create(m, &options, &err), err, SL_BAD_INPUT, "expected 1 to");
}
