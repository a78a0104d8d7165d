/* audit_log.c - who changed what, when and from where. */
#include "state/audit_log.h"
#include "base/allocate.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "core/log.h"
#include "state/append_line.h"
#include "state/disk_thread.h"
#include "json/json_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ID_MAX = 32, PATH_BYTES = SV_STATE_PATH_MAX + 32 };

struct sv_audit_log {
    struct sv_state *state;
    int fd; /* appended to */

    pthread_mutex_t lock; /* held while the disk is waited for; guards appending, and: */
    bool is_behind;       /* the index lacks entries that the file has */
    /* Failures that may still be recorded: the disk thread's. */
    int64_t failures_left, refilled_ns;
    atomic_llong failures_missing; /* those that were not since the last one */
};

/* Every line begins so, with the id after it. */
static const char line_start[] = "{\"id\":\"";

/* The id of a line, or false if it is no entry: a line cut short by a power cut, perhaps after the
 * end of an object in it. */
static bool id_of(const char *line, size_t bytes, char id[static ID_MAX])
{
    struct sv_error error;
    size_t start = sizeof line_start - 1;
    if (bytes < start + ID_MAX || memcmp(line, line_start, start) != 0 ||
        !sv_json_lines_check(line, bytes, &error))
        return false;
    size_t length = strcspn(line + start, "\"");
    if (length == 0 || length >= ID_MAX)
        return false;
    memcpy(id, line + start, length);
    id[length] = '\0';
    return true;
}

static bool put_line(struct sv_state *state, const char *line, size_t bytes, struct sl_err *err)
{
    char id[ID_MAX];
    struct sl_buffer text = {0};
    if (!id_of(line, bytes, id))
        return true;
    sl_buffer_append(&text, line, bytes);
    bool ok =
        sl_buffer_check(&text, err) && sv_state_put(state, SV_AUDIT, id, NULL, text.data, err);
    sl_buffer_release(&text);
    return ok;
}

/* The id of the last entry; lines that are none may follow it. */
static bool last_id(const char *text, size_t bytes, char id[static ID_MAX])
{
    for (size_t end = bytes, start; end > 0; end = start > 0 ? start - 1 : 0) {
        for (start = end; start > 0 && text[start - 1] != '\n';)
            start--;
        if (id_of(text + start, end - start, id))
            return true;
    }
    return false;
}

/* Whether the index has the last entry. Then it has all of them: an entry gets into it only after
 * those before it. */
static bool has_last(struct sv_state *state, const char *text, size_t bytes)
{
    struct sl_err err;
    struct sl_buffer entry = {0};
    char id[ID_MAX];
    bool found = last_id(text, bytes, id) && sv_state_get(state, SV_AUDIT, id, &entry, &err);
    sl_buffer_release(&entry);
    return found;
}

static bool index_lines(struct sv_state *state, const struct sl_map *map, struct sl_err *err)
{
    const char *end = map->data + map->size;
    if (map->size == 0 || has_last(state, map->data, map->size))
        return true;
    for (const char *line = map->data; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t bytes = (size_t)((stop ? stop : end) - line);
        if (!put_line(state, line, bytes, err))
            return false;
        line += bytes + 1;
    }
    return true;
}

/* All at once, which is faster. */
static bool index_at_start(struct sv_state *state, const struct sl_map *map, struct sl_err *err)
{
    return sv_state_begin(state, err) && sv_state_end(state, index_lines(state, map, err), err);
}

