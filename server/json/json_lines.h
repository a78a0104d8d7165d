/* json_lines.h - whether a text is JSON Lines: one object per line. An array passes, too. */
#pragma once

#include "core/request_error.h"

#include <stddef.h>

/* The error names the first line that is no object, or is too long. Blank lines are accepted; at
 * least one line must be an object. */
bool sv_json_lines_check(const char *text, size_t bytes, struct sv_error *error);
