/* gguf_architecture.h - the architectures of llama.cpp that are read: their words for what Hugging
 * Face's files say.
 *
 * An architecture is one row in gguf_architectures.c. A list ends with a row of NULLs. */
#pragma once

#include <stdbool.h>

enum { SL_GGUF_ARCHITECTURE_LIST = 128 };

struct sl_gguf_name {
    const char *theirs, *ours;
};

struct sl_gguf_architecture {
    const char *name;                   /* general.architecture */
    const char *class;                  /* of Hugging Face's library */
    const struct sl_gguf_name *keys;    /* of the metadata, behind the architecture's name */
    const struct sl_gguf_name *tensors; /* without ".weight" and ".bias"; # is a layer's number */
    bool embeds;                        /* reads in both directions, and says how it pools */
    bool permuted; /* rows of queries and keys: pairs that are rotated lie side by side */
};

/* NULL when there is none; the names, for errors. */
const struct sl_gguf_architecture *sl_gguf_architecture_find(const char *name);
const char *sl_gguf_architecture_list(char list[SL_GGUF_ARCHITECTURE_LIST]);
