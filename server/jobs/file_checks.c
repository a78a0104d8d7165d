/* file_checks.c - counts the checks of files. */
#include "jobs/file_checks.h"
#include "core/limits.h"

void sv_file_checks_init(struct sv_file_checks *checks)
{
    pthread_mutex_init(&checks->lock, NULL);
    pthread_cond_init(&checks->ended, NULL);
}

void sv_file_checks_destroy(struct sv_file_checks *checks)
{
    pthread_mutex_lock(&checks->lock);
    while (checks->threads > 0)
        pthread_cond_wait(&checks->ended, &checks->lock);
    pthread_mutex_unlock(&checks->lock);
    pthread_cond_destroy(&checks->ended);
    pthread_mutex_destroy(&checks->lock);
}

bool sv_file_checks_enter(struct sv_file_checks *checks, struct sv_error *error)
{
    pthread_mutex_lock(&checks->lock);
    const bool fits = checks->running < SV_FILE_CHECKS_MAX;
    checks->running += fits;
    checks->threads += fits;
    pthread_mutex_unlock(&checks->lock);
    return fits || sv_fail(error, SV_OVERLOADED, NULL,
                           "%d files are being checked already; retry later.", SV_FILE_CHECKS_MAX);
}

void sv_file_checks_free_place(struct sv_file_checks *checks)
{
    pthread_mutex_lock(&checks->lock);
    checks->running--;
    pthread_mutex_unlock(&checks->lock);
}

void sv_file_checks_leave(struct sv_file_checks *checks)
{
    pthread_mutex_lock(&checks->lock);
    checks->threads--;
    pthread_cond_signal(&checks->ended);
    pthread_mutex_unlock(&checks->lock);
}
