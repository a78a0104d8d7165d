/* report_html.h - the frame of a report: one HTML page that needs no other file and no network,
 * light or dark as the reader prefers, for screens of any width and for paper.
 *
 * Labels, texts and names of files come from others: whatever is not a constant of this program
 * goes through html_string or html_excerpt. The page also forbids scripts and loads nothing. */
#pragma once

#include "base/buffer.h"

/* Appends a text so that it is shown as it is, in an element or in a quoted attribute: markup is
 * escaped, white space becomes spaces, and control characters and bytes that are not UTF-8 become
 * U+FFFD. */
void sl_html_append(struct sl_buffer *out, const char *text, size_t bytes);
/* The same. */
void html_string(struct sl_buffer *out, const char *text);
/* The same, cut to about `most` bytes, between two characters. */
void html_excerpt(struct sl_buffer *out, const char *text, size_t bytes, size_t most);

void html_begin(struct sl_buffer *out, const char *title, const char *subtitle);
void html_end(struct sl_buffer *out);

void html_section(struct sl_buffer *out, const char *title);
void html_section_end(struct sl_buffer *out);

/* Key figures: `<div class=tiles>` holds them. */
void html_tile(struct sl_buffer *out, const char *name, const char *detail, const char *format, ...)
    SL_PRINTF(4, 5);

/* A table whose columns may be wider than the screen; `numbers` says which columns are numbers: '1'
 * each, as in "011". */
void html_table(struct sl_buffer *out, const char *const *columns, const char *numbers);
void html_table_end(struct sl_buffer *out);
/* Cells of a row. */
void html_row(struct sl_buffer *out);
void html_cell(struct sl_buffer *out, const char *text);
void html_number(struct sl_buffer *out, const char *format, ...) SL_PRINTF(2, 3);

/* Writes the page to DIR/index.html. The directory is created if it is missing. */
bool html_write(const struct sl_buffer *page, const char *directory, struct sl_err *err)
    SL_MUST_CHECK;
