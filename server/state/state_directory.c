/* state_directory.c - the state directory, and an index of its documents in SQLite. */
#include "state/state_directory.h"
#include "base/allocate.h"
#include "base/file.h"
#include "core/killed_daemon.h"
#include "core/limits.h"
#include "core/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Raise it with every change of the tables: older databases are rebuilt. */
enum { SCHEMA = 1, SQL_BYTES = 512, BUSY_MS = 5000 };

enum statement { PUT, GET, DELETE, POSITION, NEWEST, OLDEST, STATEMENTS };

struct sv_state {
    char directory[SV_STATE_PATH_MAX];
    int lock_fd;
    bool is_new;
    pthread_mutex_t lock; /* guards the connection and its statements */
    sqlite3 *db;
    sqlite3_stmt *statements[SV_COLLECTIONS][STATEMENTS];
};

/* The name of a collection's table, and the table that its parents are in. */
static const struct {
    const char *table, *parents;
} collections[SV_COLLECTIONS] = {[SV_FILES] = {"files", NULL},
                                 [SV_JOBS] = {"jobs", NULL},
                                 [SV_EVENTS] = {"events", "jobs"},
                                 [SV_CHECKPOINTS] = {"checkpoints", "jobs"},
                                 [SV_AUDIT] = {"audit", NULL}};

#define LISTED                                                                                     \
    " AND (?2 IS NULL OR parent = ?2)"                                                             \
    " AND (?3 IS NULL OR json_extract(document, ?3) = ?4)"                                         \
    " AND (?6 IS NULL OR (?6 = 'null' AND NOT EXISTS"                                              \
    "     (SELECT 1 FROM json_each(document, '$.metadata')))"                                      \
    "   OR (?6 <> 'null' AND NOT EXISTS (SELECT 1 FROM json_each(?6) AS wanted WHERE NOT EXISTS"   \
    "     (SELECT 1 FROM json_each(document, '$.metadata') AS has"                                 \
    "       WHERE has.key = wanted.key AND has.value = wanted.value))))"                           \
    " ORDER BY position"

/* The name of the table stands between the two halves. */
static const struct {
    const char *before, *after;
} sql[STATEMENTS] = {
    [PUT] = {"INSERT INTO ", " (id, parent, document) VALUES (?1, ?2, ?3) "
                             "ON CONFLICT (id) DO UPDATE SET document = excluded.document"},
    [GET] = {"SELECT document FROM ", " WHERE id = ?1"},
    [DELETE] = {"DELETE FROM ", " WHERE id = ?1"},
    [POSITION] = {"SELECT position FROM ", " WHERE id = ?1 AND (?2 IS NULL OR parent = ?2)"},
    [NEWEST] = {"SELECT id, document FROM ", " WHERE position < ?1" LISTED " DESC LIMIT ?5"},
    [OLDEST] = {"SELECT id, document FROM ", " WHERE position > ?1" LISTED " LIMIT ?5"}};

/* SQLite calls only ENOSPC full. At a quota or a limit of the size of files it says that it could
 * not write, and errno is still that of the write; sqlite3_system_errno is not, after a commit. */
static bool is_full(const struct sv_state *state)
{
    int number = errno, code = state->db ? sqlite3_extended_errcode(state->db) : SQLITE_NOMEM;
    return code == SQLITE_FULL ||
           (code == SQLITE_IOERR_WRITE && sl_file_error_code(number) == SL_NO_SPACE);
}

