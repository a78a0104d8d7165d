/* base64.h - bytes as text (RFC 4648, section 4). */
#pragma once

#include "base/buffer.h"

void sv_base64_append(struct sl_buffer *out, const char *bytes, size_t count);
