/* corpus.h - a plain text file as token ids, split by position into train, validation and test.
 *
 * The ids are int32, as models read them, so a window of the corpus is a pointer into it. A corpus
 * is immutable once opened. */
#pragma once

#include "sluice/tokenizer.h"

/* Consecutive tokens of a corpus, which owns them. */
struct sl_span {
    const int32_t *ids;
    int64_t count;
};

enum sl_split { SL_TRAIN, SL_VALIDATION, SL_TEST, SL_SPLITS };

/* Fractions of the text, 0 .. 1: train comes first, then validation; the rest is test. */
struct sl_split_fractions {
    double train, validation;
};

struct sl_corpus {
    int32_t *ids;
    int64_t count;
};

struct sl_tokenizer_options; /* tokenizer/tokenizer_kind.h */

/* Learns a tokenizer from a whole file. */
struct sl_tokenizer *sl_corpus_train_tokenizer(const char *path,
                                               const struct sl_tokenizer_options *how,
                                               struct sl_err *err) SL_MUST_CHECK;

/* Reads a file and encodes it. Unknown characters are an error. */
bool sl_corpus_open(struct sl_corpus *corpus, const char *path, const struct sl_tokenizer *tokens,
                    struct sl_err *err) SL_MUST_CHECK;
void sl_corpus_close(struct sl_corpus *corpus); /* a zeroed corpus is fine */

/* Splits a corpus: the first floor(train N) tokens, the next floor(validation N), the rest.
 * Fails when train is too short for windows of `context` tokens, or validation to predict any. */
bool sl_corpus_split(const struct sl_corpus *corpus, struct sl_split_fractions fractions,
                     int context, struct sl_span splits[SL_SPLITS], struct sl_err *err)
    SL_MUST_CHECK;
