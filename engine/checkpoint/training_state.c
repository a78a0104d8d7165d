/* training_state.c - a trainer's state, written and read. */
#include "checkpoint/training_state.h"

#include "base/comma_list.h"
#include "base/number_text.h"
#include "checkpoint/manifest.h"
#include "formats/json_io.h"
#include "formats/tensor_io.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum member { COUNTERS, NUMBERS, MEMBERS };

enum { GROUPS = 4, SLOT_NAME = 128 };

static const char *const names[MEMBERS] = {
    [COUNTERS] = "state.json",
    [NUMBERS] = "state.safetensors",
};

static const char *const prefixes[GROUPS] = {"parameter", "exp_avg", "exp_avg_sq", "average"};

/* -- numbers --------------------------------------------------------------------------- */

/* Every group has the trained parameters; the first one also the buffers. */
static int slots_count(const struct sl_training_state *s)
{
    int groups = s->average ? GROUPS : GROUPS - 1;
    return s->count * groups - s->buffers * (groups - 1);
}

/* Slots with names of their own: one allocation, names behind slots. */
static struct sl_tensor_slot *slots_of(const struct sl_training_state *s, struct sl_err *err)
{
    const size_t total = (size_t)slots_count(s), learnt = (size_t)(s->count - s->buffers);
    struct sl_tensor_slot *slots = calloc(total + 1, sizeof *slots + SLOT_NAME);
    if (!slots) {
        sl_fail(err, SL_NO_MEMORY, "no memory for %zu tensors", total);
        return NULL;
    }
    char *name = (char *)(slots + total + 1);
    for (size_t i = 0; i < total; i++, name += SLOT_NAME) {
        const size_t past = i - (size_t)s->count;
        const size_t group = i < (size_t)s->count ? 0 : 1 + past / learnt;
        const size_t at = group == 0 ? i : past % learnt;
        const struct sl_parameter *p = &s->parameters[at];
        float *const data[GROUPS] = {p->data, group ? s->first[at] : NULL,
                                     group ? s->second[at] : NULL,
                                     group && s->average ? s->average[at] : NULL};
        (void)snprintf(name, SLOT_NAME, "%s.%s", prefixes[group], p->name);
        slots[i] = (struct sl_tensor_slot){
            .name = name, .data = data[group], .rows = p->rows, .cols = p->cols};
    }
    return slots;
}

static bool numbers_write(const char *directory, const struct sl_training_state *s,
                          struct sl_err *err)
{
    char path[SL_PATH_MAX];
    struct sl_tensor_slot *list = slots_of(s, err);
    if (!list)
        return false;
    const struct sl_tensor_slots slots = {list, slots_count(s)};
    bool ok = sl_path_join(path, directory, names[NUMBERS], err) && sl_tensors_check(slots, err) &&
              sl_tensors_write(path, slots, /* metadata= */ NULL, 0, err);
    free(list);
    return ok || sl_wrap(err, "'%s'", names[NUMBERS]);
}

static bool numbers_read(const struct sl_map *map, const struct sl_training_state *s,
                         struct sl_err *err)
{
    struct sl_safetensors file = {0};
    struct sl_tensor_slot *list = slots_of(s, err);
    bool ok = list && sl_safetensors_parse(&file, map->data, map->size, err) &&
              sl_tensors_read(&file, (struct sl_tensor_slots){list, slots_count(s)}, NULL, err);
    sl_safetensors_close(&file);
    free(list);
    return ok || sl_wrap(err, "'%s'", names[NUMBERS]);
}

/* -- counters -------------------------------------------------------------------------- */

/* JSON has no word for these. */
static json_t *number_print(double x)
{
    if (isnan(x))
        return json_string("nan");
    if (isinf(x))
        return json_string(x > 0 ? "infinity" : "-infinity");
    return json_real(x);
}

static bool number_read(const json_t *value, const char *name, double *out, struct sl_err *err)
{
    const char *word = json_string_value(value);
    if (json_is_number(value))
        *out = json_number_value(value);
    else if (word && strcmp(word, "nan") == 0)
        *out = (double)NAN;
    else if (word && strcmp(word, "infinity") == 0)
        *out = (double)INFINITY;
    else if (word && strcmp(word, "-infinity") == 0)
        *out = -(double)INFINITY;
    else
        return sl_fail(err, SL_CORRUPT, "'%s' is %s: expected a number", name, sl_json_type(value));
    return true;
}

