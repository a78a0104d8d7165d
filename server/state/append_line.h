/* append_line.h - files that only grow, line by line. */
#pragma once

#include "base/buffer.h"

#include "sluice/err.h"

/* Appends a line, or nothing: the next line must not continue a part of this one. The caller lets
 * no other thread append to the file meanwhile. */
bool sv_append_line(int fd, const struct sl_buffer *line, struct sl_err *err) SL_MUST_CHECK;
