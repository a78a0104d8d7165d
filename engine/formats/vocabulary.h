/* vocabulary.h - a tokenizer as a file.
 *
 * Kinds that split into words are stored in vocab.txt, one piece per line, the first with id 0, in
 * BERT's format. Their option `lower` is in config.json. Other kinds are stored in vocab.json; a
 * fixed vocabulary has no pieces:
 *
 *     {"kind": "characters", "pieces": ["\n", " ", "!", ...]}
 *     {"kind": "bytes"}
 *
 * An imported tokenizer is stored as the tokenizer.json that it is from. */
#pragma once

#include "tokenizer/tokenizer.h"

/* "vocab.txt", "vocab.json" or "tokenizer.json": the file of an existing kind. */
const char *sl_vocabulary_file(const char *kind);
/* The one that a directory has. */
const char *sl_vocabulary_file_in(const char *directory);
/* Whether `lower` applies to the kind. */
bool sl_vocabulary_splits(const char *kind);

/* free() it. */
char *sl_vocabulary_print(const struct sl_tokenizer *tokenizer, struct sl_err *err) SL_MUST_CHECK;

/* A vocabulary of that kind. `lower` is for kinds that split. */
struct sl_tokenizer *sl_vocabulary_read(const char *kind, bool lower, const char *text,
                                        size_t bytes, struct sl_err *err) SL_MUST_CHECK;

/* The same from a file of any name. */
struct sl_tokenizer *sl_vocabulary_open(const char *kind, bool lower, const char *path,
                                        struct sl_err *err) SL_MUST_CHECK;