static json_t *counters_object(const struct sl_training_state *s)
{
    json_t *object = json_object();
    for (int i = 0; i < s->counters_count; i++) {
        const struct sl_state_entry *c = &s->counters[i];
        json_t *value =
            c->kind == SL_ENTRY_INTEGER ? json_integer(c->whole) : number_print(c->number);
        if (json_object_set_new(object, c->name, value) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static char *counters_print(const struct sl_training_state *s, struct sl_err *err)
{
    json_auto_t *root = json_pack("{s:s, s:o}", "format", sl_format, "values", counters_object(s));
    if (root)
        return sl_json_print(root, SL_JSON_EXACT, err);
    sl_fail(err, SL_NO_MEMORY, "no memory for %d counters", s->counters_count);
    return NULL;
}

static bool counter_read(struct sl_state_entry *c, const json_t *object, struct sl_err *err)
{
    if (c->kind == SL_ENTRY_INTEGER)
        return sl_json_whole(object, c->name, (struct sl_bounds){INT64_MIN, INT64_MAX}, &c->whole,
                             err);
    return number_read(json_object_get(object, c->name), c->name, &c->number, err);
}

static bool counters_read(const struct sl_map *map, const struct sl_training_state *s, bool all,
                          struct sl_err *err)
{
    static const char *const keys[] = {"format", "values", NULL};
    json_auto_t *root = sl_json_parse(map->data, map->size, err);
    json_t *object = NULL;
    if (root && sl_json_format(root, err) && sl_json_keys(root, keys, err))
        object = sl_json_object(root, "values", err);
    bool ok = object;
    for (int i = 0; i < s->counters_count && ok; i++)
        ok = counter_read(&s->counters[i], object, err);
    if (ok && all && json_object_size(object) != (size_t)s->counters_count)
        ok = sl_fail(err, SL_CORRUPT, "%zu counters: expected %d", json_object_size(object),
                     s->counters_count);
    return ok || sl_wrap(err, "'%s'", names[COUNTERS]);
}

/* -- both ------------------------------------------------------------------------------ */

static bool files_write(struct sl_manifest_writer *writer, const char *directory,
                        const struct sl_training_state *s, struct sl_err *err)
{
    struct sl_manifest_file members[MEMBERS] = {{.name = names[0]}, {.name = names[1]}};
    const struct sl_manifest manifest = {
        .members = members, .count = MEMBERS, .created = (int64_t)time(NULL)};
    const char *tmp = writer->tmp;
    return sl_manifest_add(tmp, names[COUNTERS], counters_print(s, err), err) &&
           numbers_write(tmp, s, err) && sl_manifest_commit(writer, directory, &manifest, err);
}

static bool fail_state(const char *step, const char *directory, struct sl_err *err)
{
    (void)sl_err_set_path(err, directory);
    return sl_wrap(err, "%s '%s'", step, directory);
}

bool sl_training_state_write(const char *directory, const struct sl_training_state *state,
                             struct sl_err *err)
{
    struct sl_manifest_writer writer;
    if (!sl_manifest_begin(&writer, directory, err))
        return fail_state("write training state", directory, err);
    if (files_write(&writer, directory, state, err))
        return true;
    sl_manifest_abandon(&writer);
    return fail_state("write training state", directory, err);
}

bool sl_training_state_peek(const char *directory, struct sl_state_entry *counters, int count,
                            struct sl_err *err)
{
    struct sl_manifest_file members[MEMBERS] = {{.name = names[0]}, {.name = names[1]}};
    struct sl_manifest manifest = {.members = members, .count = MEMBERS};
    const struct sl_training_state state = {.counters = counters, .counters_count = count};
    if (!sl_manifest_open(directory, &manifest, err))
        return fail_state("training state", directory, err);
    bool ok = counters_read(&members[COUNTERS].map, &state, false, err);
    sl_manifest_close(&manifest);
    return ok || fail_state("training state", directory, err);
}

bool sl_state_numbers_agree(const struct sl_state_entry *saved, const struct sl_state_entry *asked,
                            int count, struct sl_err *err)
{
    char list[400] = "";
    for (int i = 0; i < count; i++) {
        if (saved[i].kind != SL_ENTRY_REAL || saved[i].number == asked[i].number)
            continue;
        char before[SL_NUMBER_TEXT], now[SL_NUMBER_TEXT], difference[2 * SL_NUMBER_TEXT + 64];
        sl_number_format(saved[i].number, before);
        sl_number_format(asked[i].number, now);
        (void)snprintf(difference, sizeof difference, "%s %s (now %s)", asked[i].name, before, now);
        sl_list_add(list, sizeof list, difference);
    }
    return !list[0] ||
           sl_fail(err, SL_BAD_INPUT,
                   "the run was started with %s; give all options that it was started with", list);
}

bool sl_training_state_read(const char *directory, const struct sl_training_state *state,
                            struct sl_err *err)
{
    struct sl_manifest_file members[MEMBERS] = {{.name = names[0]}, {.name = names[1]}};
    struct sl_manifest manifest = {.members = members, .count = MEMBERS};
    if (!sl_manifest_open(directory, &manifest, err))
        return fail_state("training state", directory, err);
    bool ok = counters_read(&members[COUNTERS].map, state, true, err) &&
              numbers_read(&members[NUMBERS].map, state, err);
    sl_manifest_close(&manifest);
    return ok || fail_state("training state", directory, err);
}
