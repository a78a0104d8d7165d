/* tokenizer_trainer.h - a vocabulary learnt from any number of texts, in bounded memory.
 *
 *     struct sl_tokenizer_trainer *trainer = sl_tokenizer_trainer_create(&how, err);
 *     sl_tokenizer_trainer_add(trainer, text, bytes, err);            for each text
 *     struct sl_tokenizer *tokens = sl_tokenizer_trainer_finish(trainer, err);
 *     sl_tokenizer_trainer_destroy(trainer);
 *
 * Texts are only counted, word by word: at most 2^21 distinct words and 32 MiB of them. When there
 * are more, those counted least are forgotten until half of the room is free, and go on from zero
 * should they come again. The same texts in the same order give the same vocabulary. */
#pragma once

#include "tokenizer/string_counter.h"
#include "tokenizer/tokenizer.h"

struct sl_tokenizer_trainer;

struct sl_tokenizer_trainer *sl_tokenizer_trainer_create(const struct sl_tokenizer_options *how,
                                                         struct sl_err *err) SL_MUST_CHECK;
void sl_tokenizer_trainer_destroy(struct sl_tokenizer_trainer *trainer); /* NULL is fine */

/* UTF-8; a text ends its last word. */
bool sl_tokenizer_trainer_add(struct sl_tokenizer_trainer *trainer, const char *text, size_t bytes,
                              struct sl_err *err) SL_MUST_CHECK;

struct sl_tokenizer_trainer_stats {
    int64_t words;     /* with repetitions */
    int distinct;      /* that are remembered */
    int64_t forgotten; /* words that were counted so often or less are not; 0: all are */
};
struct sl_tokenizer_trainer_stats sl_tokenizer_trainer_stats(
    const struct sl_tokenizer_trainer *trainer);

/* Fewer pieces than asked for when the texts have no more to give; fails when they have none, or
 * when the alphabet alone takes more. */
struct sl_tokenizer *sl_tokenizer_trainer_finish(struct sl_tokenizer_trainer *trainer,
                                                 struct sl_err *err) SL_MUST_CHECK;

/* All of it, from one text. Kinds that do not split look at the text alone. */
struct sl_tokenizer *sl_tokenizer_train(const struct sl_tokenizer_options *how, const char *text,
                                        size_t bytes, struct sl_err *err) SL_MUST_CHECK;

/* The same with the standard size, lower-cased. */
struct sl_tokenizer *sl_tokenizer_train_default(const char *kind, const char *text, size_t bytes,
                                                struct sl_err *err) SL_MUST_CHECK;
