/* documents.h - a plain text as the token ids of its documents, for pretraining.
 *
 * An empty line ends a document; its other lines are read as one text. The file is read line by
 * line, and the ids are kept in a temporary file, so memory does not grow with the text beyond a
 * few bytes per document. Documents without a token are left out. */
#pragma once

#include "data/scratch_file.h"
#include "sluice/tokenizer.h"

struct sl_documents {
    const int32_t *ids; /* of all documents, without special tokens; read-only */
    int64_t count;
    int64_t *starts; /* where each begins, and `count` after the last */
    int documents;
    struct sl_scratch_file file;
    size_t starts_room;
};

/* tokens: a tokenizer that never fails on UTF-8, that is, any but `characters`. */
bool sl_documents_open(struct sl_documents *documents, const char *path,
                       const struct sl_tokenizer *tokens, struct sl_err *err) SL_MUST_CHECK;
/* How often each token occurs. counts: as many as the vocabulary has tokens. */
void sl_documents_count(const struct sl_documents *documents, int vocab, int64_t *counts);
void sl_documents_close(struct sl_documents *documents); /* a zeroed one is fine */
