/* sha256.h - SHA-256 digests in hexadecimal. Any thread. */
#pragma once

#include <stddef.h>

/* The SHA-256 of size bytes as 64 hex digits and a NUL. */
void sl_sha256_hex(const void *data, size_t size, char hex[65]);
