/* word_vectors.h - skip-gram with negative sampling (Mikolov et al. 2013): a vector for each token
 * of a vocabulary, learnt in minutes. They are a start for the token embeddings of a model; without
 * one, pretraining spends its first hours on learning as much.
 *
 * The negatives of a position are shared by its context words (Ji et al. 2016). One thread: the
 * same text, options and instruction set give the same bits. */
#pragma once

#include "autograd/tensor.h"
#include "base/param_table.h"
#include "data/documents.h"

struct sl_word_vectors_options {
    int width, epochs, window, negatives, seed;
    float learning_rate; /* falls linearly to a ten-thousandth */
    float subsample;     /* tokens more frequent than this are left out at random; 0: none */
    /* Of document_vectors.h; 0 steps: none. */
    int document_steps, document_batch;
    int skip_gram_width; /* of vectors that are appended to those tuned by documents; 0: none */
    float document_learning_rate, temperature;
};

extern const struct sl_param sl_word_vectors_rows[]; /* of the struct above */

struct sl_word_vectors_progress {
    double fraction; /* that is done */
    double loss;     /* mean over the last part, per pair [nats] */
    double seconds;
};

struct sl_word_vectors_report {
    void (*report)(void *context, const struct sl_word_vectors_progress *progress); /* or NULL */
    bool (*stop)(void *context); /* true: give up; or NULL */
    void *context;
};

/* What reporting needs to know between two reports. */
struct sl_word_vectors_reporter {
    const struct sl_word_vectors_report *report;
    double begun, last;
    double loss;   /* summed since the last report, */
    int64_t count; /* over so many pairs or steps */
};

/* Reports about once a second, and at the end. False when the caller wants to stop. */
bool sl_word_vectors_go_on(struct sl_word_vectors_reporter *reporter, double fraction);

/* table: vocab x width, replaced. Tokens that do not occur keep small random vectors. */
bool sl_word_vectors_train(const struct sl_documents *documents,
                           const struct sl_word_vectors_options *options,
                           const struct sl_kernels *kernels,
                           const struct sl_word_vectors_report *report,
                           const struct sl_parameter *table, struct sl_err *err) SL_MUST_CHECK;

/* Fails with SL_NOT_FINITE when a number is NaN or infinity. rate: the parameter to lower. */
bool sl_word_vectors_check(const float *vectors, size_t floats, const char *rate,
                           struct sl_err *err) SL_MUST_CHECK;

/* Each row of `tuned`, then that of `skip_gram`, scaled so that classifiers of texts on topics lose
 * nothing by it. out: vocab x (tuned_width + skip_gram_width). */
void sl_word_vectors_append(const float *tuned, int tuned_width, const float *skip_gram,
                            int skip_gram_width, int vocab, float *out);

/* word2vec's text format: a line with the number of vectors and their width, then a line for each:
 * the token and its numbers, separated by spaces. check_size: fails if the file would be too large;
 * to call before learning. */
bool sl_word_vectors_check_size(int vocab, int width, struct sl_err *err) SL_MUST_CHECK;
bool sl_word_vectors_write(const char *path, const struct sl_tokenizer *tokens,
                           const float *vectors, int width, struct sl_err *err) SL_MUST_CHECK;

/* Sets the rows of a table of token embeddings for which the file has a vector: without the mean of
 * all vectors, which tells nothing apart, and scaled to a standard deviation of 0.1. Other rows
 * stay. Fails when the width differs or no token is in the file. */
bool sl_word_vectors_apply(const char *path, const struct sl_tokenizer *tokens,
                           const struct sl_parameter *table, struct sl_err *err) SL_MUST_CHECK;
