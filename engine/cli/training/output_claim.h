/* output_claim.h - the directory that a training publishes to, claimed while it runs: a second
 * training with the same --output fails at its start, not at its end. */
#pragma once

#include "checkpoint/manifest.h"

#include <stddef.h>

struct output_claim {
    const char *directory; /* NULL: nothing is claimed */
    size_t there;          /* length of the part of its path that existed before */
    bool is_held;
    struct sl_manifest_writer writer; /* while it is held */
};

/* Fails with SL_BUSY if another process has claimed the directory or writes it. The string must
 * live as long as the claim. */
bool output_claim_take(struct output_claim *claim, const char *directory, struct sl_err *err)
    SL_MUST_CHECK;
/* Before a model is written, which claims the directory itself; and after it, if more follow. */
void output_claim_pause(struct output_claim *claim);
bool output_claim_go_on(struct output_claim *claim, struct sl_err *err) SL_MUST_CHECK;
/* Removes the claim if SIGINT or SIGTERM ends the process. Of one claim. */
void output_claim_remove_on_signals(const struct output_claim *claim);
/* Also removes directories that the claim made and that are empty. A zeroed one is fine. */
void output_claim_release(struct output_claim *claim);
