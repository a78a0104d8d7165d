/* api_key.h - API keys: their format, and their lines in a keys file.
 *
 *     NAME SCOPES sha256:HASH [expires=DATE]
 *
 * A key has 256 random bits. It cannot be guessed, so one SHA-256 protects it, without salt or a
 * slow hash. Any thread. */
#pragma once

#include "base/buffer.h"

#include "sluice/err.h"

/* What a key may allow: constant and name. */
#define SL_SCOPES(X)                                                                               \
    X(METRICS, "metrics")                                                                          \
    X(INFER, "infer")                                                                              \
    X(TRAIN, "train")                                                                              \
    X(ADMIN, "admin")

enum sl_scope {

#define SL_SCOPE(constant, name) SL_SCOPE_##constant,
    SL_SCOPES(SL_SCOPE)
#undef SL_SCOPE
        SL_SCOPE_COUNT
};

enum {
    SL_API_KEY_BYTES = 7 + 64,  /* "sluice_" and 64 hex digits */
    SL_API_KEY_BYTES_MIN = 32,  /* of a key that another program made, */
    SL_API_KEY_BYTES_MAX = 512, /* in printable ASCII without spaces */
    SL_API_KEY_NAME_BYTES_MAX = 47,
    SL_API_KEY_HASH_BYTES = 32
};

struct sl_api_key {
    char name[SL_API_KEY_NAME_BYTES_MAX + 1];
    unsigned scopes; /* bits: 1 << SL_SCOPE_... */
    unsigned char hash[SL_API_KEY_HASH_BYTES];
    int64_t expires; /* seconds since 1970; 0: never */
};

const char *sl_scope_name(enum sl_scope scope);

/* The names of scopes, separated by commas. The list has room for all. */
enum { SL_SCOPE_LIST_MAX = 64 };

const char *sl_scope_list(unsigned scopes, char list[static SL_SCOPE_LIST_MAX]);

/* A new key, as a string. */
bool sl_api_key_create(char text[static SL_API_KEY_BYTES + 1], struct sl_err *err) SL_MUST_CHECK;

/* Whether the text has the form of a key. How random it is cannot be checked. */
bool sl_api_key_check(const char *text, struct sl_err *err) SL_MUST_CHECK;
void sl_api_key_hash(const char *text, unsigned char hash[static SL_API_KEY_HASH_BYTES]);
/* Takes the same time whether they are equal or not. */
bool sl_api_key_hashes_equal(const unsigned char a[static SL_API_KEY_HASH_BYTES],
                             const unsigned char b[static SL_API_KEY_HASH_BYTES]);

/* Fill in one part of a key. */
bool sl_api_key_set_name(struct sl_api_key *key, const char *text, struct sl_err *err)
    SL_MUST_CHECK;
bool sl_api_key_set_scopes(struct sl_api_key *key, const char *text, struct sl_err *err)
    SL_MUST_CHECK;
/* YYYY-MM-DD, or YYYY-MM-DDThh:mm:ssZ: the key is valid before this moment, in UTC. */
bool sl_api_key_set_expires(struct sl_api_key *key, const char *text, struct sl_err *err)
    SL_MUST_CHECK;

/* Reads a line without its end. */
bool sl_api_key_read(struct sl_api_key *key, const char *line, struct sl_err *err) SL_MUST_CHECK;
void sl_api_key_write(const struct sl_api_key *key, struct sl_buffer *out); /* with a newline */
