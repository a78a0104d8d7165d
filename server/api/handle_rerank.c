/* handle_rerank.c - ranks texts by a query, as Text Embeddings Inference, Jina and Cohere do. */
#include "api/classification_result.h"
#include "api/classify_request.h"
#include "api/handlers.h"
#include "api/tei_formats.h"
#include "params/rerank_params.h"
#include "params/scores.h"

#include "sluice/classifier.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- results --------------------------------------------------------------------------------- */

/* Adds the members of one result besides its index. */
typedef void result_adder(struct sl_json_writer *json, const struct sv_classification *c,
                          const struct sv_score *score);

static void add_text(struct sl_json_writer *json, const struct sv_classification *c, int index)
{
    const struct sv_string *text = sv_texts_pair(&c->input.texts, index);
    sl_json_add_bytes(sl_json_key(json, "text"), text->data, text->bytes);
}

/* The probability of the only label. */
static double probability(const struct sv_classification *c, float logit)
{
    sl_model_scores(c->ref->model, &logit, &logit);
    return (double)logit;
}

static void add_tei(struct sl_json_writer *json, const struct sv_classification *c,
                    const struct sv_score *score)
{
    const struct sv_rerank_params *params = c->params;
    if (params->returns_texts)
        add_text(json, c, score->class);
    sl_json_add(json, "'score':%f",
                params->raw_scores ? (double)score->value : probability(c, score->value));
}

static void add_relevance(struct sl_json_writer *json, const struct sv_classification *c,
                          const struct sv_score *score)
{
    const struct sv_rerank_params *params = c->params;
    sl_json_add(json, "'relevance_score':%f", probability(c, score->value));
    if (!params->returns_texts)
        return;
    sl_json_begin_object(sl_json_key(json, "document"));
    add_text(json, c, score->class);
    sl_json_end_object(json);
}

/* By logit: probabilities near 1 are rounded to the same number. There is one per text. */
static void add_results(struct sl_json_writer *json, const struct sv_classification *c,
                        result_adder *add)
{
    const struct sv_rerank_params *params = c->params;
    struct sv_score *ranked = calloc((size_t)c->texts, sizeof *ranked);
    json->out->failed = json->out->failed || !ranked;
    if (!ranked)
        return;
    sv_scores_rank(c->results, c->texts, ranked);
    sl_json_begin_array(json);
    for (int i = 0; i < c->texts && (params->top_n == 0 || i < params->top_n); i++) {
        sl_json_add(json, "{'index':%d", ranked[i].class);
        add(json, c, &ranked[i]);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
    free(ranked);
}

static struct sv_json_document *read(struct sv_request *request, const struct sv_field *fields,
                                     void *to, struct sv_classify_input *input,
                                     struct sv_error *error)
{
    struct sv_rerank_params *params = to;
    struct sv_json_document *document =
        sv_rerank_params_read(&request->body, fields, params, error);
    if (!document)
        return NULL;
    if (params->model.data)
        (void)snprintf(input->model, sizeof input->model, "%s", params->model.data);
    input->texts = params->texts;
    input->tokenize = &params->tokenize;
    input->budget = &params->budget;
    return document;
}

/* ---- Text Embeddings Inference --------------------------------------------------------------- */

static enum sv_progress respond_tei(struct sv_request *request, struct sv_classification *c)
{
    struct sl_json_writer json = {.out = &request->response.body};
    add_results(&json, c, add_tei);
    return sv_classification_respond(request, c, "application/json");
}

const struct sv_classify_format sv_tei_rerank = {.params_size = sizeof(struct sv_rerank_params),
                                                 .texts_field = "texts",
                                                 .wants = SV_WANTS_RERANKER,
                                                 .fields = sv_rerank_fields,
                                                 .read = read,
                                                 .respond = respond_tei};

enum sv_progress sv_handle_rerank(struct sv_request *request)
{
    return sv_classify(request, &sv_tei_rerank);
}

/* ---- Jina ------------------------------------------------------------------------------------ */

static enum sv_progress respond_jina(struct sv_request *request, struct sv_classification *c)
{
    const long long tokens = c->usage.prompt_tokens;
    struct sl_json_writer json = {.out = &request->response.body};
    sl_json_add(&json, "{'model':%s,'usage':{'total_tokens':%lld,'prompt_tokens':%lld},'results':",
                c->ref->id, tokens, tokens);
    add_results(&json, c, add_relevance);
    sl_json_end_object(&json);
    return sv_classification_respond(request, c, "application/json");
}

enum sv_progress sv_handle_jina_rerank(struct sv_request *request)
{
    static const struct sv_classify_format jina = {.params_size = sizeof(struct sv_rerank_params),
                                                   .texts_field = "documents",
                                                   .body_names_model = true,
                                                   .wants = SV_WANTS_RERANKER,
                                                   .fields = sv_jina_rerank_fields,
                                                   .read = read,
                                                   .respond = respond_jina};
    return sv_classify(request, &jina);
}

/* ---- Cohere ---------------------------------------------------------------------------------- */

static enum sv_progress respond_cohere(struct sv_request *request, struct sv_classification *c)
{
    struct sl_json_writer json = {.out = &request->response.body};
    sl_json_add(&json, "{'id':%s,'results':", request->request_id);
    add_results(&json, c, add_relevance);
    sl_json_add(&json, "'meta':{'api_version':{'version':'2'},'billed_units':{'search_units':1}}}");
    return sv_classification_respond(request, c, "application/json");
}

enum sv_progress sv_handle_cohere_rerank(struct sv_request *request)
{
    static const struct sv_classify_format cohere = {.params_size = sizeof(struct sv_rerank_params),
                                                     .texts_field = "documents",
                                                     .body_names_model = true,
                                                     .wants = SV_WANTS_RERANKER,
                                                     .fields = sv_cohere_rerank_fields,
                                                     .read = read,
                                                     .respond = respond_cohere};
    return sv_classify(request, &cohere);
}
