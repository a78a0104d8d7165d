/* completion_response.h - the JSON of a text completion, whole or in pieces: OpenAI's shape, with
 * our additions. */
#pragma once

#include "base/json_writer.h"
#include "core/token_usage.h"

#include "sluice/generation.h"

#include <stdbool.h>
#include <stdint.h>

/* The beginning of every chunk of a response. */
struct sv_completion_head {
    const char *id, *model, *fingerprint;
    int64_t created;
};

/* A text or its next piece. */
struct sv_completion_choice {
    int choice;
    const char *text;
    size_t bytes;
    size_t bytes_before, characters_before; /* of this text, in pieces before this one */
    const struct sl_tokenizer *tokens;      /* for the records; NULL: no log probabilities */
    const struct sl_token_logprob *records;
    int record_count;
    enum sl_finish finish; /* SL_RUNNING: more will come */
};

/* Begins the object and the array of its choices; the caller ends both. */
void sv_completion_response_begin(struct sl_json_writer *json,
                                  const struct sv_completion_head *head);
/* The object of one choice. */
void sv_completion_response_choice(struct sl_json_writer *json,
                                   const struct sv_completion_choice *piece);
/* The object that is the value of "usage". */
void sv_completion_response_usage(struct sl_json_writer *json, const struct sv_usage *usage);
