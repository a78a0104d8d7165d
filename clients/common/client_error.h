/* client_error.h - how the clients' functions fail: an sl_err, and what a command-line client adds.
 *
 * As in the engine, a function that can fail returns bool (or a pointer that may be NULL), is
 * marked SL_MUST_CHECK and takes the failure last; it is written only on failure. */
#pragma once

#include "sluice/err.h"

#include <stdbool.h>

enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,   /* the system or the daemon failed: to try again may help */
    EXIT_BAD_INPUT = 2 /* the command line, the input or the request is at fault */
};

enum { CLIENT_ERROR_CODE_MAX = 64, CLIENT_HINT_MAX = 256 };

struct client_error {
    struct sl_err err; /* its index: which text of a request the daemon rejected */
    int exit_code;
    char code[CLIENT_ERROR_CODE_MAX]; /* the daemon's error code; "": none */
    char hint[CLIENT_HINT_MAX];       /* what may help; "": none */
};

/* Sets the failure and returns false, so that `return client_error_set(...)` is the whole error
 * path. */
bool client_error_set(struct client_error *failure, int exit_code, const char *format, ...)
    SL_PRINTF(3, 4);
/* From an err that is set already. */
bool client_error_wrap(struct client_error *failure, int exit_code, const struct sl_err *err);
bool client_error_no_memory(struct client_error *failure);
