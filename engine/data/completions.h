/* completions.h - the lines of a corpus as examples: a prompt, a separator and a completion, which
 * ends with the line feed. Only the completion is predicted. */
#pragma once

#include "data/token_windows.h"

/* One line: its tokens but the line feed are read; the target of each is the token after it, from
 * the separator on. */
struct sl_completion {
    int64_t first;    /* where the line begins in the corpus */
    int rows, prompt; /* tokens that are read, and how many of them come before the separator */
};

struct sl_completions {
    const int32_t *ids; /* of the corpus, which must outlive them */
    struct sl_completion *list;
    int count, longest; /* how many, and the one with the most rows */
};

/* How lines are read. */
struct sl_completion_form {
    const struct sl_tokenizer *tokens;
    const char *separator; /* one token */
    int context;           /* rows of a line, at most */
};

/* Finds the lines that lie wholly in a part of a corpus; empty lines are left out. Fails if the
 * separator or a line feed is not one token, if a line has no separator or too many rows, or if
 * there are no lines. Errors name the line of the corpus. */
bool sl_completions_open(struct sl_completions *completions, const struct sl_corpus *corpus,
                         struct sl_span part, const struct sl_completion_form *form,
                         struct sl_err *err) SL_MUST_CHECK;
void sl_completions_close(struct sl_completions *completions); /* zeroed ones are fine */

/* Copies the tokens and targets of one; targets of the prompt are -1. Returns its rows. */
int sl_completions_copy(const struct sl_completions *completions, int index, int32_t *tokens,
                        int32_t *targets);
