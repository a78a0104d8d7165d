/* report_html.c - the styles, begin and end of the page, tables and figures. */
#include "cli/report/report_html.h"

#include "base/file.h"
#include "base/utf8.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------ */

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

void html_string(struct sl_buffer *out, const char *text)
{
    sl_html_append(out, text, strlen(text));
}

void html_excerpt(struct sl_buffer *out, const char *text, size_t bytes, size_t most)
{
    size_t shown = sl_utf8_fit(text, bytes, most);
    sl_html_append(out, text, shown);
    if (shown < bytes)
        sl_buffer_append_string(out, " \xE2\x80\xA6");
}

/* ---- the page -------------------------------------------------------------------------------- */

static const char style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1f2328;--soft:#59636e;--line:#d1d9e0;"
    "--card:#f6f8fa;--c0:#0969da;--c1:#bc4c00;--c2:#1a7f37;--c3:#8250df;--good:9,105,218;"
    "--bad:209,36,47}"
    "@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#f0f6fc;--soft:#9198a1;"
    "--line:#3d444d;--card:#151b23;--c0:#4493f8;--c1:#f0883e;--c2:#3fb950;--c3:#ab7df8;"
    "--good:68,147,248;--bad:248,81,73}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;max-width:60rem;padding:1rem;background:var(--bg);color:var(--fg);"
    "font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}"
    "h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0 0}"
    "h2{font-size:1.2rem;margin:0 0 .5rem;padding-top:1rem;border-top:1px solid var(--line)}"
    "section{margin:1.5rem 0}p{margin:.4rem 0;max-width:48rem}"
    ".soft,figcaption,caption{color:var(--soft);font-size:.9rem}"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.6rem;"
    "margin:1rem 0}"
    ".tile{background:var(--card);border:1px solid var(--line);border-radius:.5rem;"
    "padding:.6rem .8rem}"
    ".tile b{display:block;font-size:1.45rem;line-height:1.3}.tile span{display:block}"
    ".wide{overflow-x:auto}"
    ".wide{margin:.4rem 0 1rem}"
    "table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}"
    "th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:left;"
    "vertical-align:top}"
    "th{font-weight:600}td:first-child,th:first-child{padding-left:0}"
    ".n{text-align:right;white-space:nowrap}.name{min-width:6rem;max-width:30rem}"
    ".said{min-width:15rem}tr.best td{font-weight:600}"
    ".matrix td{text-align:center;min-width:2.6rem;border:1px solid var(--line)}"
    ".matrix th{border:0}.matrix thead th{vertical-align:bottom;text-align:center}"
    ".matrix thead th span{writing-mode:vertical-rl;transform:rotate(180deg);max-height:11rem}"
    "figure{margin:1rem 0;max-width:34rem}svg{display:block;width:100%;height:auto}"
    "svg text{fill:var(--soft);font:13px system-ui,sans-serif}"
    ".axis{stroke:var(--soft);fill:none}.grid{stroke:var(--line)}"
    ".ideal{stroke:var(--soft);stroke-dasharray:5 4;fill:none}"
    ".s0,.s1,.s2,.s3{fill:none;stroke-width:2;stroke-linejoin:round}"
    ".s0{stroke:var(--c0)}.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}.s3{stroke:var(--c3)}"
    ".d0{fill:var(--c0)}.d1{fill:var(--c1)}.d2{fill:var(--c2)}.d3{fill:var(--c3)}"
    ".bar{fill:var(--c0);opacity:.75}.count{fill:var(--soft);opacity:.6}"
    ".key{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin:0 .35em 0 .9em}"
    ".k0{background:var(--c0)}.k1{background:var(--c1)}.k2{background:var(--c2)}"
    ".k3{background:var(--c3)}"
    "mark{color:inherit;border-radius:3px}.up{background:rgba(var(--good),.28)}"
    ".down{background:rgba(var(--bad),.22);text-decoration:underline dotted}"
    "ul{margin:.4rem 0;padding-left:1.3rem}"
    ".right{background:rgba(var(--good),var(--s))}.wrong{background:rgba(var(--bad),var(--s))}"
    "@media print{:root{color-scheme:light;--bg:#fff;--fg:#000;--soft:#444;--line:#bbb;"
    "--card:#fff}body{max-width:none;font-size:11pt;-webkit-print-color-adjust:exact;"
    "print-color-adjust:exact}figure,.tile,tr{break-inside:avoid}h2{break-after:avoid}"
    ".wide{overflow:visible}}";

