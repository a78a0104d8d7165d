/* admission.h - limits how many texts and tokens are in progress; a request is admitted whole or
 * rejected whole.
 *
 * Any thread. It also measures the pace at which texts end, to compute Retry-After. */
#pragma once

#include "core/metrics.h"
#include "core/request_error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sv_admission {
    const char *name; /* of the model, for messages */
    int64_t items_max, tokens_max;
    struct sv_series *rejected; /* counted here */

    pthread_mutex_t lock; /* guards the rest */
    int64_t items, tokens;
    int64_t ended_ns; /* when the last text ended, or the first one was admitted */
    /* Texts that ended and the time they took, decayed by age. Not by count: a batch ends all its
     * texts at once. */
    double ended_items, ended_seconds;
};

void sv_admission_init(struct sv_admission *admission, const char *name, int64_t items_max,
                       int64_t tokens_max, struct sv_series *rejected);
void sv_admission_release(struct sv_admission *admission);

/* Whether so many texts fit now, for callers that do not know their tokens yet. Reserves nothing.
 * Texts that can never fit are rejected by sv_admission_admit. */
bool sv_admission_has_capacity(struct sv_admission *admission, int items, struct sv_error *error);
bool sv_admission_admit(struct sv_admission *admission, int items, int64_t tokens,
                        struct sv_error *error);
void sv_admission_withdraw(struct sv_admission *admission, int items,
                           int64_t tokens); /* admitted, but not submitted */
void sv_admission_complete(struct sv_admission *admission,
                           int64_t tokens); /* one text is finished */
void sv_admission_admitted(struct sv_admission *admission, int64_t *items, int64_t *tokens);
