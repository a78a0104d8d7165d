/* html_text.h - text of others as a part of an HTML document. */
#pragma once

#include "base/buffer.h"

/* Appends a text so that it is shown as it is, in an element or in a quoted attribute: markup is
 * escaped, white space becomes spaces, and control characters and bytes that are not UTF-8 become
 * U+FFFD. */
void sl_html_append(struct sl_buffer *out, const char *text, size_t bytes);
