/* handle_web.c - static files: the web console and the documentation. */
#include "api/handlers.h"
#include "api/web_files.h"
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

/* Scripts and styles are files of this origin, and requests go nowhere else: whatever a text, a
 * label or a message holds, none of it runs. */
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

/* True, with the headers set, if the client has this file already. */
static bool is_cached(struct sv_request *request, const struct sv_web_file *file)
{
    char digest[65], tag[sizeof digest + 2];
    sl_sha256_hex(file->data, (size_t)(file->end - file->data), digest);
    (void)snprintf(tag, sizeof tag, "\"%s\"", digest);
    sv_request_add_header(request, "ETag", "%s", tag);
    sv_request_add_header(request, "Cache-Control", "no-cache");
    const char *known = request->transport->header(request->connection, "If-None-Match");
    return known && strstr(known, tag);
}

/* file NULL: there is none; begin: where the files begin. */
static enum sv_progress respond(struct sv_request *request, const struct sv_web_file *file,
                                const char *begin)
{
    if (!file) {
        struct sv_error error;
        (void)sv_fail(&error, SV_ROUTE_NOT_FOUND, NULL, "There is no file \"%.100s\" here; see %s.",
                      request->path_params[0], begin);
        return sv_request_fail(request, &error);
    }
    sl_buffer_append_string(sv_request_add_long_header(request, "Content-Security-Policy"), policy);
    sv_request_add_header(request, "X-Content-Type-Options", "nosniff");
    sv_request_add_header(request, "Referrer-Policy", "no-referrer");
    sv_request_add_header(request, "Cross-Origin-Opener-Policy", "same-origin");
    if (is_cached(request, file))
        return sv_request_respond(request, 304, NULL);
    sl_buffer_append(&request->response.body, file->data, (size_t)(file->end - file->data));
    return sv_request_respond(request, 200, file->content_type);
}

static const char *name_of(const struct sv_request *request)
{
    return request->path_params[0][0] ? request->path_params[0] : "index.html";
}

enum sv_progress sv_handle_console(struct sv_request *request)
{
    return respond(request, sv_console_file(name_of(request)), "/ui/");
}

enum sv_progress sv_handle_site(struct sv_request *request)
{
    if (!sv_site_file("index.html")) {
        struct sv_error error;
        (void)sv_fail(&error, SV_ROUTE_NOT_FOUND, NULL,
                      "This daemon was built without its documentation: Python-Markdown was not "
                      "there.");
        return sv_request_fail(request, &error);
    }
    return respond(request, sv_site_file(name_of(request)), "/docs/");
}
