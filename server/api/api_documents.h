/* api_documents.h - writes what the daemon says about its API, once at start. */
#pragma once

#include "core/server.h"
#include "sluice/err.h"

bool sv_api_documents_write(struct sv_api_documents *documents, struct sl_err *err) SL_MUST_CHECK;
void sv_api_documents_release(struct sv_api_documents *documents);
