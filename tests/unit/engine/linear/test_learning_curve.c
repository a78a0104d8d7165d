/* test_learning_curve.c - parts of a data set, and what a curve foretells. */
#include "linear/learning_curve.h"
#include "support/test.h"

enum { TEXTS = 80, LABELS = 4 };

Test(learning_curve, every_part_is_a_smaller_set_of_the_same_kind)
{
    struct sl_example examples[TEXTS] = {0};
    struct sl_dataset set = {.examples = examples, .count = TEXTS, .labels.count = LABELS};
    int count[SL_LEARNING_PARTS][LABELS] = {{0}}, neighbours = 0;
    int8_t part[TEXTS];
    struct sl_err err;
    for (int i = 0; i < TEXTS; i++) {
        const int32_t label = i * LABELS / TEXTS;
        EXPECT_OK(sl_label_lists_add(&set.label_lists, &label, 1, &err), err);
    }
    EXPECT_OK(sl_learning_parts(&set, part, &err), err);
    for (int i = 0; i < TEXTS; i++) {
        cr_assert(part[i] >= 0 && part[i] < SL_LEARNING_PARTS);
        count[part[i]][sl_label_only(&set.label_lists, i)]++;
        neighbours += i > 0 && part[i] == (part[i - 1] + 1) % SL_LEARNING_PARTS;
    }
    for (int i = 0; i < SL_LEARNING_PARTS; i++)
        for (int label = 0; label < LABELS; label++)
            cr_expect(count[i][label] == 2 || count[i][label] == 3, "%d of label %d in part %d",
                      count[i][label], label, i);
    cr_expect_lt(neighbours, TEXTS / 2, "texts are not dealt out in the order of the file");
    sl_label_lists_release(&set.label_lists);
}

Test(learning_curve, the_forecast_goes_on_as_the_curve_did)
{
    struct sl_learning_curve curve = {0};
    sl_learning_curve_add(&curve, 100, 0.2);
    sl_learning_curve_add(&curve, 200, 0.36);
    sl_learning_curve_add(&curve, 400, 0.488);
    cr_expect_float_eq(sl_learning_curve_forecast(&curve), 1.0 - 0.512 * 0.8, 1e-12);
    curve.points[2].accuracy = 0.1; /* fell: no more than now */
    cr_expect_float_eq(sl_learning_curve_forecast(&curve), 0.1, 1e-12);
    curve.points[2].accuracy = 0.36; /* flat, whatever the doubling before brought */
    cr_expect_float_eq(sl_learning_curve_forecast(&curve), 0.36, 1e-12);
}
