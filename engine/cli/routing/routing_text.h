/* routing_text.h - the tokens of a file, in pieces that a model reads at once: windows of a text
 * for a language model, else lines. */
#pragma once

#include "model/model.h"

enum { ROUTING_TOKENS_MAX = 100000 }; /* that are read of a file */

struct routing_text {
    int32_t *ids; /* of all pieces, one after another */
    size_t count, capacity;
    int *lengths; /* of each piece, in tokens */
    size_t pieces, pieces_capacity;
    bool is_cut; /* the file has more */
};

/* Lines that are longer than the model's context are truncated. Fails if there is no token, or if a
 * language model does not know a character. */
bool routing_text_open(struct routing_text *text, const struct sl_model *model, const char *path,
                       struct sl_err *err) SL_MUST_CHECK;
void routing_text_close(struct routing_text *text); /* a zeroed one is fine */
