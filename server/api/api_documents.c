/* api_documents.c - the index and the OpenAPI documents, written once. */
#include "api/api_documents.h"
#include "api/openapi.h"
#include "api/routes.h"

bool sv_api_documents_write(struct sv_api_documents *documents, struct sl_err *err)
{
    sv_routes_index(&documents->index);
    sv_openapi_write(&documents->inference, SV_ON_INFERENCE);
    sv_openapi_write(&documents->admin, SV_ON_ADMIN);
    return sl_buffer_check(&documents->index, err) && sl_buffer_check(&documents->inference, err) &&
           sl_buffer_check(&documents->admin, err);
}

void sv_api_documents_release(struct sv_api_documents *documents)
{
    sl_buffer_release(&documents->index);
    sl_buffer_release(&documents->inference);
    sl_buffer_release(&documents->admin);
}
