/* test_job_phase.c - the states of a job: what clients see, what actions do, when it gives up. */
#include "jobs/job_phase.h"
#include "support/test.h"

TestSuite(job_phase);

Test(job_phase, every_phase_has_a_name_and_a_status)
{
    static const char *const statuses[] = {"validating_files", "queued",    "running",
                                           "succeeded",        "cancelled", "failed"};
    for (int i = 0; i < SV_JOB_PHASES; i++) {
        enum sv_job_phase phase = (enum sv_job_phase)i, found;
        bool known = false;
        cr_assert(sv_job_phase_find(sv_job_phase_name(phase), &found));
        cr_assert_eq(found, phase);
        for (size_t s = 0; s < COUNT(statuses); s++)
            known = known || strcmp(sv_job_status(phase, SV_DESIRED_RUNNING), statuses[s]) == 0;
        cr_assert(known, "%s", sv_job_status(phase, SV_DESIRED_RUNNING));
    }
    cr_assert_str_eq(sv_job_status(SV_JOB_PREPARING, SV_DESIRED_PAUSED), "queued");
    cr_assert_str_eq(sv_job_status(SV_JOB_TRAINING, SV_DESIRED_PAUSED), "queued");
    cr_assert_str_eq(sv_job_status(SV_JOB_PUBLISHING, SV_DESIRED_PAUSED), "running");
    enum sv_job_phase none;
    cr_assert_not(sv_job_phase_find("paused", &none));
}

/* From a state, an action leads to another one, or is a conflict that clients do not retry. */
static const struct {
    enum sv_job_phase phase;
    enum sv_job_desired_state wish;
    enum sv_job_action action;
    bool accepted;
    enum sv_job_phase next;
    enum sv_job_desired_state next_wish;
} actions[] = {
    {SV_JOB_PREPARING, SV_DESIRED_RUNNING, SV_JOB_PAUSE, true, SV_JOB_PREPARING, SV_DESIRED_PAUSED},
    {SV_JOB_WAITING, SV_DESIRED_RUNNING, SV_JOB_PAUSE, true, SV_JOB_WAITING, SV_DESIRED_PAUSED},
    {SV_JOB_TRAINING, SV_DESIRED_RUNNING, SV_JOB_PAUSE, true, SV_JOB_TRAINING, SV_DESIRED_PAUSED},
    {SV_JOB_TRAINING, SV_DESIRED_PAUSED, SV_JOB_PAUSE, false, SV_JOB_TRAINING, SV_DESIRED_PAUSED},
    {SV_JOB_TRAINING, SV_DESIRED_PAUSED, SV_JOB_RESUME, true, SV_JOB_TRAINING, SV_DESIRED_RUNNING},
    {SV_JOB_WAITING, SV_DESIRED_PAUSED, SV_JOB_RESUME, true, SV_JOB_WAITING, SV_DESIRED_RUNNING},
    {SV_JOB_TRAINING, SV_DESIRED_RUNNING, SV_JOB_RESUME, false, SV_JOB_TRAINING,
     SV_DESIRED_RUNNING},
    {SV_JOB_WAITING, SV_DESIRED_PAUSED, SV_JOB_CANCEL, true, SV_JOB_CANCELLED, SV_DESIRED_PAUSED},
    {SV_JOB_TRAINING, SV_DESIRED_RUNNING, SV_JOB_CANCEL, true, SV_JOB_CANCELLED,
     SV_DESIRED_RUNNING},
    {SV_JOB_PUBLISHING, SV_DESIRED_RUNNING, SV_JOB_CANCEL, false, SV_JOB_PUBLISHING,
     SV_DESIRED_RUNNING},
    {SV_JOB_PROMOTING, SV_DESIRED_RUNNING, SV_JOB_PAUSE, false, SV_JOB_PROMOTING,
     SV_DESIRED_RUNNING},
    {SV_JOB_SUCCEEDED, SV_DESIRED_RUNNING, SV_JOB_CANCEL, false, SV_JOB_SUCCEEDED,
     SV_DESIRED_RUNNING},
    {SV_JOB_FAILED, SV_DESIRED_RUNNING, SV_JOB_RESUME, false, SV_JOB_FAILED, SV_DESIRED_RUNNING},
    {SV_JOB_CANCELLED, SV_DESIRED_RUNNING, SV_JOB_CANCEL, false, SV_JOB_CANCELLED,
     SV_DESIRED_RUNNING},
};

Test(job_phase, actions_are_accepted_or_conflicts)
{
    for (size_t i = 0; i < COUNT(actions); i++) {
        struct sv_error error = {0};
        enum sv_job_phase phase = actions[i].phase;
        enum sv_job_desired_state wish = actions[i].wish;
        bool accepted = sv_job_phase_act(&phase, &wish, actions[i].action, &error);
        cr_assert_eq(accepted, actions[i].accepted, "row %zu", i);
        cr_assert_eq(phase, actions[i].next, "row %zu", i);
        cr_assert_eq(wish, actions[i].next_wish, "row %zu", i);
        if (accepted)
            continue;
        cr_assert_eq(error.kind, SV_CONFLICT);
        cr_assert(error.permanent, "clients would try again");
    }
}

Test(job_phase, training_is_taken_up_again_from_the_queue)
{
    cr_assert_eq(sv_job_phase_restart(SV_JOB_TRAINING), SV_JOB_WAITING);
    cr_assert_eq(sv_job_phase_restart(SV_JOB_PUBLISHING), SV_JOB_PUBLISHING);
    cr_assert_eq(sv_job_phase_restart(SV_JOB_SUCCEEDED), SV_JOB_SUCCEEDED);
}

Test(job_phase, three_failures_at_a_step_are_the_end)
{
    struct sv_job_failures failures = {.step = -1};
    int64_t first = sv_job_failed_at(&failures, 0), second = sv_job_failed_at(&failures, 0);
    cr_assert_gt(first, 0);
    cr_assert_gt(second, first, "the second wait is not longer");
    cr_assert_gt(sv_job_failed_at(&failures, 50), 0, "there was progress");
    cr_assert_gt(sv_job_failed_at(&failures, 50), 0);
    cr_assert_lt(sv_job_failed_at(&failures, 50), 0);
}
