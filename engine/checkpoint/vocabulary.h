/* vocabulary.h - a tokenizer as a file.
 *
 * Kinds that split into words are kept in vocab.txt, one piece per line, the first with id 0: as
 * BERT's, and readable by what reads those. What else there is to know of them, `lower`, is in
 * config.json. The others are kept in vocab.json, those that are always the same without pieces:
 *
 *     {"kind": "characters", "pieces": ["\n", " ", "!", ...]}
 *     {"kind": "bytes"} */
#pragma once

#include "tokenizer/tokenizer.h"

/* "vocab.txt" or "vocab.json": what a kind, which there is, is kept in. */
const char *sl_vocabulary_file(const char *kind);
/* Which of them a directory has. */
const char *sl_vocabulary_file_in(const char *directory);
/* Whether `lower` means something for it. */
bool sl_vocabulary_splits(const char *kind);

/* free() it. */
char *sl_vocabulary_print(const struct sl_tokenizer *tokens, struct sl_err *err) SL_MUST_CHECK;

/* A vocabulary of that kind. `lower` is for kinds that split. */
struct sl_tokenizer *sl_vocabulary_read(const char *kind, bool lower, const char *text,
                                        size_t bytes, struct sl_err *err) SL_MUST_CHECK;

/* The same from a file of any name. */
struct sl_tokenizer *sl_vocabulary_open(const char *kind, bool lower, const char *path,
                                        struct sl_err *err) SL_MUST_CHECK;
