/* sentence_files.h - the files that sentence-transformers adds to a model's directory. */
#pragma once

#include "pretrained/config_json.h"

/* modules.json: the directory is that of a sentence encoder. */
bool sl_sentence_files_are(const char *directory);

/* Of these, a sparse encoder: it needs the head for masked tokens. */
bool sl_sentence_files_are_sparse(const char *directory);

/* Pooling, prompts, and the longest text, of the files of a sentence encoder; other modules are
 * refused by their type. */
bool sl_sentence_files_read(const char *directory, struct sl_published *p, struct sl_err *err)
    SL_MUST_CHECK;
