/* learner.h - a vocabulary learnt from any number of texts, in bounded memory.
 *
 *     struct sl_learner *learner = sl_learner_create(&how, err);
 *     sl_learner_add(learner, text, bytes, err);            for each text
 *     struct sl_tokenizer *tokens = sl_learner_finish(learner, err);
 *     sl_learner_destroy(learner);
 *
 * Texts are only counted, word by word: at most 2^21 distinct words and 32 MiB of them. When there
 * are more, those counted least are forgotten until half of the room is free, and go on from zero
 * should they come again. The same texts in the same order give the same vocabulary. */
#pragma once

#include "tokenizer/counts.h"
#include "tokenizer/tokenizer.h"

struct sl_learner;

struct sl_learner *sl_learner_create(const struct sl_learning *how, struct sl_err *err)
    SL_MUST_CHECK;
void sl_learner_destroy(struct sl_learner *learner); /* NULL is fine */

/* UTF-8; a text ends its last word. */
bool sl_learner_add(struct sl_learner *learner, const char *text, size_t bytes, struct sl_err *err)
    SL_MUST_CHECK;

struct sl_learner_facts {
    int64_t words;     /* with repetitions */
    int distinct;      /* that are remembered */
    int64_t forgotten; /* words that were counted so often or less are not; 0: all are */
};
struct sl_learner_facts sl_learner_facts(const struct sl_learner *learner);

/* Fewer pieces than asked for when the texts have no more to give; fails when they have none, or
 * when the alphabet alone takes more. */
struct sl_tokenizer *sl_learner_finish(struct sl_learner *learner, struct sl_err *err)
    SL_MUST_CHECK;

/* All of it, from one text. Kinds that do not split look at the text alone. */
struct sl_tokenizer *sl_learning_run(const struct sl_learning *how, const char *text, size_t bytes,
                                     struct sl_err *err) SL_MUST_CHECK;

/* The same with the standard size, lower-cased. */
struct sl_tokenizer *sl_tokenizer_learn(const char *kind, const char *text, size_t bytes,
                                        struct sl_err *err) SL_MUST_CHECK;
