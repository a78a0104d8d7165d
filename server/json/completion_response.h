/* completion_response.h - the JSON of a completion of a text or of a conversation, whole or in
 * pieces: OpenAI's shapes, with our additions. */
#pragma once

#include "base/json_writer.h"
#include "core/token_usage.h"

#include "sluice/generation.h"

#include <stdbool.h>
#include <stdint.h>

struct sv_completion_choice;

/* One of the two shapes. */
struct sv_completion_format {
    const char *id_prefix, *object, *stream_object;
    /* The object of one choice; and in a stream that of its next piece. */
    void (*whole)(struct sl_json_writer *json, const struct sv_completion_choice *piece);
    void (*piece)(struct sl_json_writer *json, const struct sv_completion_choice *piece);
    /* Of events before the first piece of a choice and after its last. NULL: there are none, and
     * the last piece has the reason why it is the last. */
    void (*opening)(struct sl_json_writer *json, const struct sv_completion_choice *piece);
    void (*closing)(struct sl_json_writer *json, const struct sv_completion_choice *piece);
};

extern const struct sv_completion_format sv_text_format; /* completion_response.c */
extern const struct sv_completion_format sv_chat_format; /* chat_response.c */

/* The beginning of every chunk of a response. */
struct sv_completion_head {
    const struct sv_completion_format *format;
    const char *id, *model, *fingerprint;
    int64_t created;
};

/* What a response has of each token. */
struct sv_token_facts {
    bool logprobs, depths;
};

static inline bool sv_token_facts_any(struct sv_token_facts facts)
{
    return facts.logprobs || facts.depths;
}

/* A text or its next piece. */
struct sv_completion_choice {
    int choice;
    const char *text;
    size_t bytes;
    size_t bytes_before, characters_before; /* of this text, in pieces before this one */
    struct sv_token_facts facts;
    const struct sl_tokenizer *tokens; /* of the records */
    const struct sl_token_logprob *records;
    int record_count;
    enum sl_finish finish; /* SL_RUNNING: more will come */
};

/* Begins the object, or that of an event, and the array of its choices; the caller ends both. */
void sv_completion_response_begin(struct sl_json_writer *json,
                                  const struct sv_completion_head *head, bool is_event);
/* The object that is the value of "usage". */
void sv_completion_response_usage(struct sl_json_writer *json, const struct sv_usage *usage);

/* What both shapes have. The value of finish_reason, NULL: null. */
const char *sv_finish_name(enum sl_finish finish);
/* The member "sluice" of a choice, if depths are requested: its tokens, and how many layers
 * computed each, and with which gates; null for the first of an echoed prompt. */
void sv_add_depths(struct sl_json_writer *json, const struct sv_completion_choice *piece);
/* The weights with which a model's parts acted on a token, as an array. */
void sv_add_gates(struct sl_json_writer *json, const float *gates, int count);
/* JSON has no infinity; this API writes -9999. */
void sv_add_probability(struct sl_json_writer *json, float log_probability);
/* What a token adds to a text; of one that adds nothing, how the vocabulary spells it. */
void sv_token_text(struct sl_buffer *text, const struct sl_tokenizer *tokens, int32_t id);
/* The same in UTF-8: bytes that are not a character are written as this API does it,
 * bytes:\xe2\x82. As U+FFFD they would all be the same, and names of an object must differ. */
void sv_spell_token(struct sl_buffer *text, const struct sl_tokenizer *tokens, int32_t id);
