/* builder.h - where a model's parameters are declared: name, shape and initial values, once.
 *
 * An architecture's build function asks the builder for layers; from the list that results come
 * checkpoint names, parameter counts, optimiser groups and gradient tests. Names are
 * scope + name: "layers.3." + "mlp.up.weight". Initial values depend only on (seed, name). */
#pragma once

#include "autograd/tensor.h"
#include "base/arena.h"

#include <stdint.h>

/* The initial values of a matrix, element by element. `args` is for initialisers of a paper, such
 * as arch/transevolve/random_rotation.c. */
struct sl_init {
    /* The element at (row, col) of a matrix of `cols` columns. `key` is that of the parameter's
     * random numbers (base/random.h). */
    double (*element)(const struct sl_init *init, uint64_t key, int row, int col, int cols);
    float value;
    int args[2];
    /* Name of the random stream; NULL: the parameter's name and the seed. Set for values that are
     * neither trained nor saved, so that renaming a parameter does not change a trained model. */
    const char *stream;
};

struct sl_init sl_constant(float value);
struct sl_init sl_normal(float deviation); /* N(0, deviation^2) */
struct sl_init sl_uniform(float bound);    /* U(-bound, bound) */

/* U(-b, b) with b = sqrt(6 / (ins + outs)): Glorot & Bengio 2010, eq. 16. */
struct sl_init sl_glorot(int ins, int outs);

/* The position table of Vaswani et al. 2017, section 3.5: sine and cosine of a frequency side by
 * side, or with `halves` all sines before all cosines (as in tensor2tensor). */
struct sl_init sl_sinusoidal(bool halves);

enum { SL_PARAMETERS_MAX = 4096, SL_BUFFERS_MAX = 1024, SL_NAME_MAX = 96 };

/* Matrices of a model that are not trained. */
enum sl_buffer_kind {
    SL_BUFFER_SAVED,  /* state that training updates: initialized randomly, kept in checkpoints */
    SL_BUFFER_SHARED, /* the same, but never updated, in the file of another model, and in memory
                       * that models share, which is set after the model was created */
    SL_BUFFER_FIXED,  /* a function of its name and shape: never saved */
    SL_BUFFER_DERIVED /* computed from parameters by the layer's `materialize`; `backprop` adds its
                       * gradient to theirs */
};

struct sl_kernels;

/* How a layer computes its buffers. */
struct sl_buffer_hooks {
    /* Computes derived buffers from parameters and saved buffers; called before every packing. */
    void (*materialize)(const void *layer, const struct sl_kernels *kernels);
    /* Propagates the gradients of derived buffers to the parameters; called once per step, when
     * they are complete. */
    void (*backprop)(const void *layer, const struct sl_kernels *kernels);
    /* Updates saved buffers that depend on parameters; called once after initialization (`fresh`)
     * and after every training step, never after reading them from a file. */
    void (*update)(const void *layer, const struct sl_kernels *kernels, bool fresh);
};

struct sl_builder {
    struct sl_arena *arena; /* holds structs and names; values are allocated later */
    struct sl_parameter *parameters;
    struct sl_init *inits; /* of each */
    int count;
    struct sl_parameter *buffers;
    struct sl_init *buffer_inits;
    enum sl_buffer_kind *buffer_kinds;
    int buffer_count;
    struct sl_hooked_layer *hooked; /* layers with buffer hooks, in the order of declaration */
    int hooked_count;
    int cache_operands, cache_floats; /* reserved columns of the cache */
    size_t cache_state;               /* reserved floats of the cache's state */
    bool bf16_cache;       /* keys and values of attention are to be bf16, and operands are fp32 */
    float scale_embedding; /* by which the rows of the token table are multiplied; 0: no table */
    int token_types;       /* rows of the table of token types; 0: no table */
    char scope[SL_NAME_MAX];
};

/* A copy of a layer and its hooks. */
struct sl_hooked_layer {
    const struct sl_buffer_hooks *hooks;
    const void *layer;
};

void sl_builder_init(struct sl_builder *b, struct sl_arena *arena, bool bf16_cache);
/* The parameter or buffer of this name; NULL: there is none. */
const struct sl_parameter *sl_builder_find(const struct sl_builder *b, const char *name);

/* Reserves columns of the cache; a column has one element per token, operand or fp32. Returns the
 * first. */
int sl_cache_operands(struct sl_builder *b, int columns);
int sl_cache_floats(struct sl_builder *b, int columns);
/* Reserves `floats` fp32 numbers of the cache, for a text of any length. Returns the offset. */
size_t sl_cache_state(struct sl_builder *b, size_t floats);

/* Sets the prefix of the names that follow; "" for none. */
void sl_scope(struct sl_builder *b, const char *format, ...) SL_PRINTF(2, 3);

enum sl_role {
    SL_ROLE_MATRIX, /* read by products, decays */
    SL_ROLE_SOURCE, /* decays; what products read is derived from it */
    SL_ROLE_TABLE,  /* looked up, perhaps read by products; does not decay */
    SL_ROLE_VECTOR  /* bias, or a norm's weight; does not decay */
};

struct sl_parameter *sl_parameter_add(struct sl_builder *b, const char *name, enum sl_role role,
                                      int rows, int cols, struct sl_init init);

/* product: read by matrix products. The initial values of a derived buffer do not matter. */
struct sl_buffer_shape {
    enum sl_buffer_kind kind;
    int rows, cols;
    bool product;
    struct sl_init init;
};
struct sl_parameter *sl_buffer_add(struct sl_builder *b, const char *name,
                                   struct sl_buffer_shape shape);
/* Whether the buffer at this index is in model.safetensors; `shared`: so are shared ones, because
 * the file is that of the base itself. The second is how many numbers are in all of these. */
bool sl_buffer_is_stored(const struct sl_builder *b, int index, bool shared);
int64_t sl_stored_floats(const struct sl_builder *b, bool shared);

/* Copies the layer, which must be complete. Hooks that are not needed are NULL. */
void sl_buffer_hooks_add(struct sl_builder *b, const struct sl_buffer_hooks *hooks,
                         const void *layer, size_t bytes);
