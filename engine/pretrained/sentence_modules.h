/* sentence_modules.h - modules.json of sentence-transformers: what follows the transformer. */
#pragma once

#include "pretrained/config_json.h"

struct json_t;

/* modules.json is there; and has the module of sparse encoders. */
bool sl_sentence_modules_are(const char *directory);
bool sl_sentence_modules_are_sparse(const char *directory);

/* Pooling and dense layers; prompts must have been read. ranks: only the transformer is expected.
 * Other modules, and another order, are refused by their names. */
bool sl_sentence_modules_read(const char *directory, bool ranks, struct sl_published *p,
                              struct sl_err *err) SL_MUST_CHECK;

/* A JSON file beside these, an object or an array; the error has its path. */
struct json_t *sl_sentence_json_open(const char *path, struct sl_err *err) SL_MUST_CHECK;
