/* test_conclusions.c - what a training without an architecture promises, and when it does not. */
#include "cli/training/automatic_results.h"
#include "support/program.h"
#include "support/test.h"

#include <stdlib.h>

static char text[CONCLUSION_TEXT];

/* Of so many texts, some in a hundred of which are right with each number of training texts. */
static struct sl_learning_curve curve_of(const double accuracy[3], double chance)
{
    struct sl_learning_curve curve = {.gain = accuracy[2] - accuracy[1], .chance = chance};
    for (int i = 0; i < 3; i++)
        sl_learning_curve_add(&curve, 60 << i, accuracy[i]);
    return curve;
}

Test(conclusions, a_curve_that_became_flat_promises_nothing)
{
    const double flat[] = {0.9136, 0.9767, 0.9767}, rising[] = {0.8, 0.9, 0.95};
    struct sl_learning_curve curve = curve_of(flat, 0.007);
    automatic_results_conclude(&curve, text);
    EXPECT_SAID(text, "More texts like these would hardly help: the last doubling of their number "
                      "changed the accuracy by 0.0 points, ");
    curve = curve_of(flat, 0.02);
    automatic_results_conclude(&curve, text);
    EXPECT_SAID(text, "It is unclear whether more texts would help: ");
    curve = curve_of(rising, 0.02);
    automatic_results_conclude(&curve, text);
    EXPECT_SAID(text,
                "More texts would help: the last doubling of their number brought 5.0 points; "
                "one more might reach 97.5 %.");
    automatic_results_conclude(&(struct sl_learning_curve){0}, text);
    EXPECT_SAID(text, "too few texts for a learning curve");
}

Test(conclusions, a_long_search_is_foretold)
{
    static struct sl_linear_training l = {.set = {.count = 4000, .labels.count = 2000}};
    automatic_results_estimate(&l, text);
    EXPECT_SAID(text, "4000 texts times 2000 labels are many: each of about 20 recipes takes min");
    l.search.planned = 20;
    l.search.count = 1;
    l.search.trials[0].seconds = 45.0;
    automatic_results_estimate(&l, text);
    EXPECT_SAID(text, "the first of 20 recipes took 45 s: all may take 15 minutes");
    l.search.count = 2;
    automatic_results_estimate(&l, text);
    cr_expect_str_eq(text, "");
    l = (struct sl_linear_training){.set = {.count = 100000, .labels.count = 4}};
    automatic_results_estimate(&l, text);
    cr_expect_str_eq(text, "");
}

enum { MANY = 1000 };

/* The first `sure` predictions are right and have the score 0.9 or more; of the others, with less,
 * every `wrong`-th is wrong. */
static struct minimum_score find(double precision, int count, int sure, int wrong)
{
    static struct label_prediction list[MANY];
    struct label_predictions p = {.list = list, .count = count, .classes = 2};
    struct minimum_score least;
    struct sl_err err;
    for (int i = 0; i < count; i++) {
        const bool is_wrong = i >= sure && (i - sure) % wrong == 0;
        const float score = (i < sure ? 0.95f : 0.85f) - 1e-5f * (float)i;
        list[i] = (struct label_prediction){.example = i, .label = is_wrong, .score = score};
    }
    EXPECT_OK(minimum_score_find(&least, &p, precision, &err), err);
    return least;
}

Test(conclusions, a_score_needs_texts_that_support_it)
{
    struct minimum_score least = find(0.95, 301, 6, 5);
    cr_expect_eq(least.reached, 0, "%d of %d right", least.right, least.reached);
    cr_expect_eq(least.needed, 73);
    least = find(0.95, 301, 72, 2);
    cr_expect_eq(least.reached, 0, "72 of 72 are one too few");
    cr_expect(least.attainable > 0.949 && least.attainable < 0.95, "%g", least.attainable);
    cr_expect_eq(find(least.attainable, 301, 72, 2).reached, 72);
    least = find(0.95, 301, 73, 2);
    cr_expect_eq(least.reached, 73);
    cr_expect_eq(least.right, 73);
    cr_expect(least.low >= 0.95 && least.high > 0.999, "%g to %g", least.low, least.high);
    cr_expect(least.score > 0.9 && least.score < 0.95, "%g", least.score);
    cr_expect_eq(find(0.999, MANY, MANY - 1, 2).reached, 0, "that takes 3838 texts");
}

Test(conclusions, where_all_are_right_enough_no_score_is_needed)
{
    const struct minimum_score least = find(0.95, 301, 200, 50);
    cr_expect_eq(least.reached, 301);
    cr_expect_float_eq(least.score, 0.0, 1e-9);
}
