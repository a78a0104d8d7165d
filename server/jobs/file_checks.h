/* file_checks.h - how many checks of files run: a few at the same time, and none when the daemon
 * has ended. Any thread. */
#pragma once

#include "core/request_error.h"

#include <pthread.h>

struct sv_file_checks {
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t ended;
    int running; /* at most SV_FILE_CHECKS_MAX */
    int threads; /* those, and ones that hand over their result */
};

void sv_file_checks_init(struct sv_file_checks *checks);
/* Waits for the threads, which end when their requests are cancelled. */
void sv_file_checks_destroy(struct sv_file_checks *checks);

/* For a thread. Fails if too many run. */
bool sv_file_checks_enter(struct sv_file_checks *checks, struct sv_error *error) SL_MUST_CHECK;
/* The thread's child has ended: another check may begin. */
void sv_file_checks_free_place(struct sv_file_checks *checks);
/* The thread uses nothing of the daemon any more. */
void sv_file_checks_leave(struct sv_file_checks *checks);
