/* checkpoint.h - a model as a directory: config.json, vocab.json or vocab.txt, model.safetensors,
 * manifest.json.
 *
 * Writing is atomic and replaces an older checkpoint. Reading checks everything: sizes, digests,
 * files, names, shapes and values. One thread at a time per object; one writer at a time per
 * directory. */
#pragma once

#include "checkpoint/manifest.h"
#include "checkpoint/model_config.h"
#include "formats/safetensors.h"
#include "tokenizer/tokenizer.h"

/* The contents of a checkpoint; owns nothing. */
struct sl_checkpoint_parts {
    const struct sl_model_config *model_config; /* its `training` says where the model came from, */
    const char *training;                       /* or, if it is not NULL, this JSON object */
    const struct sl_tokenizer *tokens;
    const struct sl_parameter *parameters; /* what the base of its config has is left out */
    int count;
    enum sl_dtype matrices; /* how these are kept, and tables of embeddings: F32, BF16 or I8 */
    int64_t created;        /* seconds since 1970; 0: now */
};

/* Rounds matrices to what I8 keeps exactly, up or down at random (the same on every machine): in
 * the mean they stay what they are. To the nearest, a model that began as one of I8 and has learnt
 * less than half a step in each number would be again what it was. */
void sl_checkpoint_round_to_int8(const struct sl_parameter *parameters, int count);

bool sl_checkpoint_write(const char *directory, const struct sl_checkpoint_parts *parts,
                         struct sl_err *err) SL_MUST_CHECK;

enum { SL_CHECKPOINT_FILES = 3 };

struct sl_checkpoint;

/* Writes a copy of a checkpoint with another config.json, whose model and tokenizer must be the
 * same. It may replace the original. */
bool sl_checkpoint_copy(const struct sl_checkpoint *checkpoint, const char *directory,
                        const struct sl_model_config *model_config, struct sl_err *err)
    SL_MUST_CHECK;

struct sl_checkpoint {
    struct sl_model_config model_config;
    struct sl_tokenizer *tokens; /* owned; set to NULL to keep it */
    const char *sha256;          /* of model.safetensors, until close */
    int64_t created;
    struct sl_safetensors weights;
    char store[SL_PATH_MAX]; /* of the directory, or a path that begins there */
    struct sl_manifest_file members[SL_CHECKPOINT_FILES];
};

/* Everything except the values of the parameters. */
bool sl_checkpoint_open(struct sl_checkpoint *checkpoint, const char *directory, struct sl_err *err)
    SL_MUST_CHECK;
/* Reads the values of the parameters. Word vectors that it shares with other models may be missing
 * among these. On failure they are undefined. */
bool sl_checkpoint_load(const struct sl_checkpoint *checkpoint,
                        const struct sl_parameter *parameters, int count, struct sl_err *err)
    SL_MUST_CHECK;
/* Whether its word vectors are shared: those of its base or, if it is one, its own. */
bool sl_checkpoint_shares(const struct sl_checkpoint *checkpoint);
/* The SHA-256 of the file that has them. */
const char *sl_checkpoint_shared_sha256(const struct sl_checkpoint *checkpoint);
/* Reads them; one user, the caller. NULL on failure. */
struct sl_shared_values *sl_checkpoint_load_shared(const struct sl_checkpoint *checkpoint,
                                                   struct sl_err *err) SL_MUST_CHECK;
/* Reads the values of those parameters that the checkpoint or its base has, as initial values of
 * another model. At least one must exist. */
bool sl_checkpoint_load_matching(const struct sl_checkpoint *checkpoint,
                                 const struct sl_parameter *parameters, int count,
                                 struct sl_err *err) SL_MUST_CHECK;
void sl_checkpoint_close(struct sl_checkpoint *checkpoint); /* a zeroed one is fine */
