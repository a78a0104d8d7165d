/* store_encoder.h - an encoder among the models of a store. */
#pragma once

#include "base/file.h"

/* The latest version of the first model, by name, that can be fine-tuned, in the store of `output`,
 * <store>/<model>/<version>. NULL: there is none. */
const char *store_encoder_find(const char *output, char path[SL_PATH_MAX]);