static bool fail(const struct sv_state *state, const char *what, struct sl_err *err)
{
    return sl_fail(err, is_full(state) ? SL_NO_SPACE : SL_IO, "%s in '%s/sluice.db': %s", what,
                   state->directory, state->db ? sqlite3_errmsg(state->db) : "out of memory");
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool execute(struct sv_state *state, const char *text, struct sl_err *err)
{
    return sqlite3_exec(state->db, text, NULL, NULL, NULL) == SQLITE_OK || fail(state, text, err);
}

/* The first column of the first row, as text that the caller frees; NULL: failed, or no row. */
static char *query_text(struct sv_state *state, const char *text)
{
    sqlite3_stmt *statement = NULL;
    char *result = NULL;
    if (sqlite3_prepare_v2(state->db, text, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
        result = strdup((const char *)sqlite3_column_text(statement, 0));
    (void)sqlite3_finalize(statement);
    return result;
}

static void database_path(const struct sv_state *state, const char *suffix,
                          char path[static SV_STATE_PATH_MAX + 32])
{
    (void)snprintf(path, SV_STATE_PATH_MAX + 32, "%s/sluice.db%s", state->directory, suffix);
}

/* Threads that serve requests read the index, too. They must not wait for a program that locks it,
 * such as a backup or a shell, so it is ours alone; unless one had it open before. */
static bool set_locking(struct sv_state *state, struct sl_err *err)
{
    static const char use_log[] = "PRAGMA journal_mode = WAL";
    if (!execute(state, "PRAGMA locking_mode = EXCLUSIVE", err))
        return false;
    if (execute(state, use_log, err))
        return true;
    return sqlite3_errcode(state->db) == SQLITE_BUSY &&
           execute(state, "PRAGMA locking_mode = NORMAL", err) && execute(state, use_log, err);
}

static bool connect(struct sv_state *state, struct sl_err *err)
{
    char path[SV_STATE_PATH_MAX + 32];
    database_path(state, "", path);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &state->db, flags, NULL) != SQLITE_OK)
        return fail(state, "open", err);
    (void)chmod(path, S_IRUSR | S_IWUSR);
    (void)sqlite3_busy_timeout(state->db, BUSY_MS);
    /* NORMAL: a power cut may lose the last changes, never the database. The directories, which
     * are synced, have them. */
    return set_locking(state, err) && execute(state, "PRAGMA synchronous = NORMAL", err) &&
           execute(state, "PRAGMA foreign_keys = ON", err);
}

static bool create_tables(struct sv_state *state, struct sl_err *err)
{
    char text[SQL_BYTES];
    for (int c = 0; c < SV_COLLECTIONS; c++) {
        const char *table = collections[c].table, *parents = collections[c].parents;
        char reference[96] = "";
        if (parents)
            (void)snprintf(reference, sizeof reference,
                           " NOT NULL REFERENCES %s (id) ON DELETE CASCADE", parents);
        (void)snprintf(text, sizeof text,
                       "CREATE TABLE %s (position INTEGER PRIMARY KEY AUTOINCREMENT, "
                       "id TEXT NOT NULL UNIQUE, parent TEXT%s, document TEXT NOT NULL);"
                       "CREATE INDEX %s_by_parent ON %s (parent, position)",
                       table, reference, table, table);
        if (!execute(state, text, err))
            return false;
    }
    (void)snprintf(text, sizeof text, "PRAGMA user_version = %d", SCHEMA);
    return execute(state, text, err);
}

static void disconnect(struct sv_state *state)
{
    for (int c = 0; c < SV_COLLECTIONS; c++)
        for (int s = 0; s < STATEMENTS; s++) {
            (void)sqlite3_finalize(state->statements[c][s]);
            state->statements[c][s] = NULL;
        }
    (void)sqlite3_close(state->db);
    state->db = NULL;
}

/* A damaged database is kept under another name, to find out later what happened. */
static bool set_aside(struct sv_state *state, struct sl_err *err)
{
    char path[SV_STATE_PATH_MAX + 32], broken[SV_STATE_PATH_MAX + 32];
    disconnect(state);
    database_path(state, "", path);
    database_path(state, ".broken", broken);
    if (rename(path, broken) != 0)
        return sl_fail(err, SL_IO, "rename '%s': %s", path, strerrordesc_np(errno));
    SV_LOG(SV_LOG_WARN, "the index of the state directory is rebuilt", sv_str("old", broken));
    database_path(state, "-wal", path);
    (void)unlink(path);
    database_path(state, "-shm", path);
    (void)unlink(path);
    return true;
}

static bool prepare(struct sv_state *state, struct sl_err *err)
{
    char text[SQL_BYTES];
    for (int c = 0; c < SV_COLLECTIONS; c++)
        for (int s = 0; s < STATEMENTS; s++) {
            (void)snprintf(text, sizeof text, "%s%s%s", sql[s].before, collections[c].table,
                           sql[s].after);
            if (sqlite3_prepare_v3(state->db, text, -1, SQLITE_PREPARE_PERSISTENT,
                                   &state->statements[c][s], NULL) != SQLITE_OK)
                return fail(state, "prepare", err);
        }
    return true;
}

/* Whether a result is about the file itself: not about a full disk, missing permissions or memory,
 * which pass. SQLITE_ERROR: a statement does not fit the tables. */
static bool is_damage(int result)
{
    int kind = result & 0xff;
    return kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB || kind == SQLITE_ERROR;
}

/* *damaged: that it is not says that the database is. */
static bool is_text(struct sv_state *state, const char *query, const char *expected, bool *damaged)
{
    char *text = query_text(state, query);
    bool same = text && strcmp(text, expected) == 0;
    *damaged = !same && (text || is_damage(sqlite3_errcode(state->db)));
    free(text);
    return same;
}

/* False: see err, and whether a new database would help. */
static bool check(struct sv_state *state, bool *damaged, struct sl_err *err)
{
    char version[16];
    (void)snprintf(version, sizeof version, "%d", SCHEMA);
    if (!is_text(state, "PRAGMA user_version", version, damaged) ||
        !is_text(state, "PRAGMA integrity_check", "ok", damaged))
        return fail(state, "check", err);
    if (prepare(state, err))
        return true;
    *damaged = is_damage(sqlite3_errcode(state->db));
    return false;
}

/* Connecting has just created it, or a start was killed before it made the tables. */
static bool is_empty(struct sv_state *state)
{
    bool damaged;
    return is_text(state, "PRAGMA user_version", "0", &damaged) &&
           is_text(state, "SELECT count(*) FROM sqlite_schema", "0", &damaged);
}

static bool open_database(struct sv_state *state, struct sl_err *err)
{
    bool connected = connect(state, err), damaged = false;
    state->is_new = connected && is_empty(state);
    if (state->is_new)
        return create_tables(state, err) && prepare(state, err);
    if (!connected)
        damaged = state->db && is_damage(sqlite3_errcode(state->db));
    else if (check(state, &damaged, err))
        return true;
    if (!damaged || !set_aside(state, err))
        return false;
    state->is_new = true;
    return connect(state, err) && create_tables(state, err) && prepare(state, err);
}

static bool make_directories(const struct sv_state *state, struct sl_err *err)
{
    static const char *const names[] = {"files", "jobs", "tmp"};
    char path[SV_STATE_PATH_MAX + 32];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", state->directory, names[i]);
        if (!sl_directory_make(path, err))
            return false;
        (void)chmod(path, S_IRWXU); /* training data must not be readable by other users */
    }
    return true;
}

