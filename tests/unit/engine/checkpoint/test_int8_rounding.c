/* test_int8_rounding.c - matrices that are rounded to 8 bits: what was learnt in steps smaller than
 * a bit stays in the mean, and what 8 bits keep exactly stays as it is. */
#include "checkpoint/checkpoint.h"
#include "support/test.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 64, COLS = 384, COUNT = ROWS * COLS };

static const float step = 0.0137f;

static struct sl_parameter matrix(void)
{
    float *data = malloc(COUNT * sizeof *data);
    cr_assert_not_null(data);
    return (struct sl_parameter){
        .name = "w", .data = data, .rows = ROWS, .cols = COLS, .product = true};
}

/* Whole numbers of steps, and in each row the largest or the smallest. */
static void fill(float *x)
{
    const uint64_t key = sl_random_key(1, "steps");
    for (uint64_t i = 0; i < COUNT; i++)
        x[i] = step * (float)(i % COLS == 7 ? (i % 2 ? 127 : -127)
                                            : (int)sl_random_below(key, i, 201) - 100);
}

Test(int8_rounding, what_8_bits_keep_stays)
{
    struct sl_parameter p = matrix();
    float want[COUNT];
    fill(p.data);
    memcpy(want, p.data, sizeof want);
    sl_checkpoint_round_to_int8(&p, 1);
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(p.data[i], want[i], "%d: %g, not %g", i, (double)p.data[i], (double)want[i]);
    free(p.data);
}

/* Rounded to the nearest, all of it would be lost. */
Test(int8_rounding, small_changes_stay_in_the_mean)
{
    static const float change = 0.2f;
    struct sl_parameter p = matrix();
    float before[COUNT];
    double mean = 0.0;
    fill(p.data);
    memcpy(before, p.data, sizeof before);
    for (int i = 0; i < COUNT; i++)
        p.data[i] += i % COLS == 7 ? 0.0f : change * step;
    sl_checkpoint_round_to_int8(&p, 1);
    for (int i = 0; i < COUNT; i++) {
        const float moved = (p.data[i] - before[i]) / step;
        cr_assert(fabsf(moved) < 1e-3f || fabsf(moved - 1.0f) < 1e-3f, "%d: %g steps", i,
                  (double)moved);
        mean += (double)moved / COUNT;
    }
    cr_assert_float_eq(mean, (double)change, 0.01);
    free(p.data);
}

/* A file has them as vectors, or in bf16. */
Test(int8_rounding, vectors_and_short_rows_stay)
{
    float x[30];
    const struct sl_parameter list[] = {{.name = "bias", .data = x, .rows = 1, .cols = 30},
                                        {.name = "w", .data = x, .rows = 3, .cols = 10}};
    for (int i = 0; i < 30; i++)
        x[i] = sqrtf((float)i);
    sl_checkpoint_round_to_int8(list, 2);
    for (int i = 0; i < 30; i++)
        cr_assert_eq(x[i], sqrtf((float)i));
}
