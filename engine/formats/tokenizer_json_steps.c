/* tokenizer_json_steps.c - members by type, and sequences of steps. */
#include "formats/tokenizer_json_parts.h"

#include "base/comma_list.h"
#include "formats/json_io.h"

#include <jansson.h>
#include <string.h>

enum { DEPTH_MAX = 8 }; /* of sequences within sequences */

static bool fail_type(const char *key, const json_t *value, const char *wanted, struct sl_err *err)
{
    return sl_fail(err, SL_CORRUPT, "'%s' is %s: expected %s", key, sl_json_type(value), wanted);
}

bool sl_member_flag(const json_t *object, const char *key, bool *out, struct sl_err *err)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return true;
    if (!json_is_boolean(value))
        return fail_type(key, value, "true or false", err);
    *out = json_is_true(value);
    return true;
}

bool sl_member_text(const json_t *object, const char *key, const char **out, struct sl_err *err)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return true;
    if (!json_is_string(value))
        return fail_type(key, value, "a string", err);
    *out = json_string_value(value);
    return true;
}

bool sl_member_whole(const json_t *object, const char *key, int max, int *out, struct sl_err *err)
{
    const json_t *value = json_object_get(object, key);
    int64_t number;
    if (!value || json_is_null(value))
        return true;
    if (!sl_json_whole(object, key, (struct sl_bounds){0, max}, &number, err))
        return false;
    *out = (int)number;
    return true;
}

bool sl_member_short(const json_t *object, const char *key, size_t min, struct sl_short_text *out,
                     struct sl_err *err)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return fail_type(key, value, "a string", err);
    out->bytes = json_string_length(value);
    if (out->bytes < min || out->bytes >= SL_SHORT_TEXT_MAX)
        return sl_fail(err, SL_CORRUPT, "'%s' has %zu bytes: expected %zu to %d", key, out->bytes,
                       min, SL_SHORT_TEXT_MAX - 1);
    memcpy(out->text, json_string_value(value), out->bytes);
    return true;
}

/* -- sequences -------------------------------------------------------------------------------- */

static bool fail_unknown(const struct sl_step_section *section, const char *type,
                         struct sl_err *err)
{
    char known[512] = "";
    for (const struct sl_step_type *t = section->types; t->name; t++)
        sl_list_add(known, sizeof known, t->name);
    return sl_fail(err, SL_CORRUPT, "unknown type '%.64s': expected one of: %s, Sequence", type,
                   known);
}

static bool step_build(const struct sl_step_section *section, const json_t *step,
                       struct sl_pipeline_parts *parts, struct sl_err *err)
{
    const char *type = sl_json_text(step, "type", err);
    if (!type)
        return false;
    for (const struct sl_step_type *t = section->types; t->name; t++)
        if (strcmp(t->name, type) == 0)
            return (t->build ? t->build(step, parts, err) : section->add(parts, t->kind, err)) ||
                   sl_wrap(err, "%s", type);
    return fail_unknown(section, type, err);
}

/* The list of steps of a Sequence; NULL: it is another step. */
static const json_t *steps_of(const struct sl_step_section *section, const json_t *step)
{
    const char *type = json_string_value(json_object_get(step, "type"));
    return type && strcmp(type, "Sequence") == 0 ? json_object_get(step, section->list) : NULL;
}

/* A Sequence that is being read. */
struct frame {
    const json_t *steps;
    size_t next;
};

static bool sequence_read(const struct sl_step_section *section, const json_t *steps,
                          struct sl_pipeline_parts *parts, struct sl_err *err)
{
    struct frame stack[DEPTH_MAX] = {{.steps = steps}};
    int depth = 1;
    while (depth > 0) {
        struct frame *top = &stack[depth - 1];
        if (top->next == json_array_size(top->steps)) {
            depth--;
            continue;
        }
        const json_t *step = json_array_get(top->steps, top->next++), *inner;
        bool ok = true;
        if (!json_is_object(step))
            ok = sl_fail(err, SL_CORRUPT, "%s: expected an object", sl_json_type(step));
        else if (!(inner = steps_of(section, step)))
            ok = step_build(section, step, parts, err);
        else if (depth == DEPTH_MAX)
            ok = sl_fail(err, SL_CORRUPT, "more than %d sequences within each other", DEPTH_MAX);
        else
            stack[depth++] = (struct frame){.steps = inner};
        if (!ok)
            return sl_wrap(err, "%s[%zu]", section->name, stack[0].next - 1);
    }
    return true;
}

bool sl_step_section_read(const struct sl_step_section *section, const json_t *root,
                          struct sl_pipeline_parts *parts, struct sl_err *err)
{
    const json_t *step = json_object_get(root, section->name), *steps;
    if (!step || json_is_null(step))
        return true;
    if (!json_is_object(step))
        return fail_type(section->name, step, "an object", err);
    if ((steps = steps_of(section, step)))
        return sequence_read(section, steps, parts, err);
    return step_build(section, step, parts, err) || sl_wrap(err, "%s", section->name);
}
