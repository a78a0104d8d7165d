/* arch.h - what an architecture is: a name, a paper, its hyper-parameters, build and forward.
 *
 * A paper is a folder and a row in archs.def for each of its architectures. The folder has
 * everything that only this paper uses: hyper-parameters, initial values, ops, layers. It does not
 * depend on threads, files or HTTP. */
#pragma once

#include "base/param_table.h"
#include "layers/layers.h"
#include "sluice/model.h"

enum { SL_CONFIG_OWN_BYTES = 192 };

/* The configuration of a model: shared hyper-parameters, and in `own` a struct from the paper's
 * folder with its own. Task, vocab, padding, classes and multi_label are not hyper-parameters:
 * they come from the training data. Nor is shares_vectors: it depends on the checkpoint. */
struct sl_config {
    enum sl_task task;
    int vocab, classes;  /* classes: 0 unless texts or tokens are classified */
    bool multi_label;    /* of a classifier: the logit of each class is that it is a label of the
                           text, whatever the others are; false: exactly one is */
    bool shares_vectors; /* the word vectors are those of another model, a base: its buffer is of
                            the kind SL_BUFFER_SHARED */
    int padding_token;   /* of the vocabulary: 1 + its id; 0: it has none */
    int context_length, width, depth, heads, ffn_width;
    int embedding_width; /* of the embeddings of texts, their first numbers; 0: width */
    float dropout, embedding_dropout;
    /* Of classifiers only. */
    bool bidirectional; /* a token sees the whole text */
    int pooling;        /* enum sl_pooling */
    int hash_bigrams;   /* rows of the hashed bigram embedding table; 0: none */
    int wide_ngrams;    /* rows of the wide part (n-gram features); 0: none */
    _Alignas(8) unsigned char own[SL_CONFIG_OWN_BYTES];
};

/* The paper's own struct within a config. SL_CONFIG_FITS(struct) belongs beside its declaration. */
static inline const void *sl_config_own(const struct sl_config *c)
{
    return c->own;
}

static inline const void *sl_policy_own(const struct sl_policy *p)
{
    return p->own;
}

#define SL_CONFIG_FITS(type)                                                                       \
    _Static_assert(sizeof(type) <= SL_CONFIG_OWN_BYTES, "raise SL_CONFIG_OWN_BYTES")
#define SL_POLICY_FITS(type)                                                                       \
    _Static_assert(sizeof(type) <= SL_POLICY_OWN_BYTES, "raise SL_POLICY_OWN_BYTES")

/* A text, its result, and the label to explain. */
struct sl_explained_text {
    const int32_t *tokens;
    int count;
    const float *logits;
    int classes, label;
    bool multi_label; /* the margin is the logit */
};

enum { SL_EMBEDDING_DENSE_MAX = 8192 }; /* numbers that a dense layer may make of a text's vector */

/* A classifier of two parts: the first may answer alone (sl_batch.part). */
struct sl_cascade {
    int context;     /* tokens that the second part reads: of a longer text its beginning, */
    float beginning; /* which is this fraction of them, and its end */
    float scale;     /* factor of the first part's logits, which are added to the second's */
};

