/* json_writer.h - JSON text written from front to back into a buffer.
 *
 *     struct sl_json_writer json = {.out = &buffer};
 *     sl_json_add(&json, "{'id':%s,'size':%d,'labels':[", id, size);
 *     for (int i = 0; i < count; i++)
 *         sl_json_add_string(&json, labels[i]);
 *     sl_json_add(&json, "]}");
 *
 * The writer adds commas and escapes strings; its output has no blanks, unless it is to have lines.
 * The caller owns the buffer, which records when it is full or out of memory (sl_buffer_check). A
 * value where a key belongs, or an end without its begin, is a bug of the program. One thread at a
 * time. */
#pragma once

#include "base/buffer.h"

struct sl_json_writer {
    struct sl_buffer *out;
    int line_depth; /* a line for each member of objects and arrays up to this depth; 0: one line */
    int depth;      /* objects and arrays that are open */
    bool needs_comma; /* before the next key or value */
    bool has_key;     /* what comes next is its value */
};

/* Writes a piece of JSON as the template has it, with strings in single quotes. It may end
 * anywhere, also after a key: what follows comes from further calls. The conversions are values,
 * and %s before a colon is a key:
 *
 *     %s                 a string, escaped; NULL becomes null
 *     %.*s               that many bytes of one, escaped
 *     %d  %lld  %zu      an integer
 *     %i                 a boolean
 *     %f                 as sl_json_add_float
 *     %.4f  %g  %.6g     a number in this format; NaN and infinity become null */
void sl_json_add(struct sl_json_writer *json, const char *template, ...) SL_PRINTF(2, 3);

void sl_json_begin_object(struct sl_json_writer *json);
void sl_json_end_object(struct sl_json_writer *json);
void sl_json_begin_array(struct sl_json_writer *json);
void sl_json_end_array(struct sl_json_writer *json);

/* The key of the next value. Returns the writer, so that key and value fit on a line. */
struct sl_json_writer *sl_json_key(struct sl_json_writer *json, const char *key);
struct sl_json_writer *sl_json_key_bytes(struct sl_json_writer *json, const char *key,
                                         size_t count);

void sl_json_add_string(struct sl_json_writer *json, const char *string); /* NULL becomes null */
void sl_json_add_bytes(struct sl_json_writer *json, const char *bytes, size_t count);
void sl_json_add_int(struct sl_json_writer *json, int64_t value);
/* The fewest digits that read back as the same number. NaN and infinity become null. */
void sl_json_add_float(struct sl_json_writer *json, float value);
void sl_json_add_real(struct sl_json_writer *json, double value);
void sl_json_add_bool(struct sl_json_writer *json, bool value);
void sl_json_add_null(struct sl_json_writer *json);
void sl_json_add_positive(struct sl_json_writer *json, int64_t value); /* 0 becomes null */
void sl_json_add_strings(struct sl_json_writer *json, const char *const *strings, int count);
/* A value, or several with commas, that are already JSON. */
void sl_json_add_raw(struct sl_json_writer *json, const char *text, size_t count);
/* A value in its own format, such as "%.4f". The result must be JSON. */
void sl_json_printf(struct sl_json_writer *json, const char *format, ...) SL_PRINTF(2, 3);

/* A JSON string alone, in quotes, without a writer. Each byte that is not UTF-8 becomes U+FFFD.
 * NULL becomes null. */
void sl_json_quote(struct sl_buffer *out, const char *string);
void sl_json_quote_bytes(struct sl_buffer *out, const char *bytes, size_t count);
