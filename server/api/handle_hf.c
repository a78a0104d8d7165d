/* handle_hf.c - the tasks of Hugging Face's pipelines: a row for each; and TEI's similarity. */
#include "api/classification_result.h"
#include "api/classify_request.h"
#include "api/embedding_response.h"
#include "api/entailment.h"
#include "api/entity_response.h"
#include "api/handlers.h"
#include "api/label_response.h"
#include "api/mask_response.h"
#include "api/model_abilities.h"
#include "base/comma_list.h"
#include "params/hf_params.h"

#include "sluice/logits.h"

#include <stdlib.h>
#include <string.h>

struct hf_task {
    const char *name; /* in /hf/{name}/pipeline/{task} */
    enum sv_ability needs;
    enum sl_output output;
    /* Checks that need the model; NULL: none. */
    bool (*check)(struct sv_classification *c, struct sv_error *error);
    enum sv_progress (*respond)(struct sv_request *request, struct sv_classification *c);
    /* Whether a request has what only this task needs; NULL: it needs nothing. */
    bool (*fits)(const struct sv_hf_params *params);
};

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
    return sv_classification_respond(request, c, "application/json");
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

static int fills_of(const struct sv_hf_params *params)
{
    return params->labels.top_k > 0 ? (int)params->labels.top_k : SV_FILLS_USUAL;
}

static void add_fills(struct sl_json_writer *json, const struct sv_classification *c, int index)
{
    const struct sv_hf_params *params = c->params;
    sv_masks_add(json, c, index, &params->target_ids, fills_of(params));
}

/* An array of one text has the result of the text, as the pipeline returns it. */
static enum sv_progress respond_fills(struct sv_request *request, struct sv_classification *c)
{
    const struct sv_hf_params *params = c->params;
    struct sv_error error;
    if (c->written == 0 && !sv_masks_check(c, &params->target_ids, fills_of(params), &error))
        return sv_request_fail(request, &error);
    return sv_embeddings_respond(request, c, add_fills, c->texts > 1);
}

/* ---- embeddings ------------------------------------------------------------------------------ */

static bool check_dimensions(struct sv_classification *c, struct sv_error *error)
{
    const struct sv_hf_params *params = c->params;
    return sv_labels_check(c, "", error) &&
           sv_embeddings_check(c, params->dimensions, "dimensions", error);
}

static void add_embedding(struct sl_json_writer *json, const struct sv_classification *c, int index)
{
    const struct sv_hf_params *params = c->params;
    const struct sv_embedding_format format = {.count = (int)params->dimensions,
                                               .normalize = params->normalize};
    sv_embedding_add(json, c, index, &format);
}

static enum sv_progress respond_embeddings(struct sv_request *request, struct sv_classification *c)
{
    return sv_embeddings_respond(request, c, add_embedding, true);
}

static bool has_source(const struct sv_hf_params *params)
{
    return params->source.data != NULL;
}

/* The cosines between the first text and the others. */
static enum sv_progress respond_similarities(struct sv_request *request,
                                             struct sv_classification *c)
{
    struct sl_json_writer json = {.out = &request->response.body};
    for (int i = 0; i < c->texts; i++)
        sv_embedding_normalize(c->task.items[i].embedding, c->outputs);
    sl_json_begin_array(&json);
    for (int i = 1; i < c->texts; i++) {
        double sum = 0.0;
        for (int k = 0; k < c->outputs; k++)
            sum += (double)c->task.items[0].embedding[k] * (double)c->task.items[i].embedding[k];
        sl_json_add_float(&json, (float)sum);
    }
    sl_json_end_array(&json);
    return sv_classification_respond(request, c, "application/json");
}

/* ---- labels by entailment -------------------------------------------------------------------- */

static bool has_candidates(const struct sv_hf_params *params)
{
    return params->candidates.count > 0;
}

static void add_candidates(struct sl_json_writer *json, const struct sv_classification *c,
                           int first, struct sv_score *ranked, float *scores)
{
    const struct sv_hf_params *params = c->params;
    const int count = params->candidates.count;
    sv_entailment_scores(c, first, count, params->multi_label, scores);
    sv_scores_rank(scores, count, ranked);
    sl_json_begin_array(json);
    for (int i = 0; i < count; i++) {
        const struct sv_string *label = &params->candidates.items[ranked[i].class];
        sl_json_add(json, "{'label':%.*s,'score':%f}", (int)label->bytes, label->data,
                    (double)ranked[i].value);
    }
    sl_json_end_array(json);
}