struct sl_arch {
    const char *name, *paper, *summary;
    const struct sl_param *hypers; /* of struct sl_config; `cases` are bits as in `tasks` */
    const struct sl_param *policy; /* of sl_policy.own; NULL: there are no choices */
    /* The row of `policy` that says how much is skipped: a number from 0 to 1, where 1 computes
     * everything. It may differ between the sequences of a batch. NULL: there is none. */
    const char *threshold;
    /* The name of its way of skipping under a policy, for descriptions; NULL: it never skips. */
    const char *(*skipping)(const struct sl_policy *policy);
    /* Sets the policy that training applies to a model of this config, and returns true; false:
     * none, nothing is skipped. NULL: never any. */
    bool (*trained_policy)(const struct sl_config *c, struct sl_policy *policy);
    unsigned tasks; /* bits: 1u << SL_TASK_... for each that it can do */
    /* What pretrains it instead of `sluice train`; NULL: nothing. */
    const char *pretrained_by;
    /* How a pretrained model makes the embedding of a text from its tokens; NULL: it makes none. */
    const char *embeds;
    /* Numbers of such an embedding; NULL: sl_config.embedding_width, or the width. */
    int (*embedding_size)(const struct sl_config *c);
    /* What each token is routed to, as `sluice inspect --routing` names it, and how many of these
     * there are; NULL: to all alike, or the depth. */
    const char *routes_to;
    int (*routes)(const struct sl_config *c);
    /* Its hyper-parameters say what a block computes: its weights mean nothing to others. */
    bool describes_blocks;
    /* The architecture of which it is one with more parameters, so that its weights can begin with
     * those of that; NULL: none. */
    const char *extends;
    bool takes_pairs;   /* its classifiers read a text, or two */
    bool embeds_tokens; /* a pretrained model gives the vectors of tokens, too */
    /* Whether a pretrained model of this config can be asked which tokens may stand at a place;
     * NULL: none can. */
    bool (*predicts_tokens)(const struct sl_config *c);
    /* Its models are cascades, with this context above 0; NULL: they have one part. */
    struct sl_cascade (*cascade)(const struct sl_config *c);
    float (*cascade_threshold)(
        const struct sl_policy *policy); /* the first part answers above it */
    bool shares_vectors;                 /* it can do what struct sl_config says of this */
    size_t size;                         /* of its own struct */
    /* What each token of a text adds to a label's margin (sluice/explanation.h), exactly; NULL: the
     * margin is no sum over tokens. False: no memory. */
    bool (*explain)(const void *self, const struct sl_kernels *kernels,
                    const struct sl_explained_text *text, float *contributions);
    /* Checks that involve several hyper-parameters, or NULL; part of sl_config_check. */
    bool (*check)(const struct sl_config *c, struct sl_err *err);
    /* Declares the parameters and fills self. c has been checked against hypers and by `check`. */
    void (*build)(struct sl_builder *b, void *self, const struct sl_config *c);
    /* Logits of the wanted rows, or of each sequence when the task is classification, or of every
     * row when tokens are classified. Pretraining: NULL after adding the losses of a corrupted
     * batch; else the embedding of each sequence, or what else the batch says (sl_output). */
    struct sl_tensor *(*forward)(struct sl_tape *t, const void *self);
};

enum {
    SL_COMPLETES = 1u << SL_TASK_COMPLETION,
    SL_CLASSIFIES = 1u << SL_TASK_CLASSIFICATION,
    SL_PRETRAINS = 1u << SL_TASK_PRETRAINING,
    SL_CLASSIFIES_TOKENS = 1u << SL_TASK_TOKEN_CLASSIFICATION,
    SL_TRANSLATES = 1u << SL_TASK_TRANSLATION
};

/* The rows that all decoders share, for use inside a table of hyper-parameters. */
#define SL_HYPERS_DECODER                                                                          \
    SL_INTEGER_ROW(sl_config, width, 8, 8192, 256, "features per token (d)"),                      \
        SL_INTEGER_ROW(sl_config, depth, 1, 128, 6, "layers (L)"),                                 \
        SL_INTEGER_ROW(sl_config, heads, 1, 128, 8, "attention heads (H); must divide width"),     \
        SL_INTEGER_ROW(sl_config, ffn_width, 8, 32768, 1024, "hidden width of the MLP (d_ff)"),    \
        SL_INTEGER_ROW(sl_config, context_length, 2, 8192, 128,                                    \
                       "longest text that the model can take (tokens)"),                           \
        SL_REAL_ROW(sl_config, dropout, 0, 0.9, 0.1, "dropout probability during training")

/* A row that is for classifiers only. */
#define SL_CLASSIFIER_ROW(member, kind_, min_, max_, default_, help_, choices_)                    \
    SL_PARAM_ROW_AT(0, sl_config, member, kind_, min_, max_, default_, help_, choices_,            \
                    SL_CLASSIFIES)

/* N-gram tables, for classifiers only. */
#define SL_HYPERS_TABLES                                                                           \
    SL_CLASSIFIER_ROW(hash_bigrams, SL_INTEGER, 0, 1 << 24, 0,                                     \
                      "classifiers: rows of a hashed embedding table of bigrams; 0: none", NULL),  \
        SL_CLASSIFIER_ROW(wide_ngrams, SL_INTEGER, 0, 1 << 24, 0,                                  \
                          "classifiers: rows of a hashed linear model of 1- to 3-grams; 0: none",  \
                          NULL)

/* What a decoder's architecture needs to know as a classifier. */
#define SL_HYPERS_CLASSIFIER                                                                       \
    SL_CLASSIFIER_ROW(bidirectional, SL_FLAG, 0, 1, 1,                                             \
                      "classifiers: tokens attend to later tokens, too", NULL),                    \
        SL_HYPERS_POOLING
