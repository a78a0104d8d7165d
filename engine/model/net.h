/* net.h - a model in memory: an architecture, its sizes, and its parameters with every packed form.
 *
 * Made by sl_net_create with nothing in its parameters; they are then either drawn (sl_net_draw) or
 * read from a checkpoint, and packed. A served model is read-only from there on; a trainer changes
 * values and packs again after each step. */
#pragma once

#include "arch/arch.h"
#include "sluice/model.h"

#include <pthread.h>

struct sl_engine {
    const struct sl_kernels *kernels;
    struct sl_pool *pool;
    pthread_mutex_t lock; /* held by whoever runs on the pool */
};

struct sl_model {
    struct sl_engine *engine;
    const struct sl_arch *arch;
    struct sl_config config;
    struct sl_policy policy;
    struct sl_tokenizer *tokenizer; /* owned; may be NULL in tests */
    struct sl_arena structs;
    struct sl_builder builder; /* names, shapes and first values */
    struct sl_arena values, packed, grads;
    void *self;                 /* the architecture's own struct */
    struct sl_parameter *saved; /* what a checkpoint holds: parameters, then saved buffers */
    int saved_count;
    char **labels; /* config.classes names, owned; NULL in tests */
    char sha256[65];
    int64_t created;
};

/* Takes no ownership of anything. The config must have passed sl_config_check. */
struct sl_model *sl_net_create(struct sl_engine *engine, const struct sl_arch *arch,
                               const struct sl_config *config, struct sl_err *err) SL_MUST_CHECK;

/* First values of parameters and saved buffers, from (seed, name). */
void sl_net_draw(struct sl_model *m, uint64_t seed);

/* Room for gradients and for the packed forms that backward reads. */
bool sl_net_train(struct sl_model *m, struct sl_err *err) SL_MUST_CHECK;

/* Brings derived buffers and packed forms up to date with the values. Runs on the engine's pool. */
void sl_net_pack(struct sl_model *m);

/* Around the backward passes of one step: gradients begin at zero, and in the end those of derived
 * buffers are handed on to the parameters they follow from. */
void sl_net_clear(struct sl_model *m);
void sl_net_fold(struct sl_model *m);

/* Parameters have moved by a step: saved buffers go after them. The optimiser calls this. */
void sl_net_follow(struct sl_model *m);

int64_t sl_net_parameters(const struct sl_model *m); /* how many numbers are learnt */
bool sl_net_is_finite(const struct sl_model *m);

/* One forward pass over the tape's batch: logits of the wanted rows, or of each sequence for a
 * classifier; with targets or labels also the loss. */
struct sl_tensor *sl_net_forward(const struct sl_model *m, struct sl_tape *t);

/* How it saves compute when serving: "soft", "hard", "mixed", "exit", "halt" or "none". */
const char *sl_policy_name(const struct sl_model *m);
