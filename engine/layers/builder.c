/* builder.c - parameters, declared once: names, shapes, first values. */
#include "layers/builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sl_builder_init(struct sl_builder *b, struct sl_arena *arena)
{
    *b = (struct sl_builder){.arena = arena};
    b->parameters = sl_arena_take(arena, SL_PARAMETERS_MAX, sizeof *b->parameters);
    b->inits = sl_arena_take(arena, SL_PARAMETERS_MAX, sizeof *b->inits);
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

struct sl_parameter *sl_parameter_add(struct sl_builder *b, const char *name, enum sl_role role,
                                      int rows, int cols, struct sl_init init)
{
    assert(b->count < SL_PARAMETERS_MAX);
    assert(rows > 0);
    assert(cols > 0);
    char *full = sl_arena_take(b->arena, SL_NAME_MAX, 1);
    int length = snprintf(full, SL_NAME_MAX, "%s%s", b->scope, name);
    assert(length > 0);
    assert(length < SL_NAME_MAX);
    b->inits[b->count] = init;
    b->parameters[b->count] = (struct sl_parameter){.name = full,
                                                    .rows = rows,
                                                    .cols = cols,
                                                    .decays = role == SL_ROLE_MATRIX,
                                                    .product = role == SL_ROLE_MATRIX};
    return &b->parameters[b->count++];
}
