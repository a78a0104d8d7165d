/* arch.h - what an architecture is: a name, a paper, its hyper-parameters, build and forward.
 *
 * One file per architecture and one row in archs.def. The file holds no backward code and knows
 * nothing of threads, batches, files or HTTP. */
#pragma once

#include "layers/layers.h"

/* Every hyper-parameter that any architecture has; each lists those it reads in its table. */
struct sl_config {
    int vocab, context, width, depth, heads, hidden;
    float dropout;
    int router_width; /* 0: max(width / 4, 16) */
    float router_bias, lambda;
};

enum sl_hyper_kind { SL_INTEGER, SL_REAL };

struct sl_hyper {
    const char *name, *help;
    enum sl_hyper_kind kind;
    double least, most, standard;
    size_t offset; /* into struct sl_config: an int or a float */
};

struct sl_arch {
    const char *name, *paper, *summary;
    const struct sl_hyper *hypers; /* ends with a row without a name */
    struct sl_policy policy;       /* how it is served unless its checkpoint says otherwise */
    size_t size;                   /* of its own struct */
    /* Declares the parameters and fills self. c has been checked against hypers and by `check`. */
    void (*build)(struct sl_builder *b, void *self, const struct sl_config *c);
    /* Logits of the wanted rows; NULL while training if all went to sl_exit. */
    struct sl_tensor *(*forward)(struct sl_tape *t, const void *self);
};

/* The rows that all decoders share, for use inside a table of hyper-parameters. */
#define SL_HYPERS_DECODER                                                                          \
    {"width", "features per token (d)",         SL_INTEGER, 8, 8192,                               \
     256,     offsetof(struct sl_config, width)},                                                  \
        {"depth", "blocks (L)", SL_INTEGER, 1, 128, 6, offsetof(struct sl_config, depth)},         \
        {"heads", "attention heads (H); divides width", SL_INTEGER, 1, 128,                        \
         8,       offsetof(struct sl_config, heads)},                                              \
        {"hidden", "features inside the MLP (d_ff)",  SL_INTEGER, 8, 32768,                        \
         1024,     offsetof(struct sl_config, hidden)},                                            \
        {"context", "tokens that one forward pass can see (T)", SL_INTEGER, 2, 8192,               \
         128,       offsetof(struct sl_config, context)},                                          \
    {                                                                                              \
        "dropout", "probability of dropping, while training", SL_REAL, 0, 0.9, 0.1,                \
            offsetof(struct sl_config, dropout)                                                    \
    }

/* A decoder's block; weights that write to the residual stream start N(0, (0.02 / sqrt(2
 * depth))^2). */
struct sl_block_shape sl_block_shape_of(const struct sl_config *c);

const struct sl_arch *sl_arch_find(const char *name); /* NULL when there is none */
const struct sl_arch *sl_arch_at(int index);          /* NULL past the last */

/* Fills c with the standards of its table. vocab stays 0: it comes from the tokenizer. */
void sl_config_standard(const struct sl_arch *arch, struct sl_config *c);
/* Sets one by name; unknown names and values out of bounds are named with what would do. */
bool sl_config_set(const struct sl_arch *arch, struct sl_config *c, const char *name, double value,
                   struct sl_err *err) SL_MUST_CHECK;
double sl_config_get(const struct sl_config *c, const struct sl_hyper *hyper);
/* What no single bound says: heads divide width, the sizes fit in memory. */
bool sl_config_check(const struct sl_arch *arch, const struct sl_config *c, struct sl_err *err)
    SL_MUST_CHECK;
