/* checkpoint.h - a model as a directory: config.json, vocab.json or vocab.txt, model.safetensors,
 * manifest.json.
 *
 * Writing is all or nothing, over whatever was there. Reading believes nothing: sizes, digests,
 * members, names, shapes and numbers are checked. One thread at a time per object; one writer at a
 * time per directory. */
#pragma once

#include "checkpoint/manifest.h"
#include "checkpoint/model_config.h"
#include "checkpoint/safetensors.h"
#include "tokenizer/tokenizer.h"

/* What a checkpoint is made of; nothing is owned. */
struct sl_checkpoint_parts {
    const struct sl_model_config *model_config; /* its `training` says where the model came from */
    const struct sl_tokenizer *tokens;
    const struct sl_parameter *parameters;
    int count;
    bool bf16;       /* keep matrices, tables of embeddings too, as BF16 */
    int64_t created; /* seconds since 1970; 0: now */
};

bool sl_checkpoint_write(const char *directory, const struct sl_checkpoint_parts *parts,
                         struct sl_err *err) SL_MUST_CHECK;

enum { SL_CHECKPOINT_FILES = 3 };

struct sl_checkpoint {
    struct sl_model_config model_config;
    struct sl_tokenizer *tokens; /* owned; set to NULL to keep it */
    const char *sha256;          /* of model.safetensors, until close */
    int64_t created;
    struct sl_safetensors weights;
    struct sl_manifest_file members[SL_CHECKPOINT_FILES];
};

/* Everything but the numbers. */
bool sl_checkpoint_open(struct sl_checkpoint *checkpoint, const char *directory, struct sl_err *err)
    SL_MUST_CHECK;
/* The numbers, into the data of the parameters. On failure they hold anything. */
bool sl_checkpoint_load(const struct sl_checkpoint *checkpoint,
                        const struct sl_parameter *parameters, int count, struct sl_err *err)
    SL_MUST_CHECK;
/* The numbers of those parameters that the checkpoint has: where another model may begin. At least
 * one must be there. */
bool sl_checkpoint_load_matching(const struct sl_checkpoint *checkpoint,
                                 const struct sl_parameter *parameters, int count,
                                 struct sl_err *err) SL_MUST_CHECK;
void sl_checkpoint_close(struct sl_checkpoint *checkpoint); /* a zeroed one is fine */
