/* token_occurrences.h - where each token of a vocabulary occurs in a text, to draw tokens that
 * stood next to it: samples of the text's own bigrams, without a table of them. */
#pragma once

#include "data/documents.h"

struct sl_occurrences {
    const struct sl_documents *documents;
    int64_t *first; /* per token: its places are places[first] .. places[first of the next] - 1 */
    struct sl_scratch_file places; /* int32_t, in the order of the text */
};

/* documents must outlive it. */
bool sl_occurrences_open(struct sl_occurrences *occurrences, const struct sl_documents *documents,
                         int vocab, struct sl_err *err) SL_MUST_CHECK;
void sl_occurrences_close(struct sl_occurrences *occurrences); /* a zeroed one is fine */

/* A token that stands `distance` places after (before, if negative) a random occurrence of `token`
 * in the text, or any token of the text if there is none. */
int32_t sl_occurrences_draw(const struct sl_occurrences *occurrences, int32_t token, int distance,
                            uint64_t key);