/* False: another process has it. */
static bool try_lock(const void *fd)
{
    return flock(*(const int *)fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

static bool lock_directory(struct sv_state *state, struct sl_err *err)
{
    state->lock_fd = open(state->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (state->lock_fd < 0)
        return sl_fail(err, SL_IO, "open '%s': %s", state->directory, strerrordesc_np(errno));
    return sv_killed_daemon_wait(try_lock, &state->lock_fd) ||
           sl_fail(err, SL_BUSY, "another daemon uses the state directory '%s'", state->directory);
}

struct sv_state *sv_state_open(const char *directory, struct sl_err *err)
{
    struct sv_state *state = sl_new(sizeof *state, "the state", err);
    if (!state)
        return NULL;
    state->lock_fd = -1;
    pthread_mutex_init(&state->lock, NULL);
    int length = snprintf(state->directory, sizeof state->directory, "%s", directory);
    bool ok = (length > 0 && length < (int)sizeof state->directory) ||
              sl_fail(err, SL_BAD_INPUT, "invalid state '%s': expected a shorter path", directory);
    if (ok && make_directories(state, err) && lock_directory(state, err) &&
        open_database(state, err))
        return state;
    sv_state_close(state);
    return NULL;
}

void sv_state_close(struct sv_state *state)
{
    if (!state)
        return;
    disconnect(state);
    if (state->lock_fd >= 0)
        (void)close(state->lock_fd);
    pthread_mutex_destroy(&state->lock);
    free(state);
}

bool sv_state_is_new(const struct sv_state *state)
{
    return state->is_new;
}

const char *sv_state_directory(const struct sv_state *state)
{
    return state->directory;
}

bool sv_state_fail_disk(const char *what, const struct sl_err *err, struct sv_error *error)
{
    SV_LOG(SV_LOG_ERROR, what, sv_str("reason", err->text));
    if (err->code == SL_NO_SPACE)
        (void)sv_fail(error, SV_STORAGE_FULL, NULL,
                      "The disk of the state directory is full; delete files that are not needed.");
    else
        (void)sv_fail(error, SV_INTERNAL, NULL, "%s; see the log.", what);
    error->permanent = true;
    return false;
}

bool sv_state_begin(struct sv_state *state, struct sl_err *err)
{
    return execute(state, "BEGIN", err);
}

bool sv_state_end(struct sv_state *state, bool good, struct sl_err *err)
{
    struct sl_err ignored;
    if (good && execute(state, "COMMIT", err))
        return true;
    if (!sqlite3_get_autocommit(state->db)) /* SQLite itself may have rolled back */
        (void)!execute(state, "ROLLBACK", &ignored);
    return false;
}

/* ---- documents ------------------------------------------------------------------------------- */

/* A statement to be bound and stepped, with the lock held until `finish`. */
static sqlite3_stmt *start(struct sv_state *state, enum sv_collection collection,
                           enum statement kind)
{
    pthread_mutex_lock(&state->lock);
    return state->statements[collection][kind];
}

static void finish(struct sv_state *state, sqlite3_stmt *statement)
{
    (void)sqlite3_reset(statement);
    (void)sqlite3_clear_bindings(statement);
    pthread_mutex_unlock(&state->lock);
}

/* The caller's strings outlive the statement's run. */
static void bind(sqlite3_stmt *statement, int index, const char *text)
{
    if (text)
        (void)sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
}

bool sv_state_put(struct sv_state *state, enum sv_collection collection, const char *id,
                  const char *parent, const char *document, struct sl_err *err)
{
    sqlite3_stmt *statement = start(state, collection, PUT);
    bind(statement, 1, id);
    bind(statement, 2, parent);
    bind(statement, 3, document);
    bool done = sqlite3_step(statement) == SQLITE_DONE || fail(state, "put", err);
    finish(state, statement);
    return done;
}

bool sv_state_get(struct sv_state *state, enum sv_collection collection, const char *id,
                  struct sl_buffer *document, struct sl_err *err)
{
    sqlite3_stmt *statement = start(state, collection, GET);
    bind(statement, 1, id);
    int step = sqlite3_step(statement);
    if (step == SQLITE_ROW)
        sl_buffer_append_string(document, (const char *)sqlite3_column_text(statement, 0));
    bool ok = step == SQLITE_ROW ||
              (step == SQLITE_DONE ? sl_fail(err, SL_NOT_FOUND, "no %s has the id '%s'",
                                             collections[collection].table, id)
                                   : fail(state, "get", err));
    finish(state, statement);
    return ok && sl_buffer_check(document, err);
}

bool sv_state_delete(struct sv_state *state, enum sv_collection collection, const char *id,
                     struct sl_err *err)
{
    sqlite3_stmt *statement = start(state, collection, DELETE);
    bind(statement, 1, id);
    bool done = sqlite3_step(statement) == SQLITE_DONE || fail(state, "delete", err);
    finish(state, statement);
    return done;
}

/* The position of the document before a page. */
static bool find_position(struct sv_state *state, enum sv_collection collection,
                          const struct sv_page *page, sqlite3_int64 *position, struct sl_err *err)
{
    *position = page->oldest_first ? 0 : INT64_MAX;
    if (!page->after || !page->after[0])
        return true;
    sqlite3_stmt *statement = start(state, collection, POSITION);
    bind(statement, 1, page->after);
    bind(statement, 2, page->parent);
    bool found = sqlite3_step(statement) == SQLITE_ROW;
    if (found)
        *position = sqlite3_column_int64(statement, 0);
    finish(state, statement);
    return found || sl_fail(err, SL_NOT_FOUND, "no %s has the id '%s'",
                            collections[collection].table, page->after);
}

bool sv_state_list(struct sv_state *state, enum sv_collection collection, struct sv_page *page,
                   struct sl_err *err)
{
    sqlite3_int64 position;
    assert(page->limit > 0);
    if (!find_position(state, collection, page, &position, err))
        return false;
    sqlite3_stmt *statement = start(state, collection, page->oldest_first ? OLDEST : NEWEST);
    (void)sqlite3_bind_int64(statement, 1, position);
    bind(statement, 2, page->parent);
    bind(statement, 3, page->member);
    bind(statement, 4, page->value);
    (void)sqlite3_bind_int(statement, 5, page->limit + 1);
    bind(statement, 6, page->metadata);
    int count = 0, step;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW && count < page->limit) {
        page->each(page->context, (const char *)sqlite3_column_text(statement, 0),
                   (const char *)sqlite3_column_text(statement, 1));
        count++;
    }
    page->has_more = step == SQLITE_ROW;
    bool ok = step == SQLITE_ROW || step == SQLITE_DONE || fail(state, "list", err);
    finish(state, statement);
    return ok;
}