static enum sv_progress respond_candidates(struct sv_request *request, struct sv_classification *c)
{
    const struct sv_hf_params *params = c->params;
    const size_t count = (size_t)params->candidates.count;
    struct sl_json_writer json = {.out = &request->response.body};
    struct sv_score *ranked = calloc(count, sizeof *ranked);
    float *scores = calloc(count, sizeof *scores);
    json.out->failed = json.out->failed || !ranked || !scores;
    if (params->inputs.is_array)
        sl_json_begin_array(&json);
    for (int i = 0; i < c->texts && ranked && scores; i += (int)count)
        add_candidates(&json, c, i, ranked, scores);
    if (params->inputs.is_array)
        sl_json_end_array(&json);
    free(ranked);
    free(scores);
    return sv_classification_respond(request, c, "application/json");
}

/* ---- the table ------------------------------------------------------------------------------- */

/* A request without a task's name is for the first that the model can do. */
static const struct hf_task tasks[] = {
    {"zero-shot-classification", SV_ENTAILS, SL_OUTPUT_TEXT, check_labels, respond_candidates,
     has_candidates},
    {"text-classification", SV_CLASSIFIES, SL_OUTPUT_TEXT, check_labels, respond_labels, NULL},
    {"token-classification", SV_CLASSIFIES_TOKENS, SL_OUTPUT_TOKENS, check_labels, respond_entities,
     NULL},
    {"sentence-similarity", SV_EMBEDS, SL_OUTPUT_TEXT, NULL, respond_similarities, has_source},
    {"fill-mask", SV_FILLS_MASKS, SL_OUTPUT_MASKED, find_targets, respond_fills, NULL},
    {"feature-extraction", SV_EMBEDS, SL_OUTPUT_TEXT, check_dimensions, respond_embeddings, NULL},
};

enum { TASKS = sizeof tasks / sizeof tasks[0] };

static bool fail_task(const struct sv_classification *c, const char *named, struct sv_error *error)
{
    char list[256] = "";
    for (int i = 0; i < TASKS; i++)
        if (sv_model_can(sl_model_info(c->ref->model), tasks[i].needs))
            sl_list_add(list, sizeof list, tasks[i].name);
    return named[0]
               ? sv_fail(error, SV_INVALID_VALUE, "task",
                         "'%s' is no task of '%s' for this request; its tasks are: %s.", named,
                         c->ref->id, list)
               : sv_fail(error, SV_INVALID_VALUE, "inputs",
                         "The request does not fit '%s', whose tasks are: %s.", c->ref->id, list);
}

/* What only one task needs, the others cannot have. */
static bool fits(const struct hf_task *task, const struct sv_hf_params *params)
{
    for (int i = 0; i < TASKS; i++)
        if (tasks[i].fits && tasks[i].fits(params) != (&tasks[i] == task))
            return false;
    return true;
}

static bool choose(struct sv_classification *c, struct sv_error *error)
{
    const char *named = c->request->path_params[1];
    int i = 0;
    while (i < TASKS &&
           ((named[0] && strcmp(named, tasks[i].name) != 0) || !fits(&tasks[i], c->params) ||
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

static struct sv_json_document *read(struct sv_request *request, const struct sv_field *fields,
                                     void *to, struct sv_classify_input *input,
                                     struct sv_error *error)
{
    struct sv_hf_params *params = to;
    struct sv_json_document *document = sv_hf_params_read(&request->body, fields, params, error);
    input->texts_per_input = params->candidates.count;
    input->texts = params->inputs;
    input->tokenize = &params->tokenize;
    input->explain = (int)params->explain;
    input->depths = params->depths;
    input->budget = &params->budget;
    return document;
}

enum sv_progress sv_handle_hf(struct sv_request *request)
{
    static const struct sv_classify_format hf = {.params_size = sizeof(struct sv_hf_params),
                                                 .texts_field = "inputs",
                                                 .wants = SV_WANTS_READER,
                                                 .slices_embeddings = true,
                                                 .fields = sv_hf_fields,
                                                 .read = read,
                                                 .prepare = choose,
                                                 .respond = respond};
    return sv_classify(request, &hf);
}

/* ---- Text Embeddings Inference --------------------------------------------------------------- */

enum sv_progress sv_handle_similarity(struct sv_request *request)
{
    static const struct sv_classify_format tei = {.params_size = sizeof(struct sv_hf_params),
                                                  .texts_field = "inputs",
                                                  .wants = SV_WANTS_EMBEDDINGS,
                                                  .slices_embeddings = true,
                                                  .fields = sv_similarity_fields,
                                                  .read = read,
                                                  .respond = respond_similarities};
    return sv_classify(request, &tei);
}
