/* name_list.c - joins names, as many as fit. */
#include "data/name_list.h"
#include "base/comma_list.h"
#include "base/utf8.h"
#include "tokenizer/normalizer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 8, AROUND_BYTES = 4, REST_BYTES = 32, CODE_BYTES = 12 }; /* around: , '' */

static const char cut[] = "...";

enum { WHOLE_BYTES = SL_NAME_SHORT - sizeof cut };

static_assert(SHOWN_MAX * (SL_NAME_SHORT + AROUND_BYTES) + REST_BYTES <=
                  sizeof((struct sl_name_list *)NULL)->text,
              "room for all that is shown");

/* Whether a character cannot be seen, or not told from another: controls, spaces other than U+0020,
 * characters without width, and accents that are not one with their letter. */
static bool is_unseen(uint32_t point)
{
    static const struct sl_normalizer cased = {0};
    struct sl_codepoint shown[SL_NORMALIZED_MAX];
    (void)sl_normalizer_apply(&cased, point, shown);
    return shown[0].kind == SL_CODEPOINT_NONE || (point >= 0x300 && point < 0x370) ||
           (shown[0].kind == SL_CODEPOINT_SPACE && point != ' ');
}

/* The character at name[*at], or its code. Returns how many bytes it has. */
static size_t show(const char *name, size_t bytes, size_t *at, char text[CODE_BYTES])
{
    static const char *const letters[] = {['\t'] = "\\t", ['\n'] = "\\n", ['\r'] = "\\r"};
    const char *first = name + *at;
    uint32_t point;
    if (!sl_utf8_next(name, bytes, at, &point)) {
        ++*at;
        point = 0xFFFD;
    }
    if (!is_unseen(point))
        (void)snprintf(text, CODE_BYTES, "%.*s", (int)(name + *at - first), first);
    else if (point <= '\r' && letters[point])
        (void)snprintf(text, CODE_BYTES, "%s", letters[point]);
    else
        (void)snprintf(text, CODE_BYTES, "\\u%04x", point);
    return strlen(text);
}

const char *sl_name_shorten(const char *name, size_t bytes, char text[SL_NAME_SHORT])
{
    char one[CODE_BYTES];
    size_t used = 0;
    text[0] = '\0';
    for (size_t at = 0; at < bytes;) {
        const size_t more = show(name, bytes, &at, one);
        const bool fits = used + more <= WHOLE_BYTES;
        (void)snprintf(text + used, SL_NAME_SHORT - used, "%s", fits ? one : cut);
        if (!fits)
            break;
        used += more;
    }
    return text;
}

void sl_name_list_add(struct sl_name_list *names, const char *name, size_t bytes)
{
    char text[SL_NAME_SHORT];
    if (names->count++ >= SHOWN_MAX)
        return;
    sl_list_add_quoted(names->text, sizeof names->text, sl_name_shorten(name, bytes, text));
}

const char *sl_name_list_text(struct sl_name_list *names)
{
    int rest = names->count - SHOWN_MAX;
    size_t used = strlen(names->text);
    if (rest > 0)
        (void)snprintf(names->text + used, sizeof names->text - used, " and %d more", rest);
    return names->text;
}
