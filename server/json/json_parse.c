/* json_parse.c - parses a body that is within bounds. */
#include "json/json_parse.h"
#include "base/big_numbers.h"
#include "core/limits.h"

#include <jansson.h>
#include <stdbool.h>

/* What costs the parser far more memory than its bytes: arrays, objects and members take a hundred
 * times as much. */
struct complexity {
    int depth, max_depth, containers, members;
};

static void count_byte(struct complexity *o, char byte)
{
    if (byte == '[' || byte == '{') {
        o->containers++;
        o->depth++;
        o->max_depth = o->depth > o->max_depth ? o->depth : o->max_depth;
    } else if (byte == ']' || byte == '}')
        o->depth--;
    else
        o->members += byte == ':';
}

static bool is_within(const struct complexity *o)
{
    return o->max_depth <= SV_JSON_DEPTH_MAX && o->containers <= SV_JSON_CONTAINERS_MAX &&
           o->members <= SV_JSON_MEMBERS_MAX;
}

/* Rejects what exceeds all needs before the parser allocates for it. */
static bool check_complexity(const char *bytes, size_t count, struct sv_error *error)
{
    struct complexity o = {0};
    bool quoted = false;
    for (size_t i = 0; i < count && is_within(&o); i++) {
        if (quoted && bytes[i] == '\\')
            i++;
        else if (bytes[i] == '"')
            quoted = !quoted;
        else if (!quoted)
            count_byte(&o, bytes[i]);
    }
    if (o.max_depth > SV_JSON_DEPTH_MAX)
        return sv_fail(error, SV_INVALID_VALUE, NULL, "The body is nested deeper than %d levels.",
                       SV_JSON_DEPTH_MAX);
    return is_within(&o) ||
           sv_fail(error, SV_INVALID_VALUE, NULL,
                   "The body has more than %d arrays and objects, or more than %d members of "
                   "objects.",
                   SV_JSON_CONTAINERS_MAX, SV_JSON_MEMBERS_MAX);
}

/* Some errors of the parser concern values of well-formed JSON. */
static enum sv_error_kind kind_of(enum json_error_code code)
{
    return code == json_error_duplicate_key || code == json_error_null_byte_in_key
               ? SV_INVALID_VALUE
               : SV_INVALID_JSON;
}

json_t *sv_json_parse(const char *bytes, size_t count, struct sv_error *error)
{
    json_error_t why;
    if (count == 0) {
        (void)sv_fail(error, SV_INVALID_JSON, NULL, "The body is empty; a JSON object is needed.");
        return NULL;
    }
    if (!check_complexity(bytes, count, error))
        return NULL;
    json_t *root = sl_big_numbers_load(bytes, count, &why);
    if (!root)
        (void)sv_fail(error, kind_of(json_error_code(&why)), NULL,
                      "The body is not valid JSON: %s (line %d, column %d).", why.text, why.line,
                      why.column);
    return root;
}
