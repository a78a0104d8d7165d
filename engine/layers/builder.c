/* builder.c - parameters, declared once: names, shapes, initial values. */
#include "layers/builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sl_builder_init(struct sl_builder *b, struct sl_arena *arena, bool bf16_cache)
{
    *b = (struct sl_builder){.arena = arena, .bf16_cache = bf16_cache};
    b->parameters = sl_arena_take(arena, SL_PARAMETERS_MAX, sizeof *b->parameters);
    b->inits = sl_arena_take(arena, SL_PARAMETERS_MAX, sizeof *b->inits);
    b->buffers = sl_arena_take(arena, SL_BUFFERS_MAX, sizeof *b->buffers);
    b->buffer_inits = sl_arena_take(arena, SL_BUFFERS_MAX, sizeof *b->buffer_inits);
    b->buffer_kinds = sl_arena_take(arena, SL_BUFFERS_MAX, sizeof *b->buffer_kinds);
    b->hooked = sl_arena_take(arena, SL_BUFFERS_MAX, sizeof *b->hooked);
}

static const struct sl_parameter *find(const struct sl_parameter *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

const struct sl_parameter *sl_builder_find(const struct sl_builder *b, const char *name)
{
    const struct sl_parameter *found = find(b->parameters, b->count, name);
    return found ? found : find(b->buffers, b->buffer_count, name);
}

void sl_scope(struct sl_builder *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(b->scope, sizeof b->scope, format, args);
    va_end(args);
    assert(length >= 0);
    assert(length < (int)sizeof b->scope);
}

int sl_cache_operands(struct sl_builder *b, int columns)
{
    assert(columns > 0);
    b->cache_operands += columns;
    return b->cache_operands - columns;
}

int sl_cache_floats(struct sl_builder *b, int columns)
{
    assert(columns > 0);
    b->cache_floats += columns;
    return b->cache_floats - columns;
}

size_t sl_cache_state(struct sl_builder *b, size_t floats)
{
    assert(floats > 0);
    b->cache_state += floats;
    return b->cache_state - floats;
}

/* Scope and name, in the builder's arena. */
static const char *full_name(struct sl_builder *b, const char *name)
{
    char *full = sl_arena_take(b->arena, SL_NAME_MAX, 1);
    int length = snprintf(full, SL_NAME_MAX, "%s%s", b->scope, name);
    assert(length > 0);
    assert(length < SL_NAME_MAX);
    return full;
}

struct sl_parameter *sl_parameter_add(struct sl_builder *b, const char *name, enum sl_role role,
                                      int rows, int cols, struct sl_init init)
{
    assert(b->count < SL_PARAMETERS_MAX);
    assert(rows > 0);
    assert(cols > 0);
    b->inits[b->count] = init;
    b->parameters[b->count] =
        (struct sl_parameter){.name = full_name(b, name),
                              .rows = rows,
                              .cols = cols,
                              .decays = role == SL_ROLE_MATRIX || role == SL_ROLE_SOURCE,
                              .product = role == SL_ROLE_MATRIX};
    return &b->parameters[b->count++];
}

struct sl_parameter *sl_buffer_add(struct sl_builder *b, const char *name,
                                   struct sl_buffer_shape shape)
{
    assert(b->buffer_count < SL_BUFFERS_MAX);
    assert(shape.rows > 0);
    assert(shape.cols > 0);
    b->buffer_inits[b->buffer_count] = shape.init;
    b->buffer_kinds[b->buffer_count] = shape.kind;
    b->buffers[b->buffer_count] = (struct sl_parameter){.name = full_name(b, name),
                                                        .rows = shape.rows,
                                                        .cols = shape.cols,
                                                        .product = shape.product};
    return &b->buffers[b->buffer_count++];
}

bool sl_buffer_is_stored(const struct sl_builder *b, int index, bool shared)
{
    return b->buffer_kinds[index] == SL_BUFFER_SAVED ||
           (shared && b->buffer_kinds[index] == SL_BUFFER_SHARED);
}

int64_t sl_stored_floats(const struct sl_builder *b, bool shared)
{
    int64_t total = 0;
    for (int i = 0; i < b->buffer_count; i++)
        if (sl_buffer_is_stored(b, i, shared))
            total += (int64_t)sl_parameter_floats(&b->buffers[i]);
    return total;
}

void sl_buffer_hooks_add(struct sl_builder *b, const struct sl_buffer_hooks *hooks,
                         const void *layer, size_t bytes)
{
    assert(b->hooked_count < SL_BUFFERS_MAX);
    void *copy = sl_arena_take(b->arena, 1, bytes);
    memcpy(copy, layer, bytes);
    b->hooked[b->hooked_count++] = (struct sl_hooked_layer){hooks, copy};
}
