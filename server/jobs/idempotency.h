/* idempotency.h - the same request with the same key makes one job within 24 hours. */
#pragma once

#include "core/limits.h"

#include <stdbool.h>
#include <stdint.h>

enum { SV_HASH_MAX = 65, SV_KEY_ID_MAX = 32 };

/* SHA-256 of a key and of the body it came with, and the job that it made. key "": none. */
struct sv_idempotency_key {
    char key[SV_HASH_MAX], body[SV_HASH_MAX], id[SV_KEY_ID_MAX];
    int64_t created_at; /* seconds since 1970 */
};

struct sv_idempotency_keys {
    struct sv_idempotency_key ring[SV_IDEMPOTENCY_KEYS_MAX];
    unsigned next;
};

/* The entry of a key that is young enough; NULL: there is none. */
const struct sv_idempotency_key *sv_idempotency_find(const struct sv_idempotency_keys *keys,
                                                     const char *key, int64_t now);
/* The newest take the places of the oldest. */
void sv_idempotency_add(struct sv_idempotency_keys *keys, const struct sv_idempotency_key *key);
