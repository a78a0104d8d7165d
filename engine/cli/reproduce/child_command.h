/* child_command.h - this program as a child process, with other arguments. */
#pragma once

#include "sluice/err.h"

struct json_t;

/* Runs `sluice WORDS`, an array of strings, to its end. out: a file for its standard output; NULL:
 * that of this process. Fails if it fails; what it says on standard error is printed. SIGINT and
 * SIGTERM are passed on to it, and then it fails, too: one thread at a time. */
bool child_command_run(const struct json_t *words, const char *out, struct sl_err *err)
    SL_MUST_CHECK;