void html_begin(struct sl_buffer *out, const char *title, const char *subtitle)
{
    sl_buffer_append_string(
        out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" "
             "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    html_string(out, title);
    sl_buffer_append_string(out, "</title>\n<style>");
    sl_buffer_append_string(out, style);
    sl_buffer_append_string(out, "</style>\n</head>\n<body>\n<h1>");
    html_string(out, title);
    sl_buffer_append_string(out, "</h1>\n<p class=\"soft\">");
    html_string(out, subtitle);
    sl_buffer_append_string(out, "</p>\n");
}

void html_end(struct sl_buffer *out)
{
    sl_buffer_append_string(out, "</body>\n</html>\n");
}

void html_section(struct sl_buffer *out, const char *title)
{
    sl_buffer_append_string(out, "<section>\n<h2>");
    html_string(out, title);
    sl_buffer_append_string(out, "</h2>\n");
}

void html_section_end(struct sl_buffer *out)
{
    sl_buffer_append_string(out, "</section>\n");
}

/* Formatted, then escaped: an argument may be a name. */
static void __attribute__((format(printf, 2, 0)))
add_formatted(struct sl_buffer *out, const char *format, va_list list)
{
    char text[256];
    (void)vsnprintf(text, sizeof text, format, list);
    html_string(out, text);
}

void html_tile(struct sl_buffer *out, const char *name, const char *detail, const char *format, ...)
{
    va_list list;
    sl_buffer_append_string(out, "<div class=\"tile\"><span>");
    html_string(out, name);
    sl_buffer_append_string(out, "</span><b>");
    va_start(list, format);
    add_formatted(out, format, list);
    va_end(list);
    sl_buffer_append_string(out, "</b><span class=\"soft\">");
    html_string(out, detail);
    sl_buffer_append_string(out, "</span></div>\n");
}

/* ---- tables ---------------------------------------------------------------------------------- */

void html_table(struct sl_buffer *out, const char *const *columns, const char *numbers)
{
    sl_buffer_append_string(out, "<div class=\"wide\"><table>\n<thead><tr>");
    for (int i = 0; columns[i]; i++) {
        sl_buffer_append_string(out, numbers[i] == '1' ? "<th class=\"n\">" : "<th>");
        html_string(out, columns[i]);
        sl_buffer_append_string(out, "</th>");
    }
    sl_buffer_append_string(out, "</tr></thead>\n<tbody>");
}

void html_table_end(struct sl_buffer *out)
{
    sl_buffer_append_string(out, "\n</tbody>\n</table></div>\n");
}

void html_row(struct sl_buffer *out)
{
    sl_buffer_append_string(out, "\n<tr>");
}

void html_cell(struct sl_buffer *out, const char *text)
{
    sl_buffer_append_string(out, "<td class=\"name\" dir=\"auto\">");
    html_excerpt(out, text, strlen(text), 128);
    sl_buffer_append_string(out, "</td>");
}

void html_number(struct sl_buffer *out, const char *format, ...)
{
    va_list list;
    sl_buffer_append_string(out, "<td class=\"n\">");
    va_start(list, format);
    add_formatted(out, format, list);
    va_end(list);
    sl_buffer_append_string(out, "</td>");
}

bool html_write(const struct sl_buffer *page, const char *directory, struct sl_err *err)
{
    char path[PATH_MAX];
    const struct sl_slice slice = {page->data, page->bytes};
    int needed = snprintf(path, sizeof path, "%s/index.html", directory);
    if (needed >= (int)sizeof path)
        return sl_fail(err, SL_BAD_INPUT, "--report: the path is too long");
    return (sl_buffer_check(page, err) && sl_directory_make(directory, err) &&
            sl_file_replace(path, &slice, 1, err)) ||
           sl_wrap(err, "--report '%s'", directory);
}
