/* character_map.c - rules for grapheme clusters of up to five bytes, and for single characters.
 *
 * A cluster is replaced by the rule of its shortest prefix that has one, even if that is not all of
 * it; and what a removed character leaves behind is counted on the character before it, or on none.
 * Odd, but that is what models were trained with. */
#include "tokenizer/character_map.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { CLUSTER_BYTES_MAX = 5, UNIT_BYTES = 4, UNITS_MAX = 1 << 24 };

struct sl_character_map {
    uint32_t *units;
    size_t count;
    char *replacements;
    size_t bytes, longest;
};

/* A character that was written, but for what is removed after it. */
struct mapper {
    struct sl_text_editor *editor;
    uint32_t point;
    int change;
    bool has_point;
};

/* -- the trie --------------------------------------------------------------------------------- */

/* The fields of a unit (Darts-clone, Yata 2008). */
static uint32_t unit_offset(uint32_t unit)
{
    return unit >> 10 << ((unit & 1u << 9) >> 6);
}

static bool unit_has_leaf(uint32_t unit)
{
    return unit >> 8 & 1;
}

static uint32_t unit_label(uint32_t unit)
{
    return unit & (1u << 31 | 0xFF);
}

/* The replacement of the shortest prefix that has one; NULL: none. */
static const char *find(const struct sl_character_map *map, const char *text, size_t bytes)
{
    size_t at = unit_offset(map->units[0]);
    for (size_t i = 0; i < bytes && text[i] != '\0'; i++) {
        unsigned char byte = (unsigned char)text[i];
        at ^= byte;
        if (at >= map->count || unit_label(map->units[at]) != byte)
            return NULL;
        uint32_t unit = map->units[at];
        at ^= unit_offset(unit);
        if (!unit_has_leaf(unit))
            continue;
        uint32_t value = at < map->count ? map->units[at] & ~(1u << 31) : UINT32_MAX;
        bool begins = value < map->bytes && !sl_utf8_is_continuation(map->replacements[value]);
        return begins ? map->replacements + value : NULL;
    }
    return NULL;
}

/* -- rewriting -------------------------------------------------------------------------------- */

static void flush(struct mapper *m)
{
    if (m->has_point)
        sl_edit_put(m->editor, m->point, m->change);
    m->has_point = false;
}

static void put(struct mapper *m, uint32_t point, int change)
{
    flush(m);
    m->point = point;
    m->change = change;
    m->has_point = true;
}

/* Writes a replacement for so many characters. */
static void replace(struct mapper *m, const char *by, int characters)
{
    size_t bytes = strlen(by);
    int count = 0, total = (int)sl_utf8_count(by, bytes);
    for (size_t at = 0; at < bytes; count++)
        put(m, sl_char_next(by, &at), count >= characters);
    if (total < characters && m->has_point)
        m->change += total - characters;
}

static void map_cluster(const struct sl_character_map *map, struct mapper *m, const char *text,
                        size_t bytes)
{
    const char *by = bytes <= CLUSTER_BYTES_MAX ? find(map, text, bytes) : NULL;
    if (by) {
        replace(m, by, (int)sl_utf8_count(text, bytes));
        return;
    }
    for (size_t at = 0; at < bytes;) {
        size_t from = at;
        uint32_t point = sl_char_next(text, &at);
        if ((by = find(map, text + from, at - from)))
            replace(m, by, 1);
        else
            put(m, point, 0);
    }
}

/* Most clusters are one character: two of ASCII, but for CR LF, are never in the same. */
static size_t cluster_end(const char *text, size_t bytes, size_t at)
{
    bool plain = (unsigned char)text[at] < 0x80 && text[at] != '\r' &&
                 (at + 1 == bytes || (unsigned char)text[at + 1] < 0x80);
    return plain ? at + 1 : sl_grapheme_end(text, bytes, at);
}

void sl_character_map_apply(const struct sl_character_map *map, struct sl_text_editor *editor)
{
    struct mapper m = {.editor = editor};
    const char *text = editor->in.text;
    for (size_t at = editor->at, end; at < editor->in.bytes; at = end) {
        end = cluster_end(text, editor->in.bytes, at);
        map_cluster(map, &m, text + at, end - at);
    }
    flush(&m);
}

/* -- lifetime --------------------------------------------------------------------------------- */

size_t sl_character_map_longest(const struct sl_character_map *map)
{
    return map->longest;
}

void sl_character_map_destroy(struct sl_character_map *map)
{
    if (!map)
        return;
    free(map->units);
    free(map->replacements);
    free(map);
}

static uint32_t read_unit(const char *data)
{
    const unsigned char *d = (const unsigned char *)data;
    return (uint32_t)d[0] | (uint32_t)d[1] << 8 | (uint32_t)d[2] << 16 | (uint32_t)d[3] << 24;
}

static size_t longest_of(const char *replacements, size_t bytes)
{
    size_t longest = 0;
    for (size_t at = 0; at < bytes; at += strlen(replacements + at) + 1)
        if (strlen(replacements + at) > longest)
            longest = strlen(replacements + at);
    return longest;
}

static bool map_fill(struct sl_character_map *map, const char *data, size_t bytes,
                     struct sl_err *err)
{
    size_t trie = map->count * UNIT_BYTES;
    map->bytes = bytes - trie;
    map->units = malloc(trie);
    map->replacements = malloc(map->bytes + 1);
    if (!map->units || !map->replacements)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a character map of %zu bytes", bytes);
    for (size_t i = 0; i < map->count; i++)
        map->units[i] = read_unit(data + i * UNIT_BYTES);
    memcpy(map->replacements, data + trie, map->bytes);
    map->replacements[map->bytes] = '\0';
    map->longest = longest_of(map->replacements, map->bytes);
    return sl_utf8_check(map->replacements, map->bytes, err) || sl_wrap(err, "replacements");
}

struct sl_character_map *sl_character_map_create(const char *data, size_t bytes, struct sl_err *err)
{
    size_t trie = bytes >= UNIT_BYTES ? read_unit(data) : 0;
    if (trie < UNIT_BYTES || trie % UNIT_BYTES != 0 || trie > bytes - UNIT_BYTES ||
        trie / UNIT_BYTES > UNITS_MAX) {
        sl_fail(err, SL_CORRUPT, "a character map of %zu bytes with a trie of %zu", bytes, trie);
        return NULL;
    }
    struct sl_character_map *map = calloc(1, sizeof *map);
    if (!map) {
        sl_fail(err, SL_NO_MEMORY, "no memory for a character map");
        return NULL;
    }
    map->count = trie / UNIT_BYTES;
    if (!map_fill(map, data + UNIT_BYTES, bytes - UNIT_BYTES, err)) {
        sl_character_map_destroy(map);
        return NULL;
    }
    return map;
}
