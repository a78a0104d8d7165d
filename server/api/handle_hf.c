/* handle_hf.c - the tasks of Hugging Face's pipelines: a row for each. */
#include "api/classification_result.h"
#include "api/classify_request.h"
#include "api/embedding_response.h"
#include "api/entity_response.h"
#include "api/handlers.h"
#include "api/label_response.h"
#include "api/mask_response.h"
#include "api/model_abilities.h"
#include "base/comma_list.h"
#include "params/hf_params.h"

#include <string.h>

struct hf_task {
    const char *name; /* in /hf/{name}/pipeline/{task} */
    enum sv_ability needs;
    enum sl_output output;
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

static void add_entities(struct sl_json_writer *json, const struct sv_classification *c, int index)
{
    const struct sv_hf_params *params = c->params;
    sv_entities_add(json, c, index, &params->entities);
}

static enum sv_progress respond_entities(struct sv_request *request, struct sv_classification *c)
{
    const struct sv_hf_params *params = c->params;
    return sv_embeddings_respond(request, c, add_entities, params->inputs.is_array);
}

/* ---- masked tokens --------------------------------------------------------------------------- */

static bool find_targets(struct sv_classification *c, struct sv_error *error)
{
    struct sv_hf_params *params = c->params;
    return sv_labels_check(c, "", error) &&
           sv_mask_targets_find(c, &params->targets, &params->target_ids, error);
}

static void add_fills(struct sl_json_writer *json, const struct sv_classification *c, int index)
{
    const struct sv_hf_params *params = c->params;
    const int64_t top_k = params->labels.top_k;
    sv_masks_add(json, c, index, &params->target_ids, top_k > 0 ? (int)top_k : SV_FILLS_USUAL);
}

/* An array of one text has the result of the text, as the pipeline returns it. */
static enum sv_progress respond_fills(struct sv_request *request, struct sv_classification *c)
{
    return sv_embeddings_respond(request, c, add_fills, c->texts > 1);
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
    return sv_embeddings_respond(request, c, add_embedding, true);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* A request without a task's name is for the first that the model can do. */
static const struct hf_task tasks[] = {
    {"text-classification", SV_CLASSIFIES, SL_OUTPUT_TEXT, check_labels, respond_labels},
    {"token-classification", SV_CLASSIFIES_TOKENS, SL_OUTPUT_TOKENS, check_labels,
     respond_entities},
    {"fill-mask", SV_FILLS_MASKS, SL_OUTPUT_MASKED, find_targets, respond_fills},
    {"feature-extraction", SV_EMBEDS, SL_OUTPUT_TEXT, check_labels, respond_embeddings},
};

enum { TASKS = sizeof tasks / sizeof tasks[0] };

static bool fail_task(const struct sv_classification *c, const char *named, struct sv_error *error)
{
    char list[256] = "";
    for (int i = 0; i < TASKS; i++)
        if (sv_model_can(sl_model_info(c->ref->model), tasks[i].needs))
            sl_list_add(list, sizeof list, tasks[i].name);
    return sv_fail(error, SV_INVALID_VALUE, "task", "'%s' is no task of '%s'; its tasks are: %s.",
                   named, c->ref->id, list);
}

static bool choose(struct sv_classification *c, struct sv_error *error)
{
    const char *named = c->request->path_params[1];
    int i = 0;
    while (i < TASKS && ((named[0] && strcmp(named, tasks[i].name) != 0) ||
                         !sv_model_can(sl_model_info(c->ref->model), tasks[i].needs)))
        i++;
    if (i == TASKS)
        return fail_task(c, named, error);
    c->choice = &tasks[i];
    sv_classification_set_output(c, tasks[i].output);
    return !tasks[i].check || tasks[i].check(c, error);
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
