/* handle_files.c - /v1/files: uploads, lists, contents, in OpenAI's format. */
#include "api/deferred_response.h"
#include "api/handlers.h"
#include "api/multipart.h"
#include "api/pagination.h"
#include "base/json_writer.h"
#include "core/options.h"
#include "state/audit_log.h"
#include "state/file_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- POST /v1/files -------------------------------------------------------------------------- */

enum { PURPOSE_MAX = 32 };

/* An upload: first its connection's thread reads the form, then the disk thread finishes the
 * file. */
struct upload {
    struct sv_deferred response;
    struct sv_form form;
    struct sv_upload *file; /* NULL until the part begins */
    char part[SV_PART_NAME_MAX];
    char filename[SV_FILE_NAME_MAX], purpose[PURPOSE_MAX];
    size_t purpose_bytes;
};

/* Before the answer is sent: who reads it may count on the room, and upload again at once. */
static void end_file(struct upload *u)
{
    sv_upload_destroy(u->file);
    u->file = NULL;
}

static void release_upload(struct sv_deferred *response)
{
    end_file((struct upload *)response);
}

/* On the disk thread. */
static void finish_upload(struct sv_deferred *response)
{
    struct upload *u = (struct upload *)response;
    if (sv_upload_finish(u->file, u->filename, u->purpose, &response->object, &response->error))
        sv_audit(response->request, u->filename, response->object.data, NULL);
    end_file(u);
}

static bool on_part(void *context, const char *name, const char *filename, struct sv_error *error)
{
    struct upload *u = context;
    (void)snprintf(u->part, sizeof u->part, "%s", name);
    if (strcmp(name, "purpose") == 0) {
        u->purpose_bytes = 0;
        return true;
    }
    if (strcmp(name, "file") != 0)
        return sv_fail(error, SV_UNKNOWN_PARAMETER, name,
                       "Unknown parameter '%s'. Accepted: file, purpose.", name);
    if (u->file || !filename || !filename[0])
        return sv_fail(error, SV_INVALID_VALUE, "file",
                       u->file ? "The form has two files." : "'file' must be a file with a name.");
    (void)snprintf(u->filename, sizeof u->filename, "%s", filename);
    u->file = sv_upload_begin(u->response.request->server->files, error);
    return u->file;
}

static bool on_part_data(void *context, const char *bytes, size_t count, struct sv_error *error)
{
    struct upload *u = context;
    if (strcmp(u->part, "file") == 0)
        return sv_upload_write(u->file, bytes, count, error);
    if (u->purpose_bytes + count >= sizeof u->purpose)
        return sv_fail(error, SV_INVALID_VALUE, "purpose", "'purpose' must be \"fine-tune\".");
    memcpy(u->purpose + u->purpose_bytes, bytes, count);
    u->purpose_bytes += count;
    u->purpose[u->purpose_bytes] = '\0';
    return true;
}

static bool begin_upload(struct sv_request *request, const char *content_type,
                         struct sv_error *error)
{
    if (!sv_has_state(request, error))
        return false;
    struct upload *u = sv_deferred_begin(request, sizeof *u, release_upload, error);
    const struct sv_form_reader reader = {.context = u, .begin = on_part, .data = on_part_data};
    if (!u)
        return false;
    return sv_form_begin(&u->form, content_type, &reader, error);
}

static bool receive_upload(struct sv_request *request, const char *bytes, size_t count,
                           struct sv_error *error)
{
    struct upload *u = request->state;
    if (sv_form_feed(&u->form, bytes, count, error))
        return true;
    end_file(u);
    return false;
}

/* A file, and the form around it. */
static int64_t upload_bytes_max(const struct sv_server *server)
{
    return server->options->max_upload_bytes +
           (int64_t)SV_PARTS_IN_FORM_MAX * (SV_PART_HEAD_MAX + SV_BOUNDARY_MAX);
}

const struct sv_body_sink sv_file_sink = {.content_type = "multipart/form-data",
                                          .bytes_max = upload_bytes_max,
                                          .begin = begin_upload,
                                          .receive = receive_upload};

