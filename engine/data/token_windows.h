/* token_windows.h - windows of a corpus: random ones to train on, consecutive ones to evaluate on.
 *
 * A window is two pointers into the corpus; the target of a token is the token after it. */
#pragma once

#include "data/corpus.h"

struct sl_window {
    const int32_t *tokens, *targets;
    int rows;
};

/* The key of all windows of one training step: the same for the same seed, whatever came before. */
uint64_t sl_window_key(uint64_t seed, uint64_t step);

/* Window `index` of the step's batch: `context` tokens from a start uniform in
 * {0 .. count - context - 2} (TSA paper, section 3). */
struct sl_window sl_window_random(struct sl_span part, int context, uint64_t key, uint64_t index);

/* Windows that cover a part without overlap, the last perhaps shorter: every token after the
 * first is predicted exactly once. */
int64_t sl_window_count(struct sl_span part, int context);
struct sl_window sl_window_at(struct sl_span part, int context, int64_t index);
