/* weights.h - the tensors of a model that another program wrote, by name, whatever their files.
 *
 * A directory has model.safetensors, or model.safetensors.index.json and the shards that it names.
 * Values stay in copies of the files until close. */
#pragma once

#include "base/file.h"
#include "formats/number_types.h"
#include "sluice/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { SL_WEIGHT_RANK_MAX = 4 };

struct sl_weight {
    char *name; /* owned by the list */
    const char *data;
    enum sl_number_type type;
    int rank;
    int64_t shape[SL_WEIGHT_RANK_MAX]; /* the last dimension is the fastest */
    size_t count;                      /* numbers */
    /* Heads whose two halves of rows are interleaved, as in GGUF's Llama; 0: none are. */
    int paired_heads;
    bool used;
};

struct sl_weights {
    struct sl_weight *list; /* in the order of their names */
    size_t count;
    struct sl_weight_file *files; /* in memory */
    size_t file_count;
};

/* Those of a directory. Fails for a directory with pickled weights only, and says how to convert
 * them. */
bool sl_weights_open(struct sl_weights *weights, const char *directory, struct sl_err *err)
    SL_MUST_CHECK;
/* Adds those of a directory within it, called "PREFIX.NAME"; as above. */
bool sl_weights_add(struct sl_weights *weights, const char *directory, const char *within,
                    const char *prefix, struct sl_err *err) SL_MUST_CHECK;
/* A private copy of a file, which may be a link, as in the cache of huggingface_hub. */
bool sl_weights_copy(struct sl_map *map, const char *path, struct sl_err *err) SL_MUST_CHECK;
/* The SHA-256 of the file, or of the digests of all shards, one after another. */
void sl_weights_digest(const struct sl_weights *weights, char sha256[65]);
/* Puts them in the order of their names; fails for two of one name. */
bool sl_weights_sort(struct sl_weights *weights, struct sl_err *err) SL_MUST_CHECK;
void sl_weights_close(struct sl_weights *weights); /* a zeroed one is fine */

/* By name; NULL when there is none. They must be sorted. */
struct sl_weight *sl_weights_find(const struct sl_weights *weights, const char *name);
