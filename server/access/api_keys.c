/* api_keys.c - the API keys that are accepted. */
#include "access/api_keys.h"
#include "base/allocate.h"
#include "core/limits.h"
#include "core/options.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct table {
    int count;
    struct sl_api_key rows[];
};

struct sv_api_keys {
    char file[SV_CREDENTIAL_PATH_MAX]; /* "": no keys are set */
    pthread_rwlock_t lock;             /* guards the rest */
    struct table *table;
};

/* ---- reading --------------------------------------------------------------------------------- */

static const struct sl_api_key *find_duplicate(const struct table *table,
                                               const struct sl_api_key *key)
{
    for (int i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].name, key->name) == 0 ||
            sl_api_key_hashes_equal(table->rows[i].hash, key->hash))
            return &table->rows[i];
    return NULL;
}

static bool add_line(struct table *table, const char *line, struct sl_err *err)
{
    size_t blanks = strspn(line, " \t");
    if (line[blanks] == '\0' || line[blanks] == '#')
        return true;
    if (table->count == SV_KEYS_MAX)
        return sl_fail(err, SL_BAD_INPUT, "more than %d keys", SV_KEYS_MAX);
    struct sl_api_key *key = &table->rows[table->count];
    if (!sl_api_key_read(key, line, err))
        return false;
    const struct sl_api_key *twin = find_duplicate(table, key);
    if (twin)
        return sl_fail(
            err, SL_BAD_INPUT,
            "'%s' has the name or the hash of the key '%s' in a line above; each key needs its own",
            key->name, twin->name);
    table->count++;
    return true;
}

/* A user who can write the file can give access to anyone. */
static bool check_mode(FILE *stream, struct sl_err *err)
{
    struct stat found;
    if (fstat(fileno(stream), &found) != 0)
        return sl_fail(err, SL_IO, "%s", strerrordesc_np(errno));
    if (!S_ISREG(found.st_mode))
        return sl_fail(err, SL_BAD_INPUT, "it is not a regular file");
    return !(found.st_mode & S_IWOTH) ||
           sl_fail(err, SL_BAD_INPUT, "every user may write it; use chmod o-w");
}

static bool read_lines(struct table *table, FILE *stream, struct sl_err *err)
{
    char line[SV_KEY_LINE_MAX];
    if (!check_mode(stream, err))
        return false;
    for (int number = 1; fgets(line, sizeof line, stream); number++) {
        size_t length = strcspn(line, "\n");
        bool is_whole = line[length] == '\n' || feof(stream);
        line[length > 0 && line[length - 1] == '\r' ? length - 1 : length] = '\0';
        if (!is_whole)
            return sl_fail(err, SL_BAD_INPUT, "line %d is longer than %d bytes", number,
                           SV_KEY_LINE_MAX - 2);
        if (!add_line(table, line, err))
            return sl_wrap(err, "line %d", number);
    }
    return !ferror(stream) || sl_fail(err, SL_IO, "%s", strerrordesc_np(errno));
}

static struct table *read_file(const char *path, struct sl_err *err)
{
    struct table *table = calloc(1, sizeof *table + SV_KEYS_MAX * sizeof table->rows[0]);
    FILE *stream = table ? fopen(path, "re") : NULL;
    bool good = stream && read_lines(table, stream, err);
    if (!table)
        (void)sl_fail(err, SL_NO_MEMORY, "out of memory");
    else if (!stream)
        (void)sl_fail(err, SL_BAD_INPUT, "%s", strerrordesc_np(errno));
    if (stream)
        (void)fclose(stream);
    if (good)
        return table;
    (void)sl_wrap(err, "api_keys_file '%s'", path);
    free(table);
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct sv_api_keys *sv_api_keys_create(const char *file, struct sl_err *err)
{
    struct sv_api_keys *keys = sl_new(sizeof *keys, "API keys", err);
    if (!keys)
        return NULL;
    pthread_rwlock_init(&keys->lock, NULL);
    sv_option_file(file, "api_keys", keys->file);
    if (sv_api_keys_reload(keys, err))
        return keys;
    sv_api_keys_destroy(keys);
    return NULL;
}

void sv_api_keys_destroy(struct sv_api_keys *keys)
{
    if (!keys)
        return;
    pthread_rwlock_destroy(&keys->lock);
    free(keys->table);
    free(keys);
}

bool sv_api_keys_reload(struct sv_api_keys *keys, struct sl_err *err)
{
    if (!sv_api_keys_are_required(keys))
        return true;
    struct table *fresh = read_file(keys->file, err);
    if (!fresh)
        return false;
    pthread_rwlock_wrlock(&keys->lock);
    struct table *old = keys->table;
    keys->table = fresh;
    pthread_rwlock_unlock(&keys->lock);
    free(old);
    return true;
}

bool sv_api_keys_are_required(const struct sv_api_keys *keys)
{
    return keys->file[0] != '\0';
}

const char *sv_api_keys_file(const struct sv_api_keys *keys)
{
    return keys->file;
}

int sv_api_keys_count(struct sv_api_keys *keys)
{
    pthread_rwlock_rdlock(&keys->lock);
    int count = keys->table ? keys->table->count : 0;
    pthread_rwlock_unlock(&keys->lock);
    return count;
}

enum sv_api_key_state sv_api_keys_find(struct sv_api_keys *keys, const char *text,
                                       int64_t now_seconds, struct sl_api_key *out)
{
    unsigned char hash[SL_API_KEY_HASH_BYTES];
    bool found = false;
    sl_api_key_hash(text, hash);
    pthread_rwlock_rdlock(&keys->lock);
    /* All rows, so that the time does not depend on which one it is. */
    for (int i = 0; keys->table && i < keys->table->count; i++)
        if (sl_api_key_hashes_equal(keys->table->rows[i].hash, hash)) {
            *out = keys->table->rows[i];
            found = true;
        }
    pthread_rwlock_unlock(&keys->lock);
    if (!found)
        return SV_KEY_UNKNOWN;
    return out->expires > 0 && now_seconds >= out->expires ? SV_KEY_EXPIRED : SV_KEY_VALID;
}
