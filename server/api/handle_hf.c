/* handle_hf.c - the tasks of Hugging Face's pipelines: a row for each. */
#include "api/classify_request.h"
#include "api/embedding_response.h"
#include "api/entity_response.h"
#include "api/handlers.h"
#include "api/label_response.h"
#include "api/model_abilities.h"
#include "params/hf_params.h"

struct hf_task {
    enum sv_ability needs;
    /* Checks that need the model; NULL: none. */
    bool (*check)(struct sv_classification *c, struct sv_error *error);
    enum sv_progress (*respond)(struct sv_request *request, struct sv_classification *c);
};

static enum sv_progress respond_json(struct sv_request *request, const struct sv_classification *c)
{
    sv_classification_headers(request, c);
    return sv_request_respond(request, 200, "application/json");
}

/* ---- labels of texts ------------------------------------------------------------------------- */

static bool check_labels(struct sv_classification *c, struct sv_error *error)
{
    return sv_labels_check(c, "", error);
}

/* Hugging Face's client always expects an array. */
static enum sv_progress respond_labels(struct sv_request *request, struct sv_classification *c)
{
    const struct sv_hf_params *params = c->params;
    struct sl_json_writer json = {.out = &request->response.body};
    sv_labels_add(&json, c, &params->labels, true);
    return respond_json(request, c);
}

/* ---- labels of tokens ------------------------------------------------------------------------ */

static enum sv_progress respond_entities(struct sv_request *request, struct sv_classification *c)
{
    const struct sv_hf_params *params = c->params;
    struct sl_json_writer json = {.out = &request->response.body};
    if (params->inputs.is_array)
        sl_json_begin_array(&json);
    for (int i = 0; i < c->texts; i++)
        sv_entities_add(&json, c, i, &params->entities);
    if (params->inputs.is_array)
        sl_json_end_array(&json);
    return respond_json(request, c);
}

/* ---- embeddings ------------------------------------------------------------------------------ */

static void add_embedding(struct sl_json_writer *json, const struct sv_classification *c, int index)
{
    const struct sv_hf_params *params = c->params;
    const struct sv_embedding_format format = {.normalize = params->normalize};
    sv_embedding_add(json, c, index, &format);
}

static enum sv_progress respond_embeddings(struct sv_request *request, struct sv_classification *c)
{
    return sv_embeddings_respond(request, c, add_embedding);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct hf_task tasks[] = {
    {SV_CLASSIFIES, check_labels, respond_labels},
    {SV_CLASSIFIES_TOKENS, check_labels, respond_entities},
    {SV_EMBEDS, check_labels, respond_embeddings},
};

static bool choose(struct sv_classification *c, struct sv_error *error)
{
    const struct hf_task *task = tasks;
    while (!sv_model_can(sl_model_info(c->ref->model), task->needs))
        task++;
    c->choice = task;
    return !task->check || task->check(c, error);
}

static enum sv_progress respond(struct sv_request *request, struct sv_classification *c)
{
    const struct hf_task *task = c->choice;
    return task->respond(request, c);
}

static struct sv_json_document *read(struct sv_request *request, void *to,
                                     struct sv_classify_input *input, struct sv_error *error)
{
    struct sv_hf_params *params = to;
    struct sv_json_document *document = sv_hf_params_read(&request->body, params, error);
    input->texts = params->inputs;
    input->tokenize = &params->tokenize;
    input->explain = (int)params->explain;
    input->budget = &params->budget;
    return document;
}

enum sv_progress sv_handle_hf(struct sv_request *request)
{
    static const struct sv_classify_format hf = {.params_size = sizeof(struct sv_hf_params),
                                                 .texts_field = "inputs",
                                                 .wants = SV_WANTS_READER,
                                                 .slices_embeddings = true,
                                                 .read = read,
                                                 .prepare = choose,
                                                 .respond = respond};
    return sv_classify(request, &hf);
}
