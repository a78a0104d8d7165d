/* tokenize_options.c - the fields of a request that say how its texts become tokens. */
#include "params/tokenize_options.h"

const char sv_model_naming_hint[] =
    "Name the model in the path (/models/{name}/...), with ?model= or with the header X-Model.";

/* In the order of enum sl_truncation, enum sl_unknown and enum sv_blank_texts. */
const char *const sv_truncation_directions[] = {"Right", "Left", NULL};
const char *const sv_unknown_keywords[] = {"error", "replace", NULL};
const char *const sv_blank_keywords[] = {"error", "empty", NULL};
const char *const sv_depth_keywords[] = {"tokens", NULL};
