/* handle_embeddings.c - embeddings of texts, as OpenAI and Text Embeddings Inference have them. */
#include "api/classification_result.h"
#include "api/classify_request.h"
#include "api/embedding_response.h"
#include "api/handlers.h"
#include "api/tei_formats.h"

#include <stdio.h>

static bool check_dimensions(struct sv_classification *c, struct sv_error *error)
{
    const struct sv_embed_params *params = c->params;
    return sv_embeddings_check(c, params->dimensions, "dimensions", error);
}

/* The result of one text, as the request wants it. */
static void add_embedding(struct sl_json_writer *json, const struct sv_classification *c, int index)
{
    const struct sv_embed_params *params = c->params;
    const struct sv_embedding_format format = {.count = (int)params->dimensions,
                                               .normalize = params->normalize,
                                               .encoding = params->encoding};
    sv_embedding_add(json, c, index, &format);
}

static struct sv_json_document *read(struct sv_request *request, const struct sv_field *fields,
                                     void *to, struct sv_classify_input *input,
                                     struct sv_error *error)
{
    struct sv_embed_params *params = to;
    struct sv_json_document *document = sv_embed_params_read(&request->body, fields, params, error);
    if (!document)
        return NULL;
    if (params->model.data)
        (void)snprintf(input->model, sizeof input->model, "%s", params->model.data);
    input->texts = params->texts;
    if (params->inputs.count > 0 && params->inputs.items[0].ids)
        input->ids = params->inputs.items;
    input->tokenize = &params->tokenize;
    input->budget = &params->budget;
    return document;
}

/* ---- Text Embeddings Inference --------------------------------------------------------------- */

static enum sv_progress respond_tei(struct sv_request *request, struct sv_classification *c)
{
    return sv_embeddings_respond(request, c, add_embedding, true);
}

const struct sv_classify_format sv_tei_embed = {.params_size = sizeof(struct sv_embed_params),
                                                .texts_field = "inputs",
                                                .wants = SV_WANTS_EMBEDDINGS,
                                                .slices_embeddings = true,
                                                .fields = sv_embed_fields,
                                                .read = read,
                                                .prepare = check_dimensions,
                                                .respond = respond_tei};

enum sv_progress sv_handle_embed(struct sv_request *request)
{
    return sv_classify(request, &sv_tei_embed);
}

static void add_sparse(struct sl_json_writer *json, const struct sv_classification *c, int index)
{
    const float *x = c->task.items[index].embedding;
    sl_json_begin_array(json);
    for (int i = 0; i < c->outputs; i++)
        if (x[i] > 0.0f)
            sl_json_add(json, "{'index':%d,'value':%f}", i, (double)x[i]);
    sl_json_end_array(json);
}

static enum sv_progress respond_sparse(struct sv_request *request, struct sv_classification *c)
{
    return sv_embeddings_respond(request, c, add_sparse, true);
}

/* A vector for each token, as the model makes them. */
static void add_tokens(struct sl_json_writer *json, const struct sv_classification *c, int index)
{
    const struct sv_classification_item *item = &c->task.items[index];
    sl_json_begin_array(json);
    for (int row = 0; row < item->rows; row++) {
        sl_json_begin_array(json);
        for (int i = 0; i < c->outputs; i++)
            sl_json_add_float(json, item->embedding[(size_t)row * (size_t)c->outputs + (size_t)i]);
        sl_json_end_array(json);
    }
    sl_json_end_array(json);
}

static enum sv_progress respond_tokens(struct sv_request *request, struct sv_classification *c)
{
    return sv_embeddings_respond(request, c, add_tokens, true);
}

enum sv_progress sv_handle_embed_all(struct sv_request *request)
{
    static const struct sv_classify_format all = {.params_size = sizeof(struct sv_embed_params),
                                                  .texts_field = "inputs",
                                                  .wants = SV_WANTS_TOKEN_EMBEDDINGS,
                                                  .output = SL_OUTPUT_TOKENS,
                                                  .slices_embeddings = true,
                                                  .fields = sv_embed_sparse_fields,
                                                  .read = read,
                                                  .respond = respond_tokens};
    return sv_classify(request, &all);
}

enum sv_progress sv_handle_embed_sparse(struct sv_request *request)
{
    static const struct sv_classify_format sparse = {.params_size = sizeof(struct sv_embed_params),
                                                     .texts_field = "inputs",
                                                     .wants = SV_WANTS_SPARSE_EMBEDDINGS,
                                                     .output = SL_OUTPUT_SPARSE,
                                                     .slices_embeddings = true,
                                                     .fields = sv_embed_sparse_fields,
                                                     .read = read,
                                                     .respond = respond_sparse};
    return sv_classify(request, &sparse);
}

/* ---- OpenAI ---------------------------------------------------------------------------------- */

/* Which texts were truncated. */
static void add_truncated(struct sl_json_writer *json, const struct sv_classification *c)
{
    sl_json_add(json, "'sluice':{'truncated':[");
    for (int i = 0; i < c->texts; i++) {
        int given = c->tokens_before_truncation[i], used = c->task.items[i].count;
        if (given <= used)
            continue;
        sl_json_add(json, "{'prompt':%d,'prompt_tokens_given':%d,'prompt_tokens_used':%d}", i,
                    given, used);
    }
    sl_json_add(json, "]}");
}

static void add_usage(struct sl_json_writer *json, const struct sv_classification *c)
{
    sl_json_add(json, "{'prompt_tokens':%lld,'total_tokens':%lld",
                (long long)c->usage.prompt_tokens, (long long)c->usage.prompt_tokens);
    if (c->truncated_count > 0)
        add_truncated(json, c);
    sl_json_end_object(json);
}

static void add_item(struct sl_json_writer *json, const struct sv_classification *c, int index)
{
    sl_json_add(json, "{'object':'embedding','index':%d,'embedding':", index);
    add_embedding(json, c, index);
    sl_json_end_object(json);
}

static enum sv_progress respond_openai(struct sv_request *request, struct sv_classification *c)
{
    struct sl_json_writer *json = &c->json;
    if (c->written == 0) {
        json->out = &request->response.body;
        sl_json_add(json, "{'object':'list','data':[");
    }
    if (!sv_embeddings_add_slice(c, add_item))
        return SV_YIELDING;
    sl_json_add(json, "],'model':%s,'usage':", c->ref->id);
    add_usage(json, c);
    sl_json_end_object(json);
    return sv_classification_respond(request, c, "application/json");
}

enum sv_progress sv_handle_embeddings(struct sv_request *request)
{
    static const struct sv_classify_format openai = {.params_size = sizeof(struct sv_embed_params),
                                                     .body_names_model = true,
                                                     .texts_field = "input",
                                                     .wants = SV_WANTS_EMBEDDINGS,
                                                     .slices_embeddings = true,
                                                     .fields = sv_embedding_fields,
                                                     .read = read,
                                                     .prepare = check_dimensions,
                                                     .respond = respond_openai};
    return sv_classify(request, &openai);
}
