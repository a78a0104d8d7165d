/* file_format.c - the format of an uploaded file, by its name or its content. */
#include "state/file_format.h"
#include "base/file_kind.h"
#include "base/utf8.h"
#include "json/json_lines.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* What the name of a data file may end with, before .gz or .xz. */
static const char *const formats[] = {".jsonl", ".ndjson", ".json", ".tsv", ".csv", ".txt"};

static bool ends_with(const char *text, size_t bytes, const char *end)
{
    size_t length = strlen(end);
    return bytes > length && strncasecmp(text + bytes - length, end, length) == 0;
}

/* The format that a file's name ends with; NULL: another. */
static const char *format_of(const char *name, bool *is_compressed)
{
    size_t bytes = strlen(name);
    *is_compressed = ends_with(name, bytes, ".gz") || ends_with(name, bytes, ".xz");
    bytes -= *is_compressed ? 3 : 0;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (ends_with(name, bytes, formats[i]))
            return formats[i];
    return NULL;
}

const char *sv_file_extension(const char *filename, char extension[static SV_FILE_EXTENSION_MAX])
{
    bool is_compressed;
    const char *format = format_of(filename, &is_compressed);
    if (!format)
        return NULL;
    (void)snprintf(extension, SV_FILE_EXTENSION_MAX, "%s%s",
                   strstr(format, "json") ? ".jsonl" : format,
                   is_compressed ? filename + strlen(filename) - 3 : "");
    return extension;
}

/* Says where, by the line, too: an editor shows lines. */
static bool check_text(const char *text, size_t bytes, struct sv_error *error)
{
    size_t at = sl_utf8_valid_bytes(text, bytes), line = 1;
    if (at == bytes)
        return true;
    for (size_t i = 0; i < at; i++)
        line += text[i] == '\n';
    return sv_fail(error, SV_INVALID_VALUE, "file",
                   "The file is not UTF-8: byte %zu (line %zu) is 0x%02X; %s.", at + 1, line,
                   (unsigned)(unsigned char)text[at], sl_file_encoding(text + at, bytes - at));
}

/* What is no text at all is named. */
static bool check_kind(const char *content, size_t bytes, struct sv_error *error)
{
    const struct sl_file_kind *kind = sl_file_kind_find(content, bytes);
    return !kind || kind->is_text ||
           sv_fail(error, SV_INVALID_VALUE, "file", "The file is %s, which is not read: %s.",
                   kind->name, kind->way_out);
}

/* The format of a text that shows it: JSON objects, or columns separated by tabs. NULL: another. */
static const char *recognise(const char *content, size_t bytes)
{
    const char *line = content + sl_utf8_mark(content, bytes), *end = content + bytes;
    while (line < end && strchr(" \t\r\n", *line))
        line++;
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    size_t length = (size_t)((stop ? stop : end) - line);
    if (length > 0 && line[0] == '{')
        return ".jsonl";
    return memchr(line, '\t', length) && sl_utf8_valid_bytes(line, length) == length ? ".tsv"
                                                                                     : NULL;
}

/* Appends the format of the content to a name without one. */
static bool complete_name(char filename[static SV_FILE_NAME_MAX], const char *content, size_t bytes,
                          struct sv_error *error)
{
    const char *format = recognise(content, bytes);
    size_t length = strlen(filename);
    if (!format || length + strlen(format) >= SV_FILE_NAME_MAX)
        return sv_fail(error, SV_INVALID_VALUE, "file",
                       "The file's name must end with .jsonl, .tsv, .csv or .txt, and perhaps .gz "
                       "or .xz; it is \"%.64s\", and the content shows neither JSON Lines nor "
                       "tabs.",
                       filename);
    memcpy(filename + length, format, strlen(format) + 1);
    return true;
}

bool sv_file_format_check(char filename[static SV_FILE_NAME_MAX], const char *content, size_t bytes,
                          struct sv_error *error)
{
    bool is_compressed;
    if (!check_kind(content, bytes, error))
        return false;
    if (!format_of(filename, &is_compressed) && !complete_name(filename, content, bytes, error))
        return false;
    const char *format = format_of(filename, &is_compressed);
    if (is_compressed)
        return true;
    return check_text(content, bytes, error) &&
           (!strstr(format, "json") || sv_json_lines_check(content, bytes, error));
}
