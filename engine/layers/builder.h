/* builder.h - where a model's parameters are declared: name, shape, first values, once.
 *
 * An architecture's build function asks the builder for layers; from the list that results come
 * checkpoint names, parameter counts, optimiser groups and gradient tests. Names are
 * scope + name: "block.3." + "mlp.up.weight". First values depend on (seed, name) alone. */
#pragma once

#include "base/arena.h"
#include "core/tensor.h"

enum sl_init_kind { SL_INIT_CONSTANT, SL_INIT_NORMAL, SL_INIT_UNIFORM };

/* value: the constant, the standard deviation, or the bound of U(-value, value). */
struct sl_init {
    enum sl_init_kind kind;
    float value;
};

static inline struct sl_init sl_constant(float value)
{
    return (struct sl_init){SL_INIT_CONSTANT, value};
}

static inline struct sl_init sl_normal(float deviation)
{
    return (struct sl_init){SL_INIT_NORMAL, deviation};
}

static inline struct sl_init sl_uniform(float bound)
{
    return (struct sl_init){SL_INIT_UNIFORM, bound};
}

enum { SL_PARAMETERS_MAX = 4096, SL_NAME_MAX = 96 };

struct sl_builder {
    struct sl_arena *arena; /* holds structs and names; the values are allotted afterwards */
    struct sl_parameter *parameters;
    struct sl_init *inits; /* of each */
    int count;
    int attention_layers; /* numbered as they are built: the cache has a block for each */
    int cache_width;      /* the widest key + value row of any of them */
    char scope[SL_NAME_MAX];
};

void sl_builder_init(struct sl_builder *b, struct sl_arena *arena);

/* Sets the prefix of the names that follow; "" for none. */
void sl_scope(struct sl_builder *b, const char *format, ...) SL_PRINTF(2, 3);

enum sl_role {
    SL_ROLE_MATRIX, /* read by products, decays */
    SL_ROLE_TABLE,  /* looked up, perhaps read by products; does not decay */
    SL_ROLE_VECTOR  /* bias, gain or shift; does not decay */
};

struct sl_parameter *sl_parameter_add(struct sl_builder *b, const char *name, enum sl_role role,
                                      int rows, int cols, struct sl_init init);
