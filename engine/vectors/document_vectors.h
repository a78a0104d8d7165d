/* document_vectors.h - word vectors that know what a document is about: the mean over one part of a
 * document becomes more similar to the mean over another part of it than to those of other
 * documents. Begins with other word vectors and takes minutes.
 *
 * The same text, options and instruction set give the same bits, with any number of threads. */
#pragma once

#include "model/engine.h"
#include "vectors/word_vectors.h"

/* Smooth inverse frequency, a / (a + p(t)), of each token t: Arora et al. 2017. Document vectors
 * are trained with this a. */
#define SL_SIF_SMOOTHING 1e-3
void sl_document_weights(const int64_t *counts, int64_t total, int vocab, double a, float *weights);

/* table: vocab x width, changed. */
bool sl_document_vectors_train(const struct sl_documents *documents,
                               const struct sl_word_vectors_options *options,
                               const struct sl_engine *engine,
                               const struct sl_word_vectors_report *report,
                               const struct sl_parameter *table, struct sl_err *err) SL_MUST_CHECK;
