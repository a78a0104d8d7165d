/* html_text.c - escapes text for HTML. */
#include "cli/report/html_text.h"

#include "base/utf8.h"

/* The markup that stands for a byte; NULL: the byte itself. */
static const char *escape(unsigned char byte)
{
    switch (byte) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    case '\t':
    case '\n':
    case '\r': return " ";
    default: return byte < 0x20 || byte == 0x7F ? SL_UTF8_REPLACEMENT : NULL;
    }
}

void sl_html_append(struct sl_buffer *out, const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        size_t length = sl_utf8_length(text + at, bytes - at);
        const char *markup = length == 0 ? SL_UTF8_REPLACEMENT : escape((unsigned char)text[at]);
        if (markup)
            sl_buffer_append_string(out, markup);
        else
            sl_buffer_append(out, text + at, length);
        at += length ? length : 1;
    }
}
