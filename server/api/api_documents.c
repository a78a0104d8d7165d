/* api_documents.c - the index and the OpenAPI document. */
#include "api/api_documents.h"
#include "api/endpoints.h"
#include "api/openapi.h"
#include "base/json_writer.h"

#include "sluice/engine.h"

/* The body of GET /: name, version and all endpoints. */
static void write_index(struct sl_buffer *out)
{
    struct sl_json_writer json = {.out = out};
    sl_json_add(&json,
                "{'name':'sluice','version':%s,'description':'Adaptive-computation transformers "
                "on CPUs: text completion, classification and embeddings.','endpoints':[",
                sl_version());
    for (int i = 0; i < sv_routes.count; i++)
        sl_json_add(&json, "{'method':%s,'path':%s}", sv_routes.routes[i].method,
                    sv_routes.routes[i].path);
    sl_json_add(&json, "]}");
    sl_buffer_append_string(out, "\n");
}

bool sv_api_documents_write(struct sv_api_documents *documents, struct sl_err *err)
{
    write_index(&documents->index);
    sv_openapi_write(&documents->openapi);
    return sl_buffer_check(&documents->index, err) && sl_buffer_check(&documents->openapi, err);
}

void sv_api_documents_release(struct sv_api_documents *documents)
{
    sl_buffer_release(&documents->index);
    sl_buffer_release(&documents->openapi);
}
