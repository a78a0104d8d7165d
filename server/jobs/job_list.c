/* job_list.c - the list of jobs that have not ended, or whose trainer still runs. */
#include "jobs/job_list.h"

#include <string.h>

struct sv_job *sv_jobs_find(const struct sv_jobs *jobs, const char *id)
{
    struct sv_job *job = jobs->first;
    while (job && strcmp(job->spec.id, id) != 0)
        job = job->next;
    return job;
}

void sv_jobs_insert(struct sv_jobs *jobs, struct sv_job *job)
{
    struct sv_job **place = &jobs->first;
    while (*place && (*place)->spec.created_ns <= job->spec.created_ns)
        place = &(*place)->next;
    pthread_mutex_lock(&jobs->list_lock);
    job->next = *place;
    *place = job;
    pthread_mutex_unlock(&jobs->list_lock);
}

struct sv_job *sv_jobs_take_out(struct sv_jobs *jobs, struct sv_job **place)
{
    struct sv_job *job = *place;
    pthread_mutex_lock(&jobs->list_lock);
    *place = job->next;
    pthread_mutex_unlock(&jobs->list_lock);
    return job;
}

int sv_jobs_count(const struct sv_jobs *jobs, bool running)
{
    int count = 0;
    for (const struct sv_job *job = jobs->first; job; job = job->next)
        if (!sv_job_phase_has_ended(job->phase))
            count += sv_job_phase_is_running(job->phase) == running;
    return count;
}
