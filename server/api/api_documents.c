/* api_documents.c - the index and the OpenAPI documents. */
#include "api/api_documents.h"
#include "api/endpoints.h"
#include "api/openapi.h"
#include "base/json_writer.h"

#include "sluice/engine.h"

/* The body of GET /: name, version and all endpoints. */
static void write_index(struct sl_buffer *out)
{
    struct sl_json_writer json = {.out = out};
    sl_json_begin_object(&json);
    sl_json_add_string(sl_json_key(&json, "name"), "sluice");
    sl_json_add_string(sl_json_key(&json, "version"), sl_version());
    sl_json_add_string(sl_json_key(&json, "description"),
                       "Adaptive-computation transformers on CPUs: text completion, "
                       "classification and embeddings.");
    sl_json_begin_array(sl_json_key(&json, "endpoints"));
    for (int i = 0; i < sv_routes.count; i++) {
        sl_json_begin_object(&json);
        sl_json_add_string(sl_json_key(&json, "method"), sv_routes.routes[i].method);
        sl_json_add_string(sl_json_key(&json, "path"), sv_routes.routes[i].path);
        sl_json_end_object(&json);
    }
    sl_json_end_array(&json);
    sl_json_end_object(&json);
    sl_buffer_append_string(out, "\n");
}

bool sv_api_documents_write(struct sv_api_documents *documents, struct sl_err *err)
{
    write_index(&documents->index);
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
