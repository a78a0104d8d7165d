/* test_admission.c - how many may be inside, and when to come again. */
#include "core/metrics.h"
#include "serve/admission.h"
#include "support/test.h"

#include <time.h>

static const char *const labels[] = {"mood", "1"};

static struct sv_metrics *metrics;
static struct sv_admission admission;

static void gate_open(void)
{
    struct sl_err err;
    metrics = sv_metrics_create(&err);
    cr_assert(metrics);
    sv_admission_init(&admission, "mood", 100, 100,
                      sv_metrics_series(metrics, SV_METRIC_QUEUE_FULL, labels));
}

static void gate_close(void)
{
    sv_admission_release(&admission);
    sv_metrics_destroy(metrics);
}

TestSuite(admission, .init = gate_open, .fini = gate_close);

/* 49 texts with two tokens each are admitted and 58 tokens too many are requested: 29 texts must
 * end. */
Test(admission, tokens_in_the_way_are_waited_for_as_texts_are)
{
    static const struct timespec pause = {.tv_nsec = 20000000};
    struct sv_error error;
    cr_assert(sv_admission_admit(&admission, 50, 100, &error));
    (void)nanosleep(&pause, NULL);
    sv_admission_complete(&admission, 2);
    cr_assert_not(sv_admission_admit(&admission, 1, 60, &error));
    cr_assert_geq(error.retry_ms, 29 * 20);
    cr_assert_not(sv_admission_admit(&admission, 52, 2, &error));
    cr_assert_geq(error.retry_ms, 20);
    cr_assert_lt(error.retry_ms, 29 * 20, "one text is in the way");
    sv_admission_withdraw(&admission, 49, 98);
}

/* Those of a batch, of which half are in the way of as many as there is room for. */
Test(admission, texts_that_end_together_took_their_time_together)
{
    static const struct timespec pause = {.tv_nsec = 400000000};
    struct sv_error error;
    cr_assert(sv_admission_admit(&admission, 100, 100, &error));
    (void)nanosleep(&pause, NULL);
    for (int i = 0; i < 50; i++)
        sv_admission_complete(&admission, 1);
    cr_assert_not(sv_admission_admit(&admission, 100, 50, &error));
    cr_assert_geq(error.retry_ms, 399, "50 texts in 400 ms, and 50 are in the way");
    sv_admission_withdraw(&admission, 50, 50);
}

/* For those who have not counted their tokens yet. */
Test(admission, free_capacity_is_reported_without_reserving_it)
{
    struct sv_error error = {0};
    cr_assert(sv_admission_admit(&admission, 60, 60, &error));
    cr_assert(sv_admission_has_capacity(&admission, 40, &error));
    cr_assert_not(sv_admission_has_capacity(&admission, 41, &error));
    cr_assert_eq(error.kind, SV_OVERLOADED);
    cr_assert_gt(error.retry_ms, 0);
    cr_assert_eq(sv_metric_value(admission.rejected), 1);
    cr_assert(sv_admission_has_capacity(&admission, 101, &error),
              "that these never fit is reported at once");
    cr_assert_not(sv_admission_admit(&admission, 101, 101, &error));
    cr_assert_eq(error.kind, SV_INVALID_VALUE);
    cr_assert(sv_admission_admit(&admission, 40, 40, &error));
    sv_admission_withdraw(&admission, 100, 100);
}
