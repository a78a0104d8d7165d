/* arch.h - what an architecture is: a name, a paper, its hyper-parameters, build and forward.
 *
 * One file per architecture and one row in archs.def. The file holds no backward code and knows
 * nothing of threads, batches, files or HTTP. */
#pragma once

#include "base/number.h"
#include "layers/layers.h"
#include "sluice/model.h"

/* Every hyper-parameter that any architecture has; each lists those it reads in its table. Task,
 * vocab, padding and classes are no hyper-parameters: they come from what is learnt. */
struct sl_config {
    enum sl_task task;
    int vocab, classes; /* classes: 0 unless the task is classification */
    int padding_token;  /* of the vocabulary: 1 + its id; 0: it has none */
    int context, width, depth, heads, hidden;
    float dropout;
    int router_width; /* 0: max(width / 4, 16) */
    float router_bias, lambda, undecided_price;
    int attention;                         /* enum sl_attention */
    int pooling;                           /* enum sl_pooling */
    int norm, activation, embedding_start; /* choices of the encoder */
    int embedding_scale, final_norm;       /* 0 or 1 */
    float embedding_dropout;
    int pairs;                    /* rows of a table for pairs of neighbouring tokens; 0: none */
    int bag;                      /* rows of a linear model beside the rest; 0: none */
    int bins, latents, mask_keys; /* Epsilon: B, d_lat */
    float residual_scale, halting_mean, kl_price, entropy_price;
    int pattern, stride, window, pool, experts, experts_used, stabilised; /* EAM */
    float balance_price;
    int blocks, mixing, time_form, random_offset; /* TransEvolve */
};

enum sl_attention { SL_ATTENTION_CAUSAL, SL_ATTENTION_BOTH_WAYS };

/* How a model leaves work out when it serves. */
enum sl_saving {
    SL_SAVES_NOTHING,
    SL_SAVES_BY_GATES,   /* as policy.gate says */
    SL_SAVES_BY_EXITS,   /* policy.exit_threshold */
    SL_SAVES_BY_HALTING, /* its tokens decide alone */
};

struct sl_arch {
    const char *name, *paper, *summary;
    const struct sl_number *hypers; /* of struct sl_config */
    enum sl_saving saving;
    unsigned tasks;          /* bits: 1u << SL_TASK_... for each that it can do */
    struct sl_policy policy; /* how it is served unless its checkpoint says otherwise */
    size_t size;             /* of its own struct */
    /* What no single bound says about its hyper-parameters, or NULL; part of sl_config_check. */
    bool (*check)(const struct sl_config *c, struct sl_err *err);
    /* Declares the parameters and fills self. c has been checked against hypers and by `check`. */
    void (*build)(struct sl_builder *b, void *self, const struct sl_config *c);
    /* Logits of the wanted rows, or of each sequence when the task is classification; NULL while
     * training if all went to sl_exit. */
    struct sl_tensor *(*forward)(struct sl_tape *t, const void *self);
};

enum { SL_COMPLETES = 1u << SL_TASK_COMPLETION, SL_CLASSIFIES = 1u << SL_TASK_CLASSIFICATION };

/* The rows that all decoders share, for use inside a table of hyper-parameters. */
#define SL_HYPERS_DECODER                                                                          \
    SL_INTEGER_ROW(sl_config, width, 8, 8192, 256, "features per token (d)"),                      \
        SL_INTEGER_ROW(sl_config, depth, 1, 128, 6, "blocks (L)"),                                 \
        SL_INTEGER_ROW(sl_config, heads, 1, 128, 8, "attention heads (H); divides width"),         \
        SL_INTEGER_ROW(sl_config, hidden, 8, 32768, 1024, "features inside the MLP (d_ff)"),       \
        SL_INTEGER_ROW(sl_config, context, 2, 8192, 128,                                           \
                       "tokens that one forward pass can see (T)"),                                \
        SL_REAL_ROW(sl_config, dropout, 0, 0.9, 0.1, "probability of dropping, while training")

/* Of classifiers that may look up pairs, as features or for the answer itself. */
#define SL_HYPERS_TABLES                                                                           \
    SL_INTEGER_ROW(sl_config, pairs, 0, 1 << 24, 0,                                                \
                   "rows of a table for hashed pairs of neighbouring tokens; 0: none"),            \
        SL_INTEGER_ROW(sl_config, bag, 0, 1 << 24, 0,                                              \
                       "rows of a linear model of one to three tokens beside the rest; 0: none")

/* What a decoder's architecture needs to know as a classifier. */
#define SL_HYPERS_CLASSIFIER                                                                       \
    SL_CHOICE_ROW(sl_config, attention, sl_attention_names, SL_ATTENTION_BOTH_WAYS,                \
                  SL_ATTENTION_BOTH_WAYS, "what a token sees, as a classifier"),                   \
        SL_CHOICE_ROW(sl_config, pooling, sl_pooling_names, SL_POOLING_LAST, SL_POOLING_MEAN,      \
                      "how a text becomes one row, as a classifier")
extern const char *const sl_attention_names[]; /* ends with NULL */

/* A decoder's tables, N(0, 0.02^2) at first, tied to the logits when it completes. */
struct sl_embedding_shape sl_embedding_shape_of(const struct sl_config *c);

/* A decoder's block; weights that write to the residual stream start N(0, (0.02 / sqrt(2
 * depth))^2). */
struct sl_block_shape sl_block_shape_of(const struct sl_config *c);

/* "completion", "classification": as in files. */
const char *sl_task_name(enum sl_task task);

const struct sl_arch *sl_arch_find(const char *name); /* NULL when there is none */
const struct sl_arch *sl_arch_at(int index);          /* NULL past the last */

enum { SL_ARCH_LIST = 512 };

/* The names of those that can do one of the tasks, for errors; returns `list`. */
const char *sl_arch_list(unsigned tasks, char list[SL_ARCH_LIST]);

/* Fills c with the standards of its table. vocab stays 0: it comes from the tokenizer. */
void sl_config_standard(const struct sl_arch *arch, struct sl_config *c);
/* Every hyper-parameter within its bounds, and what no single bound says: heads divide width. */
bool sl_config_check(const struct sl_arch *arch, const struct sl_config *c, struct sl_err *err)
    SL_MUST_CHECK;