static bool check_form(const struct upload *u, struct sv_error *error)
{
    if (!sv_form_end(&u->form, error))
        return false;
    if (!u->file)
        return sv_fail(error, SV_MISSING_PARAMETER, "file", "'file' is required.");
    if (!u->purpose[0])
        return sv_fail(error, SV_MISSING_PARAMETER, "purpose",
                       "'purpose' is required: \"fine-tune\".");
    return strcmp(u->purpose, "fine-tune") == 0 ||
           sv_fail(error, SV_INVALID_VALUE, "purpose",
                   "'purpose' must be \"fine-tune\", not \"%.32s\".", u->purpose);
}

enum sv_progress sv_handle_file_upload(struct sv_request *request)
{
    struct sv_error error = {0};
    struct upload *u = request->state;
    if (!check_form(u, &error)) {
        end_file(u);
        return sv_request_fail(request, &error);
    }
    return sv_deferred_to_disk(&u->response, finish_upload);
}

/* ---- the others ------------------------------------------------------------------------------ */

enum sv_progress sv_handle_files(struct sv_request *request)
{
    return sv_page_respond(request, SV_FILES, NULL);
}

enum sv_progress sv_handle_audit(struct sv_request *request)
{
    return sv_page_respond(request, SV_AUDIT, NULL);
}

enum sv_progress sv_handle_file(struct sv_request *request)
{
    struct sv_error error = {0};
    if (!sv_has_state(request, &error) ||
        !sv_file_describe(request->server->files, request->path_params[0], "file_id",
                          &request->response.body, &error))
        return sv_request_fail(request, &error);
    return sv_request_respond(request, 200, "application/json");
}

/* ---- DELETE /v1/files/{id} ------------------------------------------------------------------- */

/* On the disk thread: a large file takes its time. */
static void delete_file(struct sv_deferred *response)
{
    const char *id = response->request->path_params[0];
    if (!sv_file_delete(response->request->server->files, id, &response->error))
        return;
    sv_audit(response->request, id, NULL, NULL);
    struct sl_json_writer json = {.out = &response->object};
    sl_json_add(&json, "{'id':%s,'object':'file','deleted':true}", id);
}

enum sv_progress sv_handle_file_delete(struct sv_request *request)
{
    struct sv_error error = {0};
    struct sv_deferred *response = NULL;
    if (sv_has_state(request, &error))
        response = sv_deferred_begin(request, sizeof *response, NULL, &error);
    return response ? sv_deferred_to_disk(response, delete_file) : sv_request_fail(request, &error);
}

/* ---- GET /v1/files/{id}/content -------------------------------------------------------------- */

struct download {
    int fd;
    int64_t left;
};

static ssize_t download_pull(struct sv_request *request, char *bytes, size_t max)
{
    struct download *d = request->state;
    if (d->left == 0)
        return SV_PULL_END;
    ssize_t taken;
    do
        taken = read(d->fd, bytes, (int64_t)max < d->left ? max : (size_t)d->left);
    while (taken < 0 && errno == EINTR);
    if (taken <= 0)
        return SV_PULL_ERROR;
    d->left -= taken;
    return taken;
}

static void download_destroy(void *state)
{
    struct download *d = state;
    (void)close(d->fd);
    free(d);
}

static const struct sv_async download_async = {.pull = download_pull, .destroy = download_destroy};

enum sv_progress sv_handle_file_content(struct sv_request *request)
{
    struct sv_error error = {0};
    struct download *d = NULL;
    int64_t bytes = 0;
    int fd = sv_has_state(request, &error)
                 ? sv_file_open(request->server->files, request->path_params[0], &bytes, &error)
                 : -1;
    if (fd >= 0)
        d = calloc(1, sizeof *d);
    if (fd >= 0 && !d) {
        (void)close(fd);
        (void)sv_fail_no_memory(&error);
    }
    if (!d)
        return sv_request_fail(request, &error);
    *d = (struct download){.fd = fd, .left = bytes};
    request->async = &download_async;
    request->state = d;
    (void)sv_request_respond(request, 200, "application/octet-stream");
    return SV_STREAMING;
}
