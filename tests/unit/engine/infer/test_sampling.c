/* test_sampling.c - how the next token is chosen: against frequencies worked out by hand. */
#include "sluice/logits.h"
#include "sluice/sampling.h"
#include "support/test.h"

#include <math.h>

enum { VOCAB = 5, DRAWS = 20000 };

/* Probabilities 1/2, 1/4, 1/8, 1/16, 1/16, not in order. */
static const double shares[VOCAB] = {0.125, 0.5, 0.0625, 0.25, 0.0625};

static int32_t draw(const struct sl_sampling *how, const float *logits, const int32_t *counts,
                    uint64_t key, uint64_t index)
{
    uint64_t scratch[VOCAB * SL_SAMPLE_BYTES / 8 + 1];
    return sl_sample(&(struct sl_sample_params){.logits = logits,
                                                .vocab = VOCAB,
                                                .sampling = how,
                                                .counts = counts,
                                                .key = key,
                                                .index = index,
                                                .scratch = scratch});
}

static void logits_of(float *logits)
{
    for (int i = 0; i < VOCAB; i++)
        logits[i] = (float)log(shares[i]) + 3.0f; /* softmax does not see the 3 */
}

/* Five standard deviations of a frequency. */
static void expect_shares(const struct sl_sampling *how, const int32_t *counts, const double *want)
{
    float logits[VOCAB];
    int seen[VOCAB] = {0};
    logits_of(logits);
    for (int i = 0; i < DRAWS; i++)
        seen[draw(how, logits, counts, test_seed(), (uint64_t)i)]++;
    for (int i = 0; i < VOCAB; i++)
        cr_expect_float_eq((double)seen[i] / DRAWS, want[i],
                           5.0 * sqrt(want[i] * (1.0 - want[i]) / DRAWS) + 1e-9, "token %d", i);
}

Test(sample, samples_follow_the_softmax)
{
    expect_shares(&(struct sl_sampling){.temperature = 1, .top_p = 1}, NULL, shares);
}

/* At temperature 1/2 probabilities are squared, at 2 their roots are taken. */
Test(sample, temperature_is_a_power)
{
    for (int i = 0; i < 2; i++) {
        double want[VOCAB], sum = 0.0, power = i ? 0.5 : 2.0;
        for (int j = 0; j < VOCAB; j++)
            sum += want[j] = pow(shares[j], power);
        for (int j = 0; j < VOCAB; j++)
            want[j] /= sum;
        expect_shares(&(struct sl_sampling){.temperature = (float)(1.0 / power), .top_p = 1}, NULL,
                      want);
    }
}

Test(sample, top_k_keeps_the_most_likely)
{
    const double want[VOCAB] = {0, 2.0 / 3.0, 0, 1.0 / 3.0, 0};
    const double all[VOCAB] = {0, 1, 0, 0, 0};
    expect_shares(&(struct sl_sampling){.temperature = 1, .top_p = 1, .top_k = 2}, NULL, want);
    expect_shares(&(struct sl_sampling){.temperature = 1, .top_p = 1, .top_k = 1}, NULL, all);
    expect_shares(&(struct sl_sampling){.temperature = 1, .top_p = 1, .top_k = VOCAB}, NULL,
                  shares);
}

/* The fewest whose sum reaches p; at least one. Both limits together: first k, then p of those. */
Test(sample, top_p_leaves_the_nucleus)
{
    const double three[VOCAB] = {1.0 / 7.0, 4.0 / 7.0, 0, 2.0 / 7.0, 0};
    const double two[VOCAB] = {0, 2.0 / 3.0, 0, 1.0 / 3.0, 0};
    const double one[VOCAB] = {0, 1, 0, 0, 0};
    expect_shares(&(struct sl_sampling){.temperature = 1, .top_p = 0.8f}, NULL, three);
    expect_shares(&(struct sl_sampling){.temperature = 1, .top_p = 0.7f}, NULL, two);
    expect_shares(&(struct sl_sampling){.temperature = 1, .top_p = 1e-6f}, NULL, one);
    expect_shares(&(struct sl_sampling){.temperature = 1, .top_p = 0.6f, .top_k = 2}, NULL, one);
}

Test(sample, bias_and_penalties_change_logits)
{
    const int32_t counts[VOCAB] = {0, 2, 0, 1, 0};
    const float bias[VOCAB] = {-100, 0, 0, 0, -100};
    const double left[VOCAB] = {0, 0.5 / 0.8125, 0.0625 / 0.8125, 0.25 / 0.8125, 0};
    double want[VOCAB], sum = 0.0;
    for (int i = 0; i < VOCAB; i++)
        sum += want[i] = shares[i] * exp(counts[i] > 0 ? -0.5 - 0.25 * counts[i] : 0.0);
    for (int i = 0; i < VOCAB; i++)
        want[i] /= sum;
    expect_shares(&(struct sl_sampling){.temperature = 1, .top_p = 1, .bias = bias}, NULL, left);
    expect_shares(
        &(struct sl_sampling){
            .temperature = 1, .top_p = 1, .presence_penalty = 0.5f, .frequency_penalty = 0.25f},
        counts, want);
}

Test(sample, greedy_takes_the_first_of_equals)
{
    const float logits[VOCAB] = {1, 7, -2, 7, 7};
    const float bias[VOCAB] = {0, -1, 0, 0, 0};
    cr_expect_eq(draw(&(struct sl_sampling){.temperature = 0}, logits, NULL, 1, 1), 1);
    cr_expect_eq(draw(&(struct sl_sampling){.temperature = 0, .bias = bias}, logits, NULL, 1, 1),
                 3);
}

/* The largest logits there are overflow nothing; a temperature close to 0 is greedy. */
Test(sample, extremes_are_fine)
{
    const float logits[VOCAB] = {-3e38f, 3e38f, 0, 2.9e38f, -INFINITY};
    for (uint64_t i = 0; i < 100; i++) {
        cr_expect_eq(draw(&(struct sl_sampling){.temperature = 2, .top_p = 1}, logits, NULL, 1, i),
                     1);
        cr_expect_eq(
            draw(&(struct sl_sampling){.temperature = 1e-30f, .top_p = 1}, logits, NULL, 1, i), 1);
    }
}

Test(sample, numbers_are_a_function_of_key_and_index)
{
    const struct sl_sampling how = {.temperature = 1, .top_p = 1};
    float logits[VOCAB];
    int other_key = 0, other_index = 0;
    logits_of(logits);
    for (uint64_t i = 0; i < 1000; i++) {
        int32_t id = draw(&how, logits, NULL, 1, i);
        cr_expect_eq(draw(&how, logits, NULL, 1, i), id);
        other_key += draw(&how, logits, NULL, 2, i) != id;
        other_index += draw(&how, logits, NULL, 1, i + 1) != id;
    }
    /* Two draws differ with probability 1 - sum of squares = 0.66. */
    cr_expect(other_key > 560 && other_key < 760, "%d", other_key);
    cr_expect(other_index > 560 && other_index < 760, "%d", other_index);
}

Test(sample, log_softmax_is_a_distribution)
{
    float logits[VOCAB], out[VOCAB];
    logits_of(logits);
    sl_log_softmax(logits, VOCAB, out);
    for (int i = 0; i < VOCAB; i++)
        cr_expect_float_eq((double)out[i], log(shares[i]), 1e-6);
}
