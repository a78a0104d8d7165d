/* chat_files.h - what a published model says of conversations, and of the end of its texts. */
#pragma once

#include "pretrained/gguf_file.h"
#include "tokenizer/chat_template.h"

/* From chat_template.jinja, tokenizer_config.json, generation_config.json and config.json; each of
 * them, and each of their members, may be missing. */
bool sl_chat_files_read(const char *directory, const struct json_t *config,
                        struct sl_chat_facts *facts, struct sl_err *err) SL_MUST_CHECK;
/* The same from the metadata of a GGUF file. */
bool sl_chat_metadata_read(const struct sl_gguf *file, struct sl_chat_facts *facts,
                           struct sl_err *err) SL_MUST_CHECK;
