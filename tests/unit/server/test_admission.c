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
    int64_t reserved;
    cr_assert(sv_admission_admit(&admission, 50, 100, &reserved, &error));
    (void)nanosleep(&pause, NULL);
    sv_admission_complete(&admission, 2);
    cr_assert_not(sv_admission_admit(&admission, 1, 60, &reserved, &error));
    cr_assert_geq(error.retry_ms, 29 * 20);
    cr_assert_not(sv_admission_admit(&admission, 52, 2, &reserved, &error));
    cr_assert_geq(error.retry_ms, 20);
    cr_assert_lt(error.retry_ms, 29 * 20, "one text is in the way");
    sv_admission_withdraw(&admission, 49, 98);
}

/* Those of a batch, of which half are in the way of as many as there is room for. */
Test(admission, texts_that_end_together_took_their_time_together)
{
    static const struct timespec pause = {.tv_nsec = 400000000};
    struct sv_error error;
    int64_t reserved;
    cr_assert(sv_admission_admit(&admission, 100, 100, &reserved, &error));
    (void)nanosleep(&pause, NULL);
    for (int i = 0; i < 50; i++)
        sv_admission_complete(&admission, 1);
    cr_assert_not(sv_admission_admit(&admission, 100, 50, &reserved, &error));
    cr_assert_geq(error.retry_ms, 399, "50 texts in 400 ms, and 50 are in the way");
    sv_admission_withdraw(&admission, 50, 50);
}

/* A flood is not read to be rejected: once a request did not fit, the next one is read when
 * there is room for one like it. */
Test(admission, after_a_rejection_there_must_be_as_much_room_as_was_missing)
{
    struct sv_error error = {0};
    int64_t reserved;
    cr_assert(sv_admission_is_open(&admission, &error));
    cr_assert(sv_admission_admit(&admission, 93, 93, &reserved, &error));
    cr_assert(sv_admission_is_open(&admission, &error), "a request may have one text");
    cr_assert_not(sv_admission_admit(&admission, 10, 10, &reserved, &error));
    cr_assert_eq(error.kind, SV_OVERLOADED);
    cr_assert_not(sv_admission_is_open(&admission, &error));
    cr_assert_eq(error.kind, SV_OVERLOADED);
    cr_assert_gt(error.retry_ms, 0);
    cr_assert_eq(sv_metric_value(admission.rejected), 2);
    sv_admission_withdraw(&admission, 3, 3);
    cr_assert(sv_admission_is_open(&admission, &error));
    cr_assert_not(sv_admission_admit(&admission, 100, 100, &reserved, &error));
    cr_assert_not(sv_admission_is_open(&admission, &error));
    sv_admission_withdraw(&admission, 2, 2);
    cr_assert(sv_admission_is_open(&admission, &error), "an eighth of all room is enough");
    cr_assert(sv_admission_admit(&admission, 12, 12, &reserved, &error));
    cr_assert_not(sv_admission_is_open(&admission, &error));
    sv_admission_withdraw(&admission, 1, 1);
    cr_assert(sv_admission_is_open(&admission, &error), "the last request was not rejected");
    sv_admission_withdraw(&admission, 99, 99);
}

/* What the bytes could have been is reserved until the tokens are known. */
Test(admission, what_tokenizing_does_not_need_is_given_back)
{
    struct sv_error error = {0};
    int64_t reserved, items, tokens;
    cr_assert(sv_admission_admit(&admission, 2, 90, &reserved, &error));
    cr_assert_eq(reserved, 90);
    cr_assert_not(sv_admission_admit(&admission, 1, 11, &reserved, &error));
    cr_assert(sv_admission_settle(&admission, 2, 90, 20, &error));
    sv_admission_admitted(&admission, &items, &tokens);
    cr_assert(items == 2 && tokens == 20, "%lld, %lld", (long long)items, (long long)tokens);
    sv_admission_withdraw(&admission, 2, 20);
}

/* A text whose bytes could be too many tokens may still be few. */
Test(admission, only_tokens_that_can_never_fit_are_an_error)
{
    struct sv_error error = {0};
    int64_t reserved, items, tokens;
    cr_assert(sv_admission_admit(&admission, 1, 5000, &reserved, &error));
    cr_assert_eq(reserved, 100);
    cr_assert(sv_admission_settle(&admission, 1, reserved, 100, &error));
    sv_admission_withdraw(&admission, 1, 100);
    cr_assert(sv_admission_admit(&admission, 1, 5000, &reserved, &error));
    cr_assert_not(sv_admission_settle(&admission, 1, reserved, 101, &error));
    cr_assert_eq(error.kind, SV_INVALID_VALUE);
    cr_assert_not(sv_admission_admit(&admission, 101, 101, &reserved, &error));
    cr_assert_eq(error.kind, SV_INVALID_VALUE);
    sv_admission_admitted(&admission, &items, &tokens);
    cr_assert(items == 0 && tokens == 0);
}
