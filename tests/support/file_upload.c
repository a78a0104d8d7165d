/* file_upload.c - files sent to a test's daemon as multipart/form-data. */
#include "support/file_upload.h"
#include "support/json_query.h"
#include "support/test.h"

static void add_part(curl_mime *form, const char *name, const char *filename, const char *bytes,
                     size_t count)
{
    curl_mimepart *part = curl_mime_addpart(form);
    curl_mime_name(part, name);
    curl_mime_data(part, bytes, count);
    if (filename)
        curl_mime_filename(part, filename);
}

struct http_response file_upload(const struct daemon *daemon, const char *filename,
                                 const char *purpose, const char *bytes, size_t count)
{
    char path[PATH_MAX];
    CURL *curl = curl_easy_init();
    curl_mime *form = curl_mime_init(curl);
    if (filename)
        add_part(form, "file", filename, bytes, count);
    if (purpose)
        add_part(form, "purpose", NULL, purpose, strlen(purpose));
    curl_easy_setopt(curl, CURLOPT_URL, "http://localhost/v1/files");
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, daemon_admin_socket(daemon, path));
    curl_easy_setopt(curl, CURLOPT_MIMEPOST, form);
    struct http_response response = http_perform(curl);
    curl_mime_free(form);
    curl_easy_cleanup(curl);
    return response;
}

void file_upload_text(const struct daemon *daemon, const char *filename, const char *text,
                      char id[static UPLOAD_ID_MAX])
{
    struct http_response response = file_upload(daemon, filename, "fine-tune", text, strlen(text));
    cr_assert_eq(response.status, 200, "%s", response.body.data);
    json_t *object = json_from_response(&response);
    (void)snprintf(id, UPLOAD_ID_MAX, "%s", json_string_at(object, "id"));
    json_decref(object);
    http_response_release(&response);
}
