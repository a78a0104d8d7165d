/* model.h - a checkpoint, opened: immutable, and shared by any number of sessions.
 *
 * A checkpoint is a directory <store>/<model>/<version>/ with config.json, model.safetensors,
 * vocab.json or vocab.txt, and manifest.json (sizes and SHA-256 of the others, written last).
 * Everything read from it is checked before it is used. */
#pragma once

#include "sluice/engine.h"
#include "sluice/tokenizer.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sl_model;

/* Opens a checkpoint and verifies it. The engine must outlive the model. Word vectors that it takes
 * from another model, a base, are looked for in its own store, with the program and in the stores
 * that the environment variable SLUICE_MODELS lists; the models of an engine have them once. */
SL_PUBLIC struct sl_model *sl_model_open(struct sl_engine *engine, const char *directory,
                                         struct sl_err *err) SL_MUST_CHECK;
/* Whether a directory seems to hold a model as a whole: it has a manifest, or the files of another
 * program that sl_model_open reads, too. Those have nothing that is written last. */
SL_PUBLIC bool sl_model_exists(const char *directory);
/* Its sessions and classifiers must be destroyed before. NULL is fine. */
SL_PUBLIC void sl_model_close(struct sl_model *model);

/* A model that was only pretrained has neither completions nor classes: it gives embeddings of
 * texts, and the training of a classifier begins with it. */
enum sl_task {
    SL_TASK_COMPLETION,
    SL_TASK_CLASSIFICATION,
    SL_TASK_PRETRAINING,
    SL_TASK_TOKEN_CLASSIFICATION, /* each token of a text has one of the labels */
    SL_TASK_TRANSLATION,          /* from a text to another, token by token */
    SL_TASKS
};

/* What a classifier of classifier.h computes of a text. */
enum sl_output {
    SL_OUTPUT_TEXT,   /* a row: the logits of its labels, or its embedding */
    SL_OUTPUT_TOKENS, /* a row for each token: the logits of the token's labels, or its vector */
    SL_OUTPUT_MASKED, /* a row for each mask token: the logits of what may stand there, by id */
    /* A row: of each token of the vocabulary log(1 + max(0, the largest logit at any place)), which
     * is a sparse embedding (SPLADE, Formal et al. 2021). */
    SL_OUTPUT_SPARSE,
    SL_OUTPUTS
};

enum { SL_CLASSES_MIN = 2, SL_CLASSES_MAX = 4096, SL_LABEL_BYTES_MAX = 256 };

/* A choice between quality and computation, as `sluice operating-points` measured it. */
struct sl_operating_point {
    double budget;    /* the time that it takes, as a fraction of computing everything: 0 .. 1 */
    double threshold; /* the architecture's, see sl_threshold_at */
    double loss;      /* nats per token, or per text */
    double accuracy;  /* of a classifier; else NAN */
    double layer_ops_skipped; /* the fraction of token-layer operations that did not run */
};

enum { SL_OPERATING_POINTS_MAX = 16 };

/* A text that an encoder was trained to read before certain texts, such as "query: ". */
struct sl_prompt {
    char *name, *text;
};

/* The threshold in which the operating points of an architecture's models differ. */
struct sl_threshold {
    const char *architecture, *name; /* "tsa", "gate_limit" */
};

/* The thresholds of all architectures that have one, from index 0; false past the last. */
SL_PUBLIC bool sl_threshold_at(int index, struct sl_threshold *threshold);

/* What a model is; strings belong to it. */
struct sl_model_info {
    const char *architecture, *paper, *sha256; /* of model.safetensors, 64 hex digits */
    const char *precision; /* "fp32", "bf16" or "int8": the inputs of matrix products */
    enum sl_task task;
    bool generates; /* it completes or translates texts, token by token (session.h) */
    int context, vocab, depth, width;
    /* What each token may be routed to, and how many of these there are: "block", "step" or
     * "expert"; NULL and 0: all tokens are computed alike. */
    const char *routes_to;
    int routes;
    int output_size[SL_OUTPUTS]; /* numbers of a row of each output; 0: the model lacks it */
    int classes;                 /* of a classifier, of texts or tokens; else 0 */
    bool multi_label; /* a text may have several of its labels, or none; false: exactly one */
    const char *problem_type;  /* the same as Hugging Face says it; NULL: not a classifier */
    const char *const *labels; /* their names */
    int dimensions;            /* of the embeddings of a pretrained model; else 0 */
    bool explains;             /* a classifier explains its results exactly (explanation.h) */
    bool takes_pairs;          /* a classifier reads a text, or two (sl_encoding.pair) */
    const char *base;    /* the model whose word vectors it reads, as in "base/1"; NULL: none */
    const char *pooling; /* how they are made: "mean" or "weighted_mean"; else NULL */
    int64_t parameters;
    int64_t created; /* seconds since 1970 */
    /* Where it comes from: the JSON object `training` of its config.json; NULL: it has none. */
    const char *training;
    /* How layers are skipped when serving: "soft", "hard", "mixed", "exit", "halt" or "none". */
    const char *gate;
    /* By falling budget; the first computes everything. */
    const struct sl_operating_point *operating_points;
    int operating_point_count; /* 0: none were measured */
    const char *threshold;     /* the name of their threshold; NULL: the architecture has none */
    /* Numbers of model.safetensors that are not parameters, such as word vectors. */
    int64_t buffers;
    const char *chat_template;       /* the name of the known one (chat.h); NULL: none */
    const struct sl_prompt *prompts; /* of embeddings; for sl_encoding.prompt */
    int prompt_count;
    const struct sl_prompt *default_prompt; /* where none is asked for; NULL: none */
};
SL_PUBLIC const struct sl_model_info *sl_model_info(const struct sl_model *model);
/* The prompt of that name. NULL: there is none; the error names those that there are. */
SL_PUBLIC const struct sl_prompt *sl_model_prompt(const struct sl_model_info *info,
                                                  const char *name, struct sl_err *err)
    SL_MUST_CHECK;
/* How many rows of an output one run may have, over all its texts: those of a vocabulary are long.
 */
SL_PUBLIC int sl_model_rows_max(const struct sl_model_info *info, enum sl_output output);
/* The first output that the model has; SL_OUTPUTS: none, it completes texts. */
SL_PUBLIC enum sl_output sl_model_main_output(const struct sl_model_info *info);
/* The number, from 1, of the operating point with the largest budget that is at most this one; 0:
 * there is none. */
SL_PUBLIC int sl_model_operating_point(const struct sl_model *model, double budget);
SL_PUBLIC const struct sl_tokenizer *sl_model_tokenizer(const struct sl_model *model);

#ifdef __cplusplus
}
#endif
