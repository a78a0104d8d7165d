/* names.h - names that people type: how they are spelt in files and on command lines, and what a
 * misspelt one was meant to be. */
#pragma once

#include <stddef.h>

enum {
    SL_NAME_BYTES = 48,         /* of the longest name, with its NUL */
    SL_NAME_ADVICE_BYTES = 1024 /* of the longest advice, with its NUL */
};

/* learning_rate, as in files and requests, becomes learning-rate, as on a command line. `out` may
 * be `name`; what does not fit is cut off. Returns `out`. */
char *sl_name_with_dashes(char *out, size_t capacity, const char *name);
/* The reverse. */
char *sl_name_with_underscores(char *out, size_t capacity, const char *name);

/* The name closest to `given`; NULL when none is close. `names` end with NULL. */
const char *sl_name_suggest(const char *given, const char *const *names);

/* What an error about an unknown name ends with: "did you mean threads?", or, when no name is
 * close, "choose one of: model, threads". Returns `out`. */
const char *sl_name_advice(char out[static SL_NAME_ADVICE_BYTES], const char *given,
                           const char *const *names);
