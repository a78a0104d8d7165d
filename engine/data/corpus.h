/* corpus.h - a plain text file as token ids, cut by position into train, validation and test.
 *
 * The ids are held as int32, as models read them, so that a window of the corpus is a pointer into
 * it. A corpus never changes once opened. */
#pragma once

#include "sluice/tokens.h"

/* Consecutive tokens of a corpus, which owns them. */
struct sl_span {
    const int32_t *ids;
    int64_t count;
};

enum sl_split { SL_TRAIN, SL_VALIDATION, SL_TEST, SL_SPLITS };

/* Shares of the text in 0 .. 1: train comes first, then validation; test is what they leave. */
struct sl_split_fractions {
    double train, validation;
};

struct sl_corpus {
    int32_t *ids;
    int64_t count;
};

struct sl_tokenizer_options; /* text/learner.h */

/* Learns a tokenizer from a whole file. */
struct sl_tokenizer *sl_corpus_train_tokenizer(const char *path,
                                               const struct sl_tokenizer_options *how,
                                               struct sl_err *err) SL_MUST_CHECK;

/* Reads a file and encodes it. Unknown characters are an error. */
bool sl_corpus_open(struct sl_corpus *corpus, const char *path, const struct sl_tokenizer *tokens,
                    struct sl_err *err) SL_MUST_CHECK;
void sl_corpus_close(struct sl_corpus *corpus); /* a zeroed corpus is fine */

/* Cuts a corpus: the first floor(train N) tokens, the next floor(validation N), the rest.
 * Fails when train is too short for windows of `context` tokens, or validation to predict any. */
bool sl_corpus_split(const struct sl_corpus *corpus, struct sl_split_fractions shares, int context,
                     struct sl_span parts[SL_SPLITS], struct sl_err *err) SL_MUST_CHECK;
