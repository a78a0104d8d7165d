/* multipart.c - multipart/form-data, a byte after the other. */
#include "api/multipart.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool fail_form(struct sv_error *error, const char *why)
{
    return sv_fail(error, SV_INVALID_VALUE, NULL, "The body is not valid multipart/form-data: %s.",
                   why);
}

/* ---- headers --------------------------------------------------------------------------------- */

/* Copies the value at `at`, in quotes or not, up to `end`. Returns what follows it; NULL: too
 * long. */
static const char *copy_value(const char *at, const char *end, char *to, size_t capacity)
{
    size_t used = 0;
    bool quoted = at < end && *at == '"';
    for (at += quoted; at < end && (quoted ? *at != '"' : *at != ';' && *at != ' '); at++) {
        at += quoted && at[0] == '\\' && at + 1 < end;
        if (used + 1 >= capacity)
            return NULL;
        to[used++] = *at;
    }
    to[used] = '\0';
    return at + (quoted && at < end);
}

/* The value of a parameter such as name="file" among those that begin at `at`. False: there is
 * none; *valid becomes false when it is too long. */
static bool find_parameter(const char *at, const char *end, const char *name, char *to,
                           size_t capacity, bool *valid)
{
    size_t length = strlen(name);
    char other[SV_PART_HEAD_MAX + 1];
    while (at && at < end) {
        at += strspn(at, "; \t");
        size_t word = strcspn(at, "=;\r\n");
        if (at + word >= end || at[word] != '=')
            return false;
        bool wanted = word == length && strncasecmp(at, name, length) == 0;
        at = copy_value(at + word + 1, end, wanted ? to : other, wanted ? capacity : sizeof other);
        *valid = *valid && at;
        if (wanted)
            return at;
    }
    return false;
}

bool sv_form_begin(struct sv_form *form, const char *content_type,
                   const struct sv_form_reader *reader, struct sv_error *error)
{
    static const char type[] = "multipart/form-data";
    size_t word = strcspn(content_type, "; \t");
    char boundary[SV_BOUNDARY_MAX + 1] = "";
    bool valid = true;
    if (word != sizeof type - 1 || strncasecmp(content_type, type, word) != 0)
        return sv_fail(error, SV_UNSUPPORTED_MEDIA_TYPE, NULL,
                       "Content-Type must be multipart/form-data, not \"%.64s\".", content_type);
    if (!find_parameter(content_type + word, content_type + strlen(content_type), "boundary",
                        boundary, sizeof boundary, &valid) ||
        !boundary[0] || strpbrk(boundary, "\r\n"))
        return fail_form(error, "its Content-Type has no boundary of 1 to 70 characters");
    *form = (struct sv_form){.reader = *reader};
    form->delimiter_bytes =
        (size_t)snprintf(form->delimiter, sizeof form->delimiter, "\r\n--%s", boundary);
    form->matched = 2; /* the first delimiter needs no line break before it */
    return true;
}

/* The last part of a path, of either kind of system. */
static const char *base_of(const char *path)
{
    const char *base = path;
    for (const char *c = path; *c; c++)
        if (*c == '/' || *c == '\\')
            base = c + 1;
    return base;
}

static bool is_clean(const char *text)
{
    for (const char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c))
            return false;
    return sl_utf8_is_valid(text, strlen(text));
}

