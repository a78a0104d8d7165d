/* test_operating_point_selection.c - which of the measured thresholds are offered. */
#include "support/test.h"
#include "train/select_operating_points.h"

enum { MEASURED = 7 };

static const struct sl_operating_point measured[MEASURED] = {
    {.threshold = 1, .loss = 2.0},
    {.threshold = 0.9, .loss = 2.01, .layer_ops_skipped = 0.1},
    {.threshold = 0.8, .loss = 2.0, .layer_ops_skipped = 0.2},
    {.threshold = 0.7, .loss = 2.02, .layer_ops_skipped = 0.25},
    {.threshold = 0.6, .loss = 2.05, .layer_ops_skipped = 0.3},
    {.threshold = 0.5, .loss = 2.15, .layer_ops_skipped = 0.4},
    {.threshold = 0.1, .loss = 3, .layer_ops_skipped = 0.8}};

static const double seconds[MEASURED] = {10, 9, 8, 7.9, 6.001, 5, 1};

static void expect(double loss_most, const double *thresholds, int count)
{
    struct sl_operating_point points[SL_OPERATING_POINTS_MAX];
    int offered = sl_operating_points_select(measured, seconds, MEASURED, loss_most, points);
    cr_assert_eq(offered, count, "%d points", offered);
    for (int i = 0; i < count; i++)
        cr_assert_eq(points[i].threshold, thresholds[i], "point %d: %g", i, points[i].threshold);
}

/* 0.9 loses more than 0.8 and takes longer; 0.7 takes hardly less time than 0.8. */
Test(operating_point_selection, points_save_time_and_lose_no_more_than_asked)
{
    expect(2.1, (const double[]){1, 0.8, 0.6}, 3);
    expect(2.2, (const double[]){1, 0.8, 0.6, 0.5}, 4);
    expect(4, (const double[]){1, 0.8, 0.6, 0.5, 0.1}, 5);
    expect(2, (const double[]){1, 0.8}, 2);
}

Test(operating_point_selection, budgets_are_rounded_up_to_hundredths)
{
    struct sl_operating_point points[SL_OPERATING_POINTS_MAX];
    cr_assert_eq(sl_operating_points_select(measured, seconds, MEASURED, 2.1, points), 3);
    cr_assert_float_eq(points[0].budget, 1, 1e-12);
    cr_assert_float_eq(points[1].budget, 0.8, 1e-12);
    cr_assert_float_eq(points[2].budget, 0.61, 1e-12);
}

Test(operating_point_selection, the_first_is_offered_whatever_others_cost)
{
    struct sl_operating_point points[SL_OPERATING_POINTS_MAX];
    static const double slower[MEASURED] = {10, 11, 12, 13, 14, 15, 16};
    cr_assert_eq(sl_operating_points_select(measured, slower, MEASURED, 20, points), 1);
    cr_assert_eq(points[0].budget, 1);
}

Test(operating_point_selection, what_computes_as_much_saves_no_time)
{
    static const struct sl_operating_point same[] = {
        {.threshold = 1, .loss = 2, .layer_ops_skipped = 0.5},
        {.threshold = 0.9, .loss = 2, .layer_ops_skipped = 0.5},
        {.threshold = 0.1, .loss = 2.1, .layer_ops_skipped = 0.9}};
    struct sl_operating_point points[SL_OPERATING_POINTS_MAX];
    cr_assert_eq(sl_operating_points_select(same, (const double[]){10, 8, 4}, 3, 4, points), 2);
    cr_assert_eq(points[1].threshold, 0.1);
}

/* Nothing is lost at first, as of labels that all stay. */
Test(operating_point_selection, a_loss_of_zero_has_a_limit)
{
    static const struct sl_operating_point exact[] = {
        {.threshold = 1, .loss = 0},
        {.threshold = 0.5, .loss = 0.04, .layer_ops_skipped = 0.3},
        {.threshold = 0.1, .loss = 0.4, .layer_ops_skipped = 0.8}};
    struct sl_operating_point points[SL_OPERATING_POINTS_MAX];
    cr_assert_eq(sl_operating_points_select(exact, (const double[]){10, 8, 4}, 3, 0.05, points), 2);
    cr_assert_eq(points[1].threshold, 0.5);
}
