/* model.h - a model in memory: an architecture, its sizes, and its parameters with every packed
 * form.
 *
 * sl_model_create allocates the parameters. They are then initialized (sl_model_initialize) or read
 * from a checkpoint (sl_model_open does both), and packed. A served model is read-only from there
 * on; a trainer changes the values and packs again after each step. */
#pragma once

#include "arch/arch.h"
#include "model/engine.h"
#include "sluice/model.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/prompts.h"

struct sl_model {
    struct sl_engine *engine;
    const struct sl_kernels *kernels; /* that it computes with */
    bool int8;                        /* products of rows that are long enough */
    const struct sl_arch *arch;
    struct sl_config config;
    struct sl_policy policy;
    struct sl_operating_point operating_points[SL_OPERATING_POINTS_MAX];
    struct sl_policy point_policies[SL_OPERATING_POINTS_MAX]; /* of each operating point */
    int operating_point_count;
    struct sl_tokenizer *tokenizer; /* owned; may be NULL in tests */
    struct sl_chat_facts chat;
    struct sl_prompts prompts; /* owned */
    struct sl_arena structs;
    struct sl_builder builder; /* names, shapes and initial values */
    struct sl_arena values, packed, grads;
    void *self;                      /* the architecture's own struct */
    struct sl_parameter *state_dict; /* what a checkpoint holds: parameters, then saved buffers */
    int state_dict_count;
    struct sl_shared_values *shared; /* or NULL */
    char *base;    /* the name of the model that has these, as in its config.json; owned; or NULL */
    char **labels; /* config.classes names, owned; NULL in tests */
    char *training; /* where it comes from: a JSON object, as in its config.json; owned; or NULL */
    char sha256[65];
    int64_t created;
    struct sl_model_info info;
};

/* Takes no ownership of anything. The config must have passed sl_config_check. */
struct sl_model *sl_model_create(struct sl_engine *engine, const struct sl_arch *arch,
                                 const struct sl_config *config, struct sl_err *err) SL_MUST_CHECK;
/* The same in a precision of which this CPU has kernels; any: without int8. */
struct sl_model *sl_model_create_as(struct sl_engine *engine, const struct sl_arch *arch,
                                    const struct sl_config *config, enum sl_precision precision,
                                    struct sl_err *err) SL_MUST_CHECK;
/* The same values as in a model that has kept them, packed; without tokenizer and labels. */
struct sl_model *sl_model_copy(const struct sl_model *from, struct sl_engine *engine,
                               enum sl_precision precision, struct sl_err *err) SL_MUST_CHECK;
/* Some of its products can be computed in int8. */
bool sl_model_can_int8(const struct sl_model *m);

/* Sets the buffers that are SL_BUFFER_SHARED. The model takes over this use of the values, also on
 * failure: they are of another shape. */
bool sl_model_share(struct sl_model *m, struct sl_shared_values *values, struct sl_err *err)
    SL_MUST_CHECK;

/* Computes info again: after labels, policy, digest or date were set. */
void sl_model_describe(struct sl_model *m);

/* Sets the operating points, whose policies are that of the model with other thresholds. They must
 * be by falling budget; the architecture must have a threshold if there are any. */
void sl_model_set_operating_points(struct sl_model *m, const struct sl_operating_point *points,
                                   int count);
/* The policy of an operating point, by its number from 1; NULL for 0. */
const struct sl_policy *sl_model_point_policy(const struct sl_model *m, int number);
/* The model's policy with another threshold, which must be within its row's bounds. */
struct sl_policy sl_model_policy_at(const struct sl_model *m, double threshold);

/* A parameter or saved buffer; NULL: there is none of this name. */
struct sl_parameter *sl_model_find(const struct sl_model *m, const char *name);

/* Initial values of parameters and saved buffers, from (seed, name). */
void sl_model_initialize(struct sl_model *m, uint64_t seed);

/* Memory for gradients and for the packed forms that backward reads. */
bool sl_model_allocate_gradients(struct sl_model *m, struct sl_err *err) SL_MUST_CHECK;

/* Brings derived buffers and packed forms up to date with the values. Runs on the engine's pool. */
void sl_model_pack(struct sl_model *m);
/* The same on the calling thread alone, beside what runs on the pool. */
void sl_model_pack_alone(struct sl_model *m);
/* Frees the values of matrices that only products read, which is most of a model: from then on it
 * can only run. */
void sl_model_discard_values(struct sl_model *m);

/* Around the backward passes of one step: gradients begin at zero; at the end those of derived
 * buffers are propagated to the parameters from which they were computed. */
void sl_model_zero_gradients(struct sl_model *m);
void sl_model_backprop_buffers(struct sl_model *m);

/* Updates saved buffers after an optimizer step has changed the parameters. */
void sl_model_update_buffers(struct sl_model *m);

/* Removes from a list of the model's parameters those whose rows or columns stand for labels: their
 * shapes depend on the number of classes. False: no memory. */
bool sl_model_exclude_class_parameters(const struct sl_model *m, struct sl_parameter *list,
                                       int *count, struct sl_err *err) SL_MUST_CHECK;

int64_t sl_model_parameter_count(const struct sl_model *m);

/* One forward pass over the tape's batch: logits of the requested rows, or of each sequence for a
 * classifier; with targets or labels also the loss. */
struct sl_tensor *sl_model_forward(const struct sl_model *m, struct sl_tape *t);
/* A tape for forward passes under a policy, which must outlive it; a dry run of the largest batch
 * gives its size. sl_tape_release frees it. */
bool sl_model_open_tape(const struct sl_model *m, const struct sl_policy *policy,
                        const struct sl_batch *largest, struct sl_tape *tape, struct sl_err *err)
    SL_MUST_CHECK;