/* The line of the head that begins with this name; NULL: none. */
static const char *find_header(const char *head, const char *name)
{
    for (const char *line = head; *line;) {
        if (strncasecmp(line, name, strlen(name)) == 0)
            return line + strlen(name);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return NULL;
}

/* Tells the reader about the part whose head is complete. */
static bool begin_part(struct sv_form *form, struct sv_error *error)
{
    char name[SV_PART_NAME_MAX] = "", filename[SV_PART_FILENAME_MAX] = "";
    const char *line = find_header(form->head, "Content-Disposition:");
    bool valid = true;
    if (form->parts++ == SV_PARTS_IN_FORM_MAX)
        return fail_form(error, "it has too many parts");
    if (!line)
        return fail_form(error, "a part has no Content-Disposition");
    const char *end = line + strcspn(line, "\r\n"), *parameters = line + strcspn(line, ";\r\n");
    bool is_named = find_parameter(parameters, end, "name", name, sizeof name, &valid);
    bool is_file = find_parameter(parameters, end, "filename", filename, sizeof filename, &valid);
    if (!valid || !is_named || !is_clean(name) || !is_clean(filename))
        return fail_form(error, "a part has no valid name");
    return form->reader.begin(form->reader.context, name, is_file ? base_of(filename) : NULL,
                              error);
}

/* ---- the body -------------------------------------------------------------------------------- */

static bool put_data(const struct sv_form *form, const char *bytes, size_t count,
                     struct sv_error *error)
{
    return !form->in_part || count == 0 ||
           form->reader.data(form->reader.context, bytes, count, error);
}

/* Data up to the next delimiter. A delimiter's first byte, CR, does not occur inside it: after a
 * mismatch a new match can only begin at the byte that did not fit. */
static const char *feed_data(struct sv_form *form, const char *at, const char *end,
                             struct sv_error *error)
{
    while (at < end && form->matched < form->delimiter_bytes) {
        if (form->matched > 0 && *at == form->delimiter[form->matched]) {
            form->matched++;
            at++;
            continue;
        }
        if (form->matched > 0 && !put_data(form, form->delimiter, form->matched, error))
            return NULL;
        form->matched = 0;
        const char *stop = memchr(at, '\r', (size_t)(end - at));
        if (!put_data(form, at, (size_t)((stop ? stop : end) - at), error))
            return NULL;
        form->matched = stop ? 1 : 0;
        at = stop ? stop + 1 : end;
    }
    if (form->matched == form->delimiter_bytes) {
        form->state = SV_FORM_DELIMITER;
        form->matched = form->head_bytes = 0;
    }
    return at;
}

/* After a delimiter: a line break before a part, or -- at the end. */
static const char *feed_delimiter(struct sv_form *form, const char *at, struct sv_error *error)
{
    bool is_padding = form->head_bytes == 0 && (*at == ' ' || *at == '\t');
    if (!is_padding)
        form->head[form->head_bytes++] = *at;
    if (form->head_bytes < 2)
        return at + 1;
    if (memcmp(form->head, "--", 2) == 0)
        form->state = SV_FORM_END;
    else if (memcmp(form->head, "\r\n", 2) == 0)
        form->state = SV_FORM_HEAD;
    else
        return fail_form(error, "a boundary is not followed by a line break") ? at : NULL;
    form->head_bytes = 0;
    return at + 1;
}

static const char *feed_head(struct sv_form *form, const char *at, struct sv_error *error)
{
    if (form->head_bytes == SV_PART_HEAD_MAX || *at == '\0')
        return fail_form(error, "the headers of a part are too long") ? at : NULL;
    form->head[form->head_bytes++] = *at;
    form->head[form->head_bytes] = '\0';
    size_t n = form->head_bytes;
    bool is_empty = n == 2 && memcmp(form->head, "\r\n", 2) == 0;
    if (!is_empty && (n < 4 || memcmp(form->head + n - 4, "\r\n\r\n", 4) != 0))
        return at + 1;
    if (!begin_part(form, error))
        return NULL;
    form->state = SV_FORM_DATA;
    form->in_part = true;
    return at + 1;
}

bool sv_form_feed(struct sv_form *form, const char *bytes, size_t count, struct sv_error *error)
{
    const char *at = bytes, *end = bytes + count;
    while (at && at < end)
        switch (form->state) {
        case SV_FORM_DATA: at = feed_data(form, at, end, error); break;
        case SV_FORM_DELIMITER: at = feed_delimiter(form, at, error); break;
        case SV_FORM_HEAD: at = feed_head(form, at, error); break;
        case SV_FORM_END: return true;
        }
    return at;
}

bool sv_form_end(const struct sv_form *form, struct sv_error *error)
{
    return form->state == SV_FORM_END || fail_form(error, "it ends before its last boundary");
}
