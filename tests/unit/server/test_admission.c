/* test_admission.c - how many may be inside, and when to come again. */
#include "core/metrics.h"
#include "serve/admission.h"
#include "support/test.h"

#include <time.h>

static const char *const labels[] = {"mood", "1"};

static struct sv_metrics *metrics;
static struct sv_gate gate;

static void gate_open(void)
{
    struct sl_err err;
    metrics = sv_metrics_create(&err);
    cr_assert(metrics);
    sv_gate_init(&gate, "mood", 100, 100, sv_metrics_series(metrics, SV_METRIC_QUEUE_FULL, labels));
}

static void gate_close(void)
{
    sv_gate_release(&gate);
    sv_metrics_destroy(metrics);
}

TestSuite(gate, .init = gate_open, .fini = gate_close);

/* 49 texts with two tokens each are inside and 58 tokens too many are asked for: 29 texts must
 * end. */
Test(gate, tokens_in_the_way_are_waited_for_as_texts_are)
{
    static const struct timespec pause = {.tv_nsec = 20000000};
    struct sv_problem problem;
    cr_assert(sv_gate_enter(&gate, 50, 100, &problem));
    (void)nanosleep(&pause, NULL);
    sv_gate_end(&gate, 2);
    cr_assert_not(sv_gate_enter(&gate, 1, 60, &problem));
    cr_assert_geq(problem.retry_ms, 29 * 20);
    cr_assert_not(sv_gate_enter(&gate, 52, 2, &problem));
    cr_assert_geq(problem.retry_ms, 20);
    cr_assert_lt(problem.retry_ms, 29 * 20, "one text is in the way");
    sv_gate_leave(&gate, 49, 98);
}

/* Those of a batch, of which half are in the way of as many as there is room for. */
Test(gate, texts_that_end_together_took_their_time_together)
{
    static const struct timespec pause = {.tv_nsec = 400000000};
    struct sv_problem problem;
    cr_assert(sv_gate_enter(&gate, 100, 100, &problem));
    (void)nanosleep(&pause, NULL);
    for (int i = 0; i < 50; i++)
        sv_gate_end(&gate, 1);
    cr_assert_not(sv_gate_enter(&gate, 100, 50, &problem));
    cr_assert_geq(problem.retry_ms, 399, "50 texts in 400 ms, and 50 are in the way");
    sv_gate_leave(&gate, 50, 50);
}

/* For those who have not counted their tokens yet. */
Test(gate, room_is_told_without_being_taken)
{
    struct sv_problem problem = {0};
    cr_assert(sv_gate_enter(&gate, 60, 60, &problem));
    cr_assert(sv_gate_has_room(&gate, 40, &problem));
    cr_assert_not(sv_gate_has_room(&gate, 41, &problem));
    cr_assert_eq(problem.kind, SV_OVERLOADED);
    cr_assert_gt(problem.retry_ms, 0);
    cr_assert_eq(sv_metric_value(gate.refused), 1);
    cr_assert(sv_gate_has_room(&gate, 101, &problem), "that these never fit is told at the door");
    cr_assert_not(sv_gate_enter(&gate, 101, 101, &problem));
    cr_assert_eq(problem.kind, SV_BAD_VALUE);
    cr_assert(sv_gate_enter(&gate, 40, 40, &problem));
    sv_gate_leave(&gate, 100, 100);
}
