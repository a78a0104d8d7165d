/* file_upload.h - files sent to a test's daemon as multipart/form-data. */
#pragma once

#include "support/http_client.h"

enum { UPLOAD_ID_MAX = 64 };

/* POST /v1/files on the admin listener. filename or purpose NULL: without that part. The caller
 * releases the response. */
struct http_response file_upload(const struct daemon *daemon, const char *filename,
                                 const char *purpose, const char *bytes, size_t count);

/* The same for a text that must be accepted; its id goes to id. */
void file_upload_text(const struct daemon *daemon, const char *filename, const char *text,
                      char id[static UPLOAD_ID_MAX]);
