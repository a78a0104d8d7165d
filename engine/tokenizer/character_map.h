/* character_map.h - SentencePiece's "precompiled" normalization: short texts and what replaces
 * them.
 *
 * The rules are a trie of bytes in double arrays (Darts) whose values are places in a list of
 * replacements. A map is immutable; any thread may use it. */
#pragma once

#include "tokenizer/aligned_text.h"

#include "sluice/err.h"

struct sl_character_map;

/* From the bytes of a file: the size of the trie (32 bits, little endian), the trie, replacements
 * that each end with a NUL. They are copied. */
struct sl_character_map *sl_character_map_create(const char *data, size_t bytes, struct sl_err *err)
    SL_MUST_CHECK;
void sl_character_map_destroy(struct sl_character_map *map); /* NULL is fine */

/* Rewrites all of `in`. */
void sl_character_map_apply(const struct sl_character_map *map, struct sl_text_editor *editor);

/* The bytes of the longest replacement. */
size_t sl_character_map_longest(const struct sl_character_map *map);
