/* admission.h - limits how many texts and tokens are in progress; a request is admitted whole or
 * rejected whole.
 *
 * Work begins after admission. Before a body is parsed, sv_admission_is_open rejects what would
 * hardly fit; before its texts are tokenized, the request is admitted with as many tokens as its
 * bytes can have, and gives back later what it does not need.
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
    int64_t wanted_items, wanted_tokens; /* of the last request, if it was rejected; else 0 */
    int64_t ended_ns; /* when the last text ended, or the first one was admitted */
    /* Texts that ended and the time they took, decayed by age. Not by count: a batch ends all its
     * texts at once. */
    double ended_items, ended_seconds;
};

void sv_admission_init(struct sv_admission *admission, const char *name, int64_t items_max,
                       int64_t tokens_max, struct sv_series *rejected);
void sv_admission_release(struct sv_admission *admission);

/* Whether a request of unknown size should be read at all. After a rejection it takes as much room
 * as was missing then, so that a flood is not parsed in order to be rejected; but at most an eighth
 * of all room. Reserves nothing. */
bool sv_admission_is_open(struct sv_admission *admission, struct sv_error *error);

/* Reserves room for so many texts, and for at most so many tokens: *reserved is `tokens`, or
 * tokens_max if that is less. */
bool sv_admission_admit(struct sv_admission *admission, int items, int64_t tokens,
                        int64_t *reserved, struct sv_error *error);
/* The request has `tokens`: the rest of what was reserved is free again. False, with everything
 * given back: it has more than the server ever admits. */
bool sv_admission_settle(struct sv_admission *admission, int items, int64_t reserved,
                         int64_t tokens, struct sv_error *error);
void sv_admission_withdraw(struct sv_admission *admission, int items,
                           int64_t tokens); /* admitted, but not submitted */
void sv_admission_complete(struct sv_admission *admission,
                           int64_t tokens); /* one text is finished */
void sv_admission_admitted(struct sv_admission *admission, int64_t *items, int64_t *tokens);
