/* json_document.h - a parsed body, and the memory made for what was read from it. */
#pragma once

#include "core/request_error.h"

#include <stddef.h>

struct json_t; /* jansson's */
struct sv_json_document;

/* Takes over the reference to `root`. NULL: no memory, see error. */
struct sv_json_document *sv_json_document_create(struct json_t *root, struct sv_error *error);
/* Zeroed memory that the document owns, at least one byte; NULL with an error. */
void *sv_json_document_alloc(struct sv_json_document *document, size_t count, size_t size,
                             struct sv_error *error);
void sv_json_document_release(struct sv_json_document *document); /* NULL is fine */
