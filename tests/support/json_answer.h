/* json_answer.h - answers of a daemon as JSON, and their members by path. */
#pragma once

#include "support/daemon.h"

#include <jansson.h>

static inline json_t *answer_parse(const struct answer *answer)
{
    json_error_t error;
    json_t *root = json_loads(answer->body.data, JSON_REJECT_DUPLICATES, &error);
    cr_assert(root, "%s: %s", error.text, answer->body.data);
    return root;
}

/* A member by its path: choices, 0, text is "choices/0/text". */
static inline const json_t *at(const json_t *value, const char *path)
{
    char name[32];
    for (const char *p = path; *p && value; p += strcspn(p, "/"), p += *p == '/') {
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(p, "/"), p);
        value = json_is_array(value) ? json_array_get(value, (size_t)(int)strtol(name, NULL, 10))
                                     : json_object_get(value, name);
    }
    return value;
}

static inline const char *text_at(const json_t *value, const char *path)
{
    const char *text = json_string_value(at(value, path));
    cr_assert(text, "there is no text at %s", path);
    return text;
}

static inline double number_at(const json_t *value, const char *path)
{
    const json_t *number = at(value, path); /* json_is_number looks at it several times */
    cr_assert(json_is_number(number), "there is no number at %s", path);
    return json_number_value(number);
}
