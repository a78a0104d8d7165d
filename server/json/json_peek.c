/* json_peek.c - one string of a body that is not parsed yet. */
#include "json/json_peek.h"

#include <string.h>

struct scan {
    const char *at, *end;
};

static char skip_blanks(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
    if (s->at == s->end)
        return '\0';
    return *s->at;
}

/* Past a string that begins here. `text` and `bytes` are what is between its quotes. */
static bool skip_string(struct scan *s, const char **text, size_t *bytes)
{
    const char *begin = s->at + 1;
    for (const char *c = begin; (c = memchr(c, '"', (size_t)(s->end - c))); c++) {
        const char *slash = c;
        while (slash > begin && slash[-1] == '\\')
            slash--;
        if ((c - slash) % 2 != 0)
            continue; /* an escaped quote */
        *text = begin;
        *bytes = (size_t)(c - begin);
        s->at = c + 1;
        return true;
    }
    return false;
}

/* Past a value, up to the comma or the bracket after it. */
static bool skip_value(struct scan *s)
{
    const char *text;
    size_t bytes;
    for (int depth = 0; s->at < s->end;) {
        char c = *s->at;
        if (depth == 0 && (c == ',' || c == '}'))
            return true;
        if (c == '"' ? !skip_string(s, &text, &bytes) : !c)
            return false;
        if (c == '"')
            continue;
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (depth < 0)
            return false;
        s->at++;
    }
    return false;
}

/* Past a member's name and the colon after it. */
static bool read_name(struct scan *s, const char **name, size_t *bytes)
{
    if (skip_blanks(s) != '"' || !skip_string(s, name, bytes) || skip_blanks(s) != ':')
        return false;
    s->at++;
    return true;
}

static bool take_string(struct scan *s, char *out, size_t capacity)
{
    const char *text;
    size_t bytes;
    if (skip_blanks(s) != '"' || !skip_string(s, &text, &bytes) || bytes >= capacity ||
        memchr(text, '\\', bytes) || memchr(text, '\0', bytes))
        return false;
    memcpy(out, text, bytes);
    out[bytes] = '\0';
    return true;
}

bool sv_json_peek_string(const struct sl_buffer *body, const char *member, char *out,
                         size_t capacity)
{
    struct scan s = {.at = body->data, .end = body->data + body->bytes};
    if (body->bytes == 0 || skip_blanks(&s) != '{')
        return false;
    do {
        const char *name;
        size_t bytes;
        s.at++; /* the brace or a comma */
        if (!read_name(&s, &name, &bytes))
            return false;
        if (bytes == strlen(member) && memcmp(name, member, bytes) == 0)
            return take_string(&s, out, capacity);
    } while (skip_value(&s) && *s.at == ',');
    return false;
}
