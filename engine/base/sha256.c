/* sha256.c - SHA-256 by nettle. */
#include "base/sha256.h"

#include <assert.h>
#include <nettle/sha2.h>
#include <stdint.h>

void sl_sha256_hex(const void *data, size_t size, char hex[65])
{
    static const char digits[] = "0123456789abcdef";
    assert(data || size == 0);
    assert(hex);
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&context);
    sha256_update(&context, size, data);
    sha256_digest(&context, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[2 * sizeof digest] = '\0';
}
