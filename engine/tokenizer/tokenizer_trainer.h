/* tokenizer_trainer.h - a vocabulary learnt from any number of texts, in bounded memory.
 *
 *     struct sl_tokenizer_trainer *trainer = sl_tokenizer_trainer_create(&options, err);
 *     sl_tokenizer_trainer_add(trainer, text, bytes, err);            for each text
 *     struct sl_tokenizer *tokens = sl_tokenizer_trainer_finish(trainer, err);
 *     sl_tokenizer_trainer_destroy(trainer);
 *
 * Only word counts are kept: at most 2^21 distinct words and 32 MiB of text. Beyond that the rarest
 * words are dropped until half of the memory is free; their counts restart at zero. The same texts
 * in the same order give the same vocabulary. */
#pragma once

#include "tokenizer/string_counter.h"
#include "tokenizer/tokenizer.h"

struct sl_tokenizer_trainer;

struct sl_tokenizer_trainer *sl_tokenizer_trainer_create(const struct sl_tokenizer_options *options,
                                                         struct sl_err *err) SL_MUST_CHECK;
void sl_tokenizer_trainer_destroy(struct sl_tokenizer_trainer *trainer); /* NULL is fine */

/* text: UTF-8. A word does not continue into the next text. */
bool sl_tokenizer_trainer_add(struct sl_tokenizer_trainer *trainer, const char *text, size_t bytes,
                              struct sl_err *err) SL_MUST_CHECK;

struct sl_tokenizer_trainer_stats {
    int64_t words;            /* with repetitions */
    int distinct;             /* words that are kept */
    int64_t pruned_max_count; /* words with at most this many occurrences were dropped; 0: none */
};
struct sl_tokenizer_trainer_stats sl_tokenizer_trainer_stats(
    const struct sl_tokenizer_trainer *trainer);

/* The vocabulary is smaller than requested when the texts have too few words. Fails when they have
 * none, or when the alphabet alone exceeds the size. */
struct sl_tokenizer *sl_tokenizer_trainer_finish(struct sl_tokenizer_trainer *trainer,
                                                 struct sl_err *err) SL_MUST_CHECK;

/* Trains on one text. Kinds that do not split words ignore all options but `kind`. */
struct sl_tokenizer *sl_tokenizer_train(const struct sl_tokenizer_options *options,
                                        const char *text, size_t bytes, struct sl_err *err)
    SL_MUST_CHECK;

/* The same with the default size, lower-cased. */
struct sl_tokenizer *sl_tokenizer_train_default(const char *kind, const char *text, size_t bytes,
                                                struct sl_err *err) SL_MUST_CHECK;
