/* handle_file_check.c - GET /v1/files/{id}/check: what a file holds, before a job trains on it. */
#include "api/deferred_response.h"
#include "api/handlers.h"
#include "api/pagination.h"
#include "core/percent_encoding.h"
#include "jobs/file_check.h"
#include "sluice/dataset.h"

#include <stdlib.h>
#include <string.h>

enum { RECORDS = 5, RECORDS_MAX = 100000, DIGITS_MAX = 6, COLUMNS_BYTES = 4096 };

struct check {
    struct sv_deferred response;
    struct sv_file_check file;
};

static const char *query(const struct sv_request *request, const char *name)
{
    return request->transport->query(request->connection, name);
}

static bool read_records(const struct sv_request *request, int *records, struct sv_error *error)
{
    const char *given = query(request, "records");
    const size_t digits = given ? strspn(given, "0123456789") : 0;
    *records = RECORDS;
    if (!given)
        return true;
    *records = digits > 0 && digits <= DIGITS_MAX && !given[digits] ? (int)strtol(given, NULL, 10)
                                                                    : RECORDS_MAX + 1;
    return *records <= RECORDS_MAX ||
           sv_fail(error, SV_INVALID_VALUE, "records",
                   "'records' must be an integer from 0 to %d, not \"%.32s\".", RECORDS_MAX, given);
}

/* Of a query, without escapes. */
struct columns {
    char label[COLUMNS_BYTES], text[COLUMNS_BYTES], label_separator[COLUMNS_BYTES];
};

/* *value: NULL if it is not given. Whether the file has such columns is part of the result. */
static bool read_text(const struct sv_request *request, const char *name,
                      char decoded[static COLUMNS_BYTES], const char **value,
                      struct sv_error *error)
{
    const char *given = query(request, name);
    *value = given ? decoded : NULL;
    return !given || sv_percent_decode(given, strlen(given), decoded, COLUMNS_BYTES) ||
           sv_fail(error, SV_INVALID_VALUE, name,
                   "'%s' must be 1 to %d bytes of UTF-8, not \"%.32s\".", name, COLUMNS_BYTES - 1,
                   given);
}

static bool check_separator(const char *separator, struct sv_error *error)
{
    struct sl_err err;
    return sl_label_separator_check(separator, &err) ||
           sv_fail(error, SV_INVALID_VALUE, "label_separator", "%s.", err.text);
}

static bool read_options(const struct sv_request *request, struct columns *columns,
                         struct sv_file_check_options *options, struct sv_error *error)
{
    return read_text(request, "label", columns->label, &options->label, error) &&
           read_text(request, "text", columns->text, &options->text, error) &&
           read_text(request, "label_separator", columns->label_separator,
                     &options->label_separator, error) &&
           check_separator(options->label_separator, error) &&
           read_records(request, &options->records, error);
}

/* On the check's thread. */
static void finish(void *context)
{
    sv_deferred_finish(context);
}

static bool start(struct sv_request *request, struct sv_error *error)
{
    struct columns columns;
    struct sv_file_check_options options = {0};
    struct check *c;
    if (!sv_has_state(request, error) || !read_options(request, &columns, &options, error) ||
        !(c = sv_deferred_begin(request, sizeof *c, NULL, error)))
        return false;
    c->file = (struct sv_file_check){.jobs = request->server->jobs,
                                     .request = request,
                                     .output = &c->response.object,
                                     .error = &c->response.error,
                                     .done = finish,
                                     .context = &c->response};
    if (!sv_file_find(request->server->files, request->path_params[0], "file_id", &c->file.file,
                      error))
        return false;
    (void)sv_request_acquire(request); /* the thread's */
    if (sv_file_check_start(&c->file, &options, error))
        return true;
    sv_request_release(request);
    return false;
}

enum sv_progress sv_handle_file_check(struct sv_request *request)
{
    struct sv_error error = {0};
    return start(request, &error) ? SV_PENDING : sv_request_fail(request, &error);
}
