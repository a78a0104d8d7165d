/* api_key.c - API keys: their format, and the line of a keys file for each. */
#include "base/api_key.h"
#include "base/comma_list.h"

#include <errno.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { WORD_MAX = 160, WORDS_MAX = 4 };

static const char prefix[] = "sluice_";
static const char hash_prefix[] = "sha256:";
static const char expires_prefix[] = "expires=";
static const char date_time[] = "%Y-%m-%dT%H:%M:%SZ";

static const char *const scope_names[] = {
#define SL_SCOPE(constant, name) name,
    SL_SCOPES(SL_SCOPE)
#undef SL_SCOPE
};

const char *sl_scope_name(enum sl_scope scope)
{
    return scope_names[scope];
}

const char *sl_scope_list(unsigned scopes, char list[static SL_SCOPE_LIST_MAX])
{
    size_t at = 0;
    list[0] = '\0';
    for (int i = 0; i < SL_SCOPE_COUNT; i++)
        if (scopes & 1u << i)
            at += (size_t)snprintf(list + at, SL_SCOPE_LIST_MAX - at, "%s%s", at ? "," : "",
                                   scope_names[i]);
    return list;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void write_hex(const unsigned char *bytes, size_t count, char *hex)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[2 * count] = '\0';
}

bool sl_api_key_create(char text[static SL_API_KEY_BYTES + 1], struct sl_err *err)
{
    unsigned char bytes[(SL_API_KEY_BYTES - (sizeof prefix - 1)) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return sl_fail(err, SL_IO, "cannot get random numbers: %s", strerrordesc_np(errno));
    memcpy(text, prefix, sizeof prefix);
    write_hex(bytes, sizeof bytes, text + sizeof prefix - 1);
    return true;
}

/* The key itself must not be in a message. */
bool sl_api_key_check(const char *text, struct sl_err *err)
{
    size_t bytes = strlen(text);
    if (bytes < SL_API_KEY_BYTES_MIN || bytes > SL_API_KEY_BYTES_MAX)
        return sl_fail(err, SL_BAD_INPUT, "invalid key of %zu bytes: expected %d to %d", bytes,
                       SL_API_KEY_BYTES_MIN, SL_API_KEY_BYTES_MAX);
    for (size_t i = 0; i < bytes; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return sl_fail(err, SL_BAD_INPUT,
                           "invalid byte %zu of the key: expected printable ASCII without spaces",
                           i + 1);
    return true;
}

void sl_api_key_hash(const char *text, unsigned char hash[static SL_API_KEY_HASH_BYTES])
{
    struct sha256_ctx context;
    sha256_init(&context);
    sha256_update(&context, strlen(text), (const void *)text);
    sha256_digest(&context, SL_API_KEY_HASH_BYTES, hash);
}

bool sl_api_key_hashes_equal(const unsigned char a[static SL_API_KEY_HASH_BYTES],
                             const unsigned char b[static SL_API_KEY_HASH_BYTES])
{
    return memeql_sec(a, b, SL_API_KEY_HASH_BYTES) != 0;
}

/* ---- parts of a line ------------------------------------------------------------------------- */

bool sl_api_key_set_name(struct sl_api_key *key, const char *text, struct sl_err *err)
{
    static const char accepted[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "._@-";
    size_t bytes = strlen(text);
    if (bytes == 0 || bytes > SL_API_KEY_NAME_BYTES_MAX || text[strspn(text, accepted)])
        return sl_fail(err, SL_BAD_INPUT,
                       "invalid name '%.64s': expected 1 to %d letters, digits, '.', '_', '@' or "
                       "'-'",
                       text, SL_API_KEY_NAME_BYTES_MAX);
    memcpy(key->name, text, bytes + 1);
    return true;
}

static int find_scope(const char *text, size_t bytes)
{
    for (int i = 0; i < SL_SCOPE_COUNT; i++)
        if (strlen(scope_names[i]) == bytes && memcmp(scope_names[i], text, bytes) == 0)
            return i;
    return -1;
}

/* All of them, for people. */
static const char *list_scopes(char names[static SL_SCOPE_LIST_MAX])
{
    names[0] = '\0';
    for (int i = 0; i < SL_SCOPE_COUNT; i++)
        sl_list_add(names, SL_SCOPE_LIST_MAX, scope_names[i]);
    return names;
}

bool sl_api_key_set_scopes(struct sl_api_key *key, const char *text, struct sl_err *err)
{
    char names[SL_SCOPE_LIST_MAX];
    unsigned scopes = 0;
    for (const char *at = text;; at++) {
        size_t bytes = strcspn(at, ",");
        int scope = find_scope(at, bytes);
        if (scope < 0)
            return sl_fail(
                err, SL_BAD_INPUT,
                "invalid scope '%.*s': expected one or more of %s; separate several with commas",
                (int)(bytes < 64 ? bytes : 64), at, list_scopes(names));
        scopes |= 1u << scope;
        at += bytes;
        if (!*at)
            break;
    }
    key->scopes = scopes;
    return true;
}

/* Whether strptime understood all of the text, and no day of the month was too high. */
static bool read_date(const char *text, const char *format, int64_t *seconds)
{
    struct tm tm = {0};
    const char *end = strptime(text, format, &tm);
    int day = tm.tm_mday;
    *seconds = end && !*end ? (int64_t)timegm(&tm) : 0;
    return *seconds > 0 && tm.tm_mday == day;
}

bool sl_api_key_set_expires(struct sl_api_key *key, const char *text, struct sl_err *err)
{
    size_t bytes = strlen(text);
    bool good =
        (bytes == strlen("2027-01-31") && read_date(text, "%Y-%m-%d", &key->expires)) ||
        (bytes == strlen("2027-01-31T00:00:00Z") && read_date(text, date_time, &key->expires));
    return good || sl_fail(err, SL_BAD_INPUT,
                           "invalid date '%.64s': expected YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ, in "
                           "UTC",
                           text);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool set_hash(struct sl_api_key *key, const char *text, struct sl_err *err)
{
    const char *hex = text + sizeof hash_prefix - 1;
    size_t digits = 2 * (size_t)SL_API_KEY_HASH_BYTES;
    bool good = strncmp(text, hash_prefix, sizeof hash_prefix - 1) == 0 && strlen(hex) == digits;
    for (size_t i = 0; good && i < digits; i++)
        good = digit(hex[i]) >= 0;
    for (size_t i = 0; good && i < SL_API_KEY_HASH_BYTES; i++)
        key->hash[i] = (unsigned char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    /* Not repeated: it may be a key. */
    return good || sl_fail(err, SL_BAD_INPUT,
                           "invalid hash: expected sha256: and 64 hex digits in lower case");
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Splits at spaces and tabs. Returns the number of words, or -1 when there are too many or one is
 * too long. */
static int split(const char *line, char words[static WORDS_MAX][WORD_MAX])
{
    int count = 0;
    for (const char *at = line + strspn(line, " \t"); *at; at += strspn(at, " \t")) {
        size_t bytes = strcspn(at, " \t");
        if (count == WORDS_MAX || bytes >= WORD_MAX)
            return -1;
        memcpy(words[count], at, bytes);
        words[count++][bytes] = '\0';
        at += bytes;
    }
    return count;
}

bool sl_api_key_read(struct sl_api_key *key, const char *line, struct sl_err *err)
{
    char words[WORDS_MAX][WORD_MAX];
    int count = split(line, words);
    *key = (struct sl_api_key){0};
    if (count < 3 || (count == 4 && strncmp(words[3], expires_prefix, strlen(expires_prefix)) != 0))
        return sl_fail(
            err, SL_BAD_INPUT,
            "invalid line: expected NAME SCOPES sha256:HASH [expires=DATE], as `sluicectl keys "
            "create` prints it");
    return sl_api_key_set_name(key, words[0], err) && sl_api_key_set_scopes(key, words[1], err) &&
           set_hash(key, words[2], err) &&
           (count < 4 || sl_api_key_set_expires(key, words[3] + strlen(expires_prefix), err));
}

void sl_api_key_write(const struct sl_api_key *key, struct sl_buffer *out)
{
    char hex[2 * SL_API_KEY_HASH_BYTES + 1], scopes[SL_SCOPE_LIST_MAX], date[32];
    const time_t expires = (time_t)key->expires;
    struct tm tm;
    write_hex(key->hash, sizeof key->hash, hex);
    sl_buffer_printf(out, "%s %s %s%s", key->name, sl_scope_list(key->scopes, scopes), hash_prefix,
                     hex);
    if (key->expires > 0 && gmtime_r(&expires, &tm) &&
        strftime(date, sizeof date, date_time, &tm) > 0)
        sl_buffer_printf(out, " %s%s", expires_prefix, date);
    sl_buffer_append_string(out, "\n");
}
