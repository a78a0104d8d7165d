/* openai_training_file.h - training files in OpenAI's formats as labelled texts. */
#pragma once

#include "base/buffer.h"
#include "core/request_error.h"

/* Whether the lines are {"messages": [...]} or {"prompt": ..., "completion": ...}, by the first. */
bool sv_openai_training_file_found(const char *text, size_t bytes);

/* Calls `write` with each line as {"text": ..., "label": ...}: the user's messages or the prompt,
 * and the last message of the assistant or the completion. False without an error: `write` has
 * failed. */
bool sv_openai_training_file_convert(const char *text, size_t bytes,
                                     bool (*write)(void *context, const char *line, size_t count),
                                     void *context, struct sv_error *error);