#define SL_HYPERS_POOLING                                                                          \
    SL_CLASSIFIER_ROW(pooling, SL_CHOICE, 0, SL_POOLING_LAST, SL_POOLING_MEAN,                     \
                      "classifiers: how token vectors become the vector of a text",                \
                      sl_pooling_names)

/* Rows of a paper's own struct, for use like SL_INTEGER_ROW and similar rows. */
#define SL_OWN_ROW(of, member, kind_, min_, max_, default_, help_, choices_)                       \
    SL_PARAM_ROW_AT(offsetof(struct sl_config, own), of, member, kind_, min_, max_, default_,      \
                    help_, choices_, 0)
#define SL_OWN_INTEGER_ROW(of, member, min, max, default_value, help)                              \
    SL_OWN_ROW(of, member, SL_INTEGER, min, max, default_value, help, NULL)
#define SL_OWN_REAL_ROW(of, member, min, max, default_value, help)                                 \
    SL_OWN_ROW(of, member, SL_REAL, min, max, default_value, help, NULL)
#define SL_OWN_CHOICE_ROW(of, member, choices, last, default_value, help)                          \
    SL_OWN_ROW(of, member, SL_CHOICE, 0, last, default_value, help, choices)
#define SL_OWN_FLAG_ROW(of, member, default_value, help)                                           \
    SL_OWN_ROW(of, member, SL_FLAG, 0, 1, default_value, help, NULL)

/* A decoder's tables, initialized N(0, 0.02^2); for completion the token table also gives the
 * logits. */
struct sl_embedding_shape sl_embedding_shape_of(const struct sl_config *c);

/* A decoder's block; weights that write to the residual stream are initialized N(0, (0.02 / sqrt(2
 * depth))^2). */
struct sl_block_shape sl_block_shape_of(const struct sl_config *c);

/* "completion", "classification": as in files; ends with NULL. */
extern const char *const sl_task_names[];
const char *sl_task_name(enum sl_task task);
/* Whether its models have labels; whether they write text, token by token. */
bool sl_task_classifies(enum sl_task task);
bool sl_task_generates(enum sl_task task);
/* Whether texts have one label or several, as Hugging Face's configurations say it; ends with NULL.
 * By sl_config.multi_label. */
extern const char *const sl_problem_types[];

const struct sl_arch *sl_arch_find(const char *name); /* NULL when there is none */
const struct sl_arch *sl_arch_at(int index);          /* NULL past the last */

enum { SL_ARCH_LIST = 512 };

/* The tasks that `sluice train` trains it for. */
unsigned sl_arch_trains(const struct sl_arch *arch);
/* The names of those that it trains for one of the tasks, for errors; returns `list`. */
const char *sl_arch_list(unsigned tasks, char list[SL_ARCH_LIST]);

/* Whether all parts of a model read all tokens of a text: of some cascades the second does not. */
bool sl_arch_reads_whole_texts(const struct sl_arch *arch, const struct sl_config *c);

/* Whether the architecture has the task; if not, err lists those that have. */
bool sl_arch_check_task(const struct sl_arch *arch, enum sl_task task, struct sl_err *err)
    SL_MUST_CHECK;

/* Fills c with the defaults of its table. vocab stays 0: it comes from the tokenizer. */
void sl_config_set_defaults(const struct sl_arch *arch, struct sl_config *c);
/* Checks bounds, that heads divide width, and that hyper-parameters of other tasks have their
 * defaults. */
bool sl_config_check(const struct sl_arch *arch, const struct sl_config *c, struct sl_err *err)
    SL_MUST_CHECK;

/* Whether a hyper-parameter applies to a task. */
static inline bool sl_hyper_is_for(const struct sl_param *hyper, enum sl_task task)
{
    return !hyper->cases || (hyper->cases & 1u << task);
}

/* The default policy of an architecture; a checkpoint may override it. */
struct sl_policy sl_policy_defaults(const struct sl_arch *arch);
/* The policy under which a model was trained: it gives the same function as training. */
struct sl_policy sl_policy_trained(const struct sl_arch *arch, const struct sl_config *c);
/* The policy of a newly trained model: as it was trained if that skips, else the default. */
struct sl_policy sl_policy_published(const struct sl_arch *arch, const struct sl_config *c);
/* The rows of its policy; an empty table when it has none. */
const struct sl_param *sl_policy_rows(const struct sl_arch *arch);
/* The row of its threshold; NULL when it has none. */
const struct sl_param *sl_policy_threshold(const struct sl_arch *arch);
