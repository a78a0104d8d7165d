/* aligned_text.h - a text that is being normalized, and where each of its bytes comes from.
 *
 * Hugging Face's offsets follow from these rules: a character that replaces another has the place
 * of that one, an inserted one has the place of the character before it. */
#pragma once

#include "tokenizer/unicode.h"

/* Bytes [start, stop) of the original text: whole characters. */
struct sl_origin {
    uint32_t start, stop;
};

/* A text to read. It belongs to its maker. */
struct sl_text_view {
    const char *text;
    size_t bytes;
    const struct sl_origin *origins; /* by byte; NULL: it is the original from byte `base` on */
    uint32_t base;
};

/* Where the character of byte `at` comes from. */
struct sl_origin sl_text_origin(const struct sl_text_view *view, size_t at);
/* Where the bytes [start, stop) come from; start < stop. */
struct sl_origin sl_text_range(const struct sl_text_view *view, size_t start, size_t stop);

/* Steps can multiply a text, and places in it have 32 bits. */
enum { SL_ALIGNED_TEXT_MAX = 1 << 28 };

/* A text to write. Starts as zeros. */
struct sl_aligned_text {
    char *text;
    struct sl_origin *origins;
    size_t bytes, text_capacity, origins_capacity;
    bool failed; /* out of memory, or too long: what was written last is missing */
};

void sl_aligned_text_release(struct sl_aligned_text *text);
struct sl_text_view sl_aligned_text_view(const struct sl_aligned_text *text);

/* Rewrites a text: reads `in` from `at` on, appends to `out`. */
struct sl_text_editor {
    struct sl_text_view in;
    size_t at;
    struct sl_aligned_text *out;
};

/* Writes a character. change > 0: it is inserted; 0: it replaces the next one of `in`; below 0: it
 * replaces that one, and so many more are removed. */
void sl_edit_put(struct sl_text_editor *editor, uint32_t point, int change);
/* Removes the next character of `in`. */
void sl_edit_skip(struct sl_text_editor *editor);
/* Copies `bytes` of `in`, whole characters. */
void sl_edit_copy(struct sl_text_editor *editor, size_t bytes);
/* Writes a text whose bytes all have the place of byte `like` of `in`. */
void sl_edit_insert(struct sl_text_editor *editor, const char *text, size_t bytes, size_t like);
