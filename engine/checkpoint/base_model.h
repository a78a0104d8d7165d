/* base_model.h - the model whose word vectors another one reads: its name in config.json, and where
 * it is found.
 *
 *     "base": {"model": "base/1", "sha256": "baf630bb..."}
 *
 * sha256 is that of its model.safetensors. It is looked for in the model's own store, with this
 * program (../share/sluice/models, or models/ of the source tree), and in the directories that the
 * environment variable SLUICE_MODELS names, separated by colons. A file with another digest is not
 * it. */
#pragma once

#include "base/model_names.h"
#include "formats/safetensors.h"

enum { SL_BASE_NAME_MAX = SL_MODEL_NAME_BYTES_MAX + SL_VERSION_DIGITS_MAX + 2 };

struct sl_base_reference {
    char model[SL_BASE_NAME_MAX]; /* <model>/<version>; "": the model has its vectors itself */
    char sha256[65];
};

/* The name of the model in a directory; false: its path does not end in <model>/<version>. */
bool sl_base_name(char name[static SL_BASE_NAME_MAX], const char *directory);

struct json_t;
/* The member "base" of config.json, which may be missing. */
bool sl_base_reference_read(struct sl_base_reference *reference, const struct json_t *root,
                            struct sl_err *err) SL_MUST_CHECK;
/* False: no memory. */
bool sl_base_reference_print(struct json_t *root, const struct sl_base_reference *reference);

/* The base's weights. */
struct sl_base_weights {
    struct sl_map file;
    struct sl_safetensors tensors;
};

/* store: that of the model which needs it, or a path that begins there. */
bool sl_base_open(struct sl_base_weights *base, const struct sl_base_reference *reference,
                  const char *store, struct sl_err *err) SL_MUST_CHECK;
void sl_base_close(struct sl_base_weights *base); /* a zeroed one is fine */

/* A folder that came with this program, such as models: place 0 and 1, where it may be. False: no
 * more. */
bool sl_installed_folder(const char *folder, int place, char path[static SL_PATH_MAX]);
