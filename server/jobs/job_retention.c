/* job_retention.c - forgets the oldest jobs that have ended. */
#include "jobs/job_retention.h"
#include "core/log.h"
#include "jobs/job_list.h"
#include "jobs/job_paths.h"

#include <stdio.h>

struct oldest {
    const struct sv_jobs *jobs;
    char id[SV_JOB_ID_MAX];
};

/* The list has all jobs that have not ended. */
static void take_ended(void *context, const char *id, const char *document)
{
    struct oldest *oldest = context;
    (void)document;
    if (!oldest->id[0] && !sv_jobs_find(oldest->jobs, id))
        (void)snprintf(oldest->id, sizeof oldest->id, "%s", id);
}

void sv_jobs_evict_oldest(struct sv_jobs *jobs)
{
    struct sl_err err;
    while (jobs->ended > SV_JOBS_ENDED_MAX) {
        struct oldest oldest = {.jobs = jobs};
        /* All that have not ended fit, and one that has. */
        struct sv_page page = {
            .limit = 2000, .oldest_first = true, .each = take_ended, .context = &oldest};
        jobs->ended--;
        if (!sv_state_list(jobs->server->state, SV_JOBS, &page, &err) || !oldest.id[0])
            return;
        sv_jobs_remove_directory(jobs, oldest.id);
        if (!sv_state_delete(jobs->server->state, SV_JOBS, oldest.id, &err))
            SV_LOG(SV_LOG_WARN, "a job could not be forgotten", sv_str("job", oldest.id),
                   sv_str("reason", err.text));
    }
}
