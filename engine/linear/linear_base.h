/* linear_base.h - a base: what classifiers begin with. Word vectors, how much each token weighs in
 * their means, and what tokens are; a linear model without classes. */
#pragma once

#include "checkpoint/base_model.h"
#include "checkpoint/model_config.h"
#include "data/documents.h"
#include "layers/bag_of_words.h"
#include "model/model.h"

/* The parts of a linear model. */
struct sl_bag_of_words *sl_linear_model_parts(const struct sl_model *model);

/* A base of a vocabulary, whose tokens weigh the same. width: of its word vectors, which are to be
 * set; 0: none. embedding_width: so many of the numbers are the embedding of a text; 0: all. NULL
 * on failure; sl_model_close frees it. */
struct sl_model *sl_linear_base_create(struct sl_engine *engine, const struct sl_tokenizer *tokens,
                                       int width, int embedding_width, struct sl_err *err)
    SL_MUST_CHECK;

/* The base in a directory, or the token embeddings of another model there. *tokens: its tokenizer,
 * which is the caller's to destroy. *origin: the base that has the vectors, if a model may refer to
 * it. NULL on failure. */
struct sl_model *sl_linear_base_open(struct sl_engine *engine, const char *directory,
                                     struct sl_tokenizer **tokens, struct sl_base_reference *origin,
                                     struct sl_err *err) SL_MUST_CHECK;

/* How a model is published. */
struct sl_publication {
    const char *training;               /* a JSON object for config.json */
    struct sl_precision_cost int8_loss; /* of computing in int8 */
};

/* Writes a linear model as a checkpoint, in bf16; or one with blocks, whose matrices have 8 bits
 * and a scale for each row, to which they should be rounded already. base: the model whose word
 * vectors it refers to; NULL: its own. */
bool sl_linear_model_write(const char *directory, const struct sl_model *model,
                           const struct sl_tokenizer *tokens, const struct sl_publication *how,
                           const struct sl_base_reference *base, struct sl_err *err) SL_MUST_CHECK;

/* A base: the word vectors of a file, in word2vec's text format, and the frequencies of tokens in a
 * text. */
struct sl_linear_base_options {
    struct sl_engine *engine;
    const struct sl_tokenizer *tokens;
    const char *vectors; /* the file, */
    int width;           /* and its width */
    int embedding_width; /* as above */
    const struct sl_documents *documents;
};

bool sl_linear_base_write(const char *directory, const struct sl_linear_base_options *options,
                          struct sl_err *err) SL_MUST_CHECK;
