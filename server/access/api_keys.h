/* api_keys.h - the API keys that are accepted: read from a file, replaced as a whole when it is
 * read again. Any thread. */
#pragma once

#include "base/api_key.h"

#include "sluice/err.h"

#include <stdint.h>

struct sv_api_keys;

/* Reads the file of the option api_keys_file; where that is "", systemd's credential api_keys; and
 * where there is none, no keys are set. NULL: see err. */
struct sv_api_keys *sv_api_keys_create(const char *file, struct sl_err *err) SL_MUST_CHECK;
void sv_api_keys_destroy(struct sv_api_keys *keys); /* NULL is fine */

/* Reads the file again. False: the keys are as they were. */
bool sv_api_keys_reload(struct sv_api_keys *keys, struct sl_err *err) SL_MUST_CHECK;

/* Whether callers need a key. It does not change while the daemon runs. */
bool sv_api_keys_are_required(const struct sv_api_keys *keys);
/* The file in use, or "". */
const char *sv_api_keys_file(const struct sv_api_keys *keys);
int sv_api_keys_count(struct sv_api_keys *keys);

enum sv_api_key_state { SV_KEY_VALID, SV_KEY_EXPIRED, SV_KEY_UNKNOWN };

/* Looks up a key as the client sent it. SV_KEY_VALID: *out has its name and scopes. */
enum sv_api_key_state sv_api_keys_find(struct sv_api_keys *keys, const char *text,
                                       int64_t now_seconds, struct sl_api_key *out);
