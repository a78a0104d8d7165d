/* sentence_files.h - the files that sentence-transformers adds to a model's directory. */
#pragma once

#include "pretrained/config_json.h"

enum sl_sentence_kind {
    SL_SENTENCE_NONE,    /* it has no such files */
    SL_SENTENCE_ENCODER, /* gives embeddings, whatever class config.json names */
    SL_SENTENCE_SPARSE,  /* the same, with the head for masked tokens */
    SL_SENTENCE_RANKER   /* a classifier of pairs */
};

enum sl_sentence_kind sl_sentence_files_kind(const char *directory);

/* Modules, prompts, and the longest text, of a directory of any kind but NONE; what is not
 * supported is refused by its name. */
bool sl_sentence_files_read(const char *directory, struct sl_published *p, struct sl_err *err)
    SL_MUST_CHECK;
