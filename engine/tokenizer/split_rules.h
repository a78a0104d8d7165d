/* split_rules.h - the regular expressions by which byte-level tokenizers split text into words.
 *
 * They are recognised by their text, and each is a scanner written by hand. Every character is part
 * of a word. */
#pragma once

#include <stddef.h>

struct sl_split_rules;

/* The rules of an expression, spelled exactly as in the files; NULL: unknown. */
const struct sl_split_rules *sl_split_rules_find(const char *expression);
/* The rules of a model, as GGUF files name them ("gpt-2", "llama-bpe", "qwen2"); NULL: unknown. */
const struct sl_split_rules *sl_split_rules_named(const char *model);

/* As it is spelled. */
const char *sl_split_rules_expression(const struct sl_split_rules *rules);

/* The end of the word that begins at `at` < bytes. */
size_t sl_split_rules_scan(const struct sl_split_rules *rules, const char *text, size_t bytes,
                           size_t at);