static void audit_path(const struct sv_state *state, char path[static PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%s/audit.jsonl", sv_state_directory(state));
}

/* A line cut short must not run into the next. A full disk has no room for its end. */
static bool end_cut_line(const struct sv_audit_log *log, const struct sl_map *map,
                         struct sl_err *err)
{
    if (map->size == 0 || map->data[map->size - 1] == '\n')
        return true;
    const char *last = memrchr(map->data, '\n', map->size);
    off_t end = last ? last + 1 - map->data : 0;
    return write(log->fd, "\n", 1) == 1 || ftruncate(log->fd, end) == 0 ||
           sl_fail(err, sl_file_error_code(errno), "audit.jsonl: %s", strerrordesc_np(errno));
}

/* If the disk is full, entries are indexed before the next that can be written. */
static void index_now_or_later(struct sv_audit_log *log, const struct sl_map *map)
{
    struct sl_err err;
    log->is_behind = !index_at_start(log->state, map, &err);
    if (log->is_behind)
        SV_LOG(SV_LOG_ERROR, "the audit log could not be indexed", sv_str("reason", err.text));
}

struct sv_audit_log *sv_audit_open(struct sv_state *state, struct sl_err *err)
{
    char path[PATH_BYTES];
    struct sl_map map;
    struct sv_audit_log *log = sl_new(sizeof *log, "the audit log", err);
    if (!log)
        return NULL;
    log->state = state;
    log->fd = -1;
    log->failures_left = SV_AUDIT_FAILURES_MAX;
    log->refilled_ns = sl_now_ns();
    (void)pthread_mutex_init(&log->lock, NULL);
    audit_path(state, path);
    log->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    bool ok = log->fd >= 0 || sl_fail(err, sl_file_error_code(errno), "open '%s': %s", path,
                                      strerrordesc_np(errno));
    if (ok && (ok = sl_map_open(&map, path, err))) {
        index_now_or_later(log, &map);
        ok = end_cut_line(log, &map, err);
        sl_map_close(&map);
    }
    if (ok)
        return log;
    sv_audit_close(log);
    return NULL;
}

void sv_audit_close(struct sv_audit_log *log)
{
    if (!log)
        return;
    if (log->fd >= 0)
        (void)close(log->fd);
    (void)pthread_mutex_destroy(&log->lock);
    free(log);
}

/* What is known of a change. */
struct entry {
    const char *actor, *address, *request_id, *action, *target, *detail;
    const char *error; /* code of why it failed; NULL: it did not */
};

static void write_entry(const struct entry *e, const char *id, struct sl_buffer *out)
{
    struct sl_json_writer json = {.out = out};
    const char *detail = e->detail ? e->detail : "null";
    sl_json_add(&json,
                "{'id':%s,'object':'audit.event','created_at':%lld,'actor':%s,'address':%s,"
                "'request_id':%s,'action':%s,'target':%s,'detail':",
                id, (long long)(sl_wall_ns() / 1000000000), e->actor, e->address, e->request_id,
                e->action, e->target);
    sl_json_add_raw(&json, detail, strlen(detail));
    sl_json_end_object(&json);
}

static bool write_line(struct sv_audit_log *log, const struct sl_buffer *line, struct sl_err *err)
{
    return (sv_append_line(log->fd, line, err) || sl_wrap(err, "audit.jsonl")) &&
           (fdatasync(log->fd) == 0 ||
            sl_fail(err, sl_file_error_code(errno), "audit.jsonl: %s", strerrordesc_np(errno)));
}

/* Once the index could not be written, it gets what it lacks from the file, in order. Not as one
 * transaction: changes of other threads would be part of it, and would fail with it. */
static bool catch_up(struct sv_audit_log *log, struct sl_err *err)
{
    char path[PATH_BYTES];
    struct sl_map map;
    audit_path(log->state, path);
    if (!sl_map_open(&map, path, err))
        return false;
    bool ok = index_lines(log->state, &map, err);
    sl_map_close(&map);
    return ok;
}

static bool append(struct sv_audit_log *log, const char *id, const struct sl_buffer *line,
                   struct sl_err *err)
{
    struct sl_buffer whole = {0};
    sl_buffer_append(&whole, line->data, line->bytes);
    sl_buffer_append(&whole, "\n", 1);
    (void)pthread_mutex_lock(&log->lock);
    bool ok = sl_buffer_check(&whole, err) && write_line(log, &whole, err);
    if (ok) {
        ok = log->is_behind ? catch_up(log, err)
                            : sv_state_put(log->state, SV_AUDIT, id, NULL, line->data, err);
        log->is_behind = !ok;
    }
    (void)pthread_mutex_unlock(&log->lock);
    sl_buffer_release(&whole);
    return ok;
}

static void record(struct sv_server *server, const struct entry *e)
{
    char id[ID_MAX];
    struct sl_err err;
    struct sl_buffer line = {0};
    SV_LOG(SV_LOG_INFO, "audit", sv_str("actor", e->actor), sv_str("action", e->action),
           sv_str("target", e->target), sv_str("result", e->error ? e->error : "ok"));
    if (!server->audit)
        return;
    (void)snprintf(id, sizeof id, "audit-%016llx", (unsigned long long)sv_next_id(server));
    write_entry(e, id, &line);
    if (!sl_buffer_check(&line, &err) || !append(server->audit, id, &line, &err))
        SV_LOG(SV_LOG_ERROR, "the audit log could not be written", sv_str("reason", err.text));
    sl_buffer_release(&line);
}

void sv_audit(struct sv_request *request, const char *target, const char *detail, const char *error)
{
    atomic_store(&request->is_audited, true);
    record(request->server, &(struct entry){.actor = request->caller.name,
                                            .address = request->caller.address,
                                            .request_id = request->request_id,
                                            .action = request->action,
                                            .target = target,
                                            .detail = detail,
                                            .error = error});
}

/* ---- failures -------------------------------------------------------------------------------- */

/* One more is allowed each second, up to SV_AUDIT_FAILURES_MAX at once. */
static void refill(struct sv_audit_log *log)
{
    int64_t seconds = (sl_now_ns() - log->refilled_ns) / 1000000000;
    log->refilled_ns += seconds * 1000000000;
    log->failures_left += seconds;
    if (log->failures_left > SV_AUDIT_FAILURES_MAX)
        log->failures_left = SV_AUDIT_FAILURES_MAX;
}

/* How many were not recorded since the last one; -1: nor is this one. */
static int64_t take_failure(struct sv_audit_log *log)
{
    refill(log);
    if (log->failures_left == 0) {
        atomic_fetch_add(&log->failures_missing, 1);
        return -1;
    }
    log->failures_left--;
    return atomic_exchange(&log->failures_missing, 0);
}

/* On the disk thread. */
static void write_failure(void *context)
{
    struct sv_request *request = context;
    int64_t missing = take_failure(request->server->audit);
    struct sl_buffer detail = {0};
    struct sl_json_writer json = {.out = &detail};
    const char *error = sv_error_code(request->outcome);
    sl_json_add(&json, "{'status':%d,'error':%s", request->response.status, error);
    if (missing > 0)
        sl_json_add(&json, "'failures_not_recorded':%lld", (long long)missing);
    sl_json_end_object(&json);
    if (missing >= 0 && !detail.failed)
        sv_audit(request, request->path_params[0], detail.data, error);
    sl_buffer_release(&detail);
    sv_request_release(request);
}

void sv_audit_failure(struct sv_request *request)
{
    struct sv_server *server = request->server;
    if (!server->audit || request->outcome == SV_OK || atomic_load(&request->is_audited))
        return;
    (void)sv_request_acquire(request); /* the disk thread's */
    if (sv_disk_thread_submit(server->disk_thread, write_failure, request))
        return;
    atomic_fetch_add(&server->audit->failures_missing, 1);
    sv_request_release(request);
}

void sv_audit_daemon(struct sv_server *server, const char *action, const char *target,
                     const char *detail, const char *error)
{
    record(server, &(struct entry){.actor = "sluiced",
                                   .action = action,
                                   .target = target,
                                   .detail = detail,
                                   .error = error});
}
