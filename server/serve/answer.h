/* answer.h - the JSON of a text completion, whole or in pieces: OpenAI's shape, with what we
 * add. */
#pragma once

#include "core/text.h"

#include "sluice/generate.h"

#include <stdbool.h>
#include <stdint.h>

/* What all pieces of one answer begin with. */
struct sv_answer_head {
    const char *id, *model, *fingerprint;
    int64_t created;
};

/* A text, or the next piece of one. */
struct sv_piece {
    int choice;
    const char *text;
    size_t bytes;
    size_t bytes_before, characters_before; /* of this text, in pieces before this one */
    const struct sl_tokenizer *tokens;      /* for the records; NULL: no log probabilities */
    const struct sl_token_record *records;
    int record_count;
    enum sl_finish finish; /* SL_RUNNING: more will come */
};

/* A prompt that was longer than the context, and cut because the request allows it. */
struct sv_truncation {
    int prompt, given, used;
};

struct sv_usage {
    int64_t prompt_tokens, completion_tokens;
    int64_t layers_used, layers_full;
    int depth; /* of the model */
    const struct sv_truncation *truncations;
    int truncation_count;
};

/* Layers that each of some tokens went through, the mean, of what was used and what there was. */
double sv_depth_mean(int depth, int64_t used, int64_t full);
double sv_usage_depth_mean(const struct sv_usage *usage); /* layers that a token went through */
double sv_usage_saved(const struct sv_usage *usage);      /* share of layer operations, 0 .. 1 */

/* {"id":...,"choices":[   then pieces with commas between, then   ],"usage":...} */
void sv_answer_begin(struct sv_text *out, const struct sv_answer_head *head);
void sv_answer_piece(struct sv_text *out, const struct sv_piece *piece);
void sv_answer_usage(struct sv_text *out, const struct sv_usage *usage); /* the object alone */
