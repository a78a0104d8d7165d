/* api_documents.h - what the daemon says about its API, written once at start. */
#pragma once

#include "base/buffer.h"

struct sv_api_documents {
    struct sl_buffer index;     /* GET / */
    struct sl_buffer inference; /* GET /openapi.json on the inference listener, */
    struct sl_buffer admin;     /* and on the admin listener */
};

bool sv_api_documents_write(struct sv_api_documents *documents, struct sl_err *err) SL_MUST_CHECK;
void sv_api_documents_release(struct sv_api_documents *documents);
