/* idempotency.c - keys of requests that made jobs. */
#include "jobs/idempotency.h"

#include <string.h>

const struct sv_idempotency_key *sv_idempotency_find(const struct sv_idempotency_keys *keys,
                                                     const char *key, int64_t now)
{
    for (int i = 0; key[0] && i < SV_IDEMPOTENCY_KEYS_MAX; i++)
        if (keys->ring[i].created_at >= now - SV_IDEMPOTENCY_SECONDS &&
            strcmp(keys->ring[i].key, key) == 0)
            return &keys->ring[i];
    return NULL;
}

void sv_idempotency_add(struct sv_idempotency_keys *keys, const struct sv_idempotency_key *key)
{
    if (key->key[0])
        keys->ring[keys->next++ % SV_IDEMPOTENCY_KEYS_MAX] = *key;
}
