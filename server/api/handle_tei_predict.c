/* handle_tei_predict.c - classification as Text Embeddings Inference and Hugging Face have it, and
 * the latter's embeddings. */
#include "api/classify_request.h"
#include "api/embedding_response.h"
#include "api/explain_request.h"
#include "api/handlers.h"
#include "params/predict_params.h"
#include "params/scores.h"

#include <stdlib.h>

/* One text's scores, highest first; that one may be explained. */
static void add_scores(struct sl_json_writer *json, const struct sv_classification *c, int index,
                       struct sv_score *ranked, float *values)
{
    const struct sv_predict_params *params = c->params;
    bool is_limited = params->top_k > 0 && params->top_k < c->classes;
    int count = is_limited ? (int)params->top_k : c->classes;
    if (sv_classification_is_blank(c, index))
        count = 0;
    sv_scores_from_logits(c->ref->model, c->task.items[index].logits, params->score_function,
                          values);
    sv_scores_rank(values, c->classes, ranked);
    sl_json_begin_array(json);
    for (int i = 0; i < count; i++) {
        sl_json_begin_object(json);
        sv_score_write(&ranked[i], c->labels, json);
        if (c->explanations && ranked[i].class == sv_explained_label(c, index))
            sv_explain_write(sl_json_key(json, "words"), c, index);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

static enum sv_progress respond(struct sv_request *request, struct sv_classification *c,
                                bool nested)
{
    struct sl_buffer *body = &request->response.body;
    struct sl_json_writer json = {.out = body};
    struct sv_score *ranked = calloc((size_t)c->classes, sizeof *ranked);
    float *values = calloc((size_t)c->classes, sizeof *values);
    body->failed = body->failed || !ranked || !values;
    if (nested)
        sl_json_begin_array(&json);
    for (int i = 0; i < c->texts && ranked && values; i++)
        add_scores(&json, c, i, ranked, values);
    if (nested)
        sl_json_end_array(&json);
    free(ranked);
    free(values);
    sv_classification_headers(request, c);
    return sv_request_respond(request, 200, "application/json");
}

/* The scores of a single text stand alone, those of an array in an array. */
static enum sv_progress respond_tei(struct sv_request *request, struct sv_classification *c)
{
    const struct sv_predict_params *params = c->params;
    return respond(request, c, params->inputs.is_array);
}

static void add_embedding(struct sl_json_writer *json, const struct sv_classification *c, int index)
{
    const struct sv_predict_params *params = c->params;
    const struct sv_embedding_format format = {.normalize = params->normalize};
    sv_embedding_add(json, c, index, &format);
}

/* Hugging Face's client always expects an array. */
static enum sv_progress respond_hf(struct sv_request *request, struct sv_classification *c)
{
    return c->classes > 0 ? respond(request, c, true)
                          : sv_embeddings_respond(request, c, add_embedding);
}

/* Explanations are of labels, and of the words of one text. */
static bool check_explain(const struct sv_classification *c, struct sv_error *error)
{
    if (c->input.explain == 0)
        return true;
    if (c->classes == 0)
        return sv_fail(error, SV_INVALID_VALUE, "sluice.explain",
                       "'sluice.explain' is for classifiers; '%s' gives embeddings.", c->ref->id);
    return !c->input.texts.pairs ||
           sv_fail(error, SV_INVALID_VALUE, "sluice.explain",
                   "'sluice.explain' is for single texts; 'inputs' holds a pair.");
}

/* `advice`: what to do if it was not meant as a pair. */
static bool check(const struct sv_classification *c, const char *advice, struct sv_error *error)
{
    const struct sv_texts *texts = &c->input.texts;
    char param[SV_PARAM_MAX];
    int i = 0;
    if (!texts->pairs || sl_model_info(c->ref->model)->takes_pairs)
        return check_explain(c, error);
    while (!sv_texts_pair(texts, i))
        i++;
    sv_param_name("inputs", texts->is_array, i, param);
    return sv_fail(error, SV_INVALID_VALUE, param,
                   "'%s' is a pair of texts, and '%s' does not take pairs.%s", param, c->ref->id,
                   advice);
}

static bool check_tei(const struct sv_classification *c, struct sv_error *error)
{
    return check(c, " To send two texts, put each in an array of its own: [[\"a\"],[\"b\"]].",
                 error);
}

static bool check_hf(const struct sv_classification *c, struct sv_error *error)
{
    return check(c, "", error);
}

static struct sv_json_document *read(struct sv_request *request, void *to,
                                     struct sv_classify_input *input, struct sv_error *error)
{
    const struct sv_predict_params *params = to;
    struct sv_json_document *document =
        sv_predict_params_read(&request->body, input->fields, to, error);
    input->texts = params->inputs;
    input->tokenize = &params->tokenize;
    input->explain = (int)params->explain;
    input->budget = &params->budget;
    return document;
}

enum sv_progress sv_handle_predict(struct sv_request *request)
{
    static const struct sv_classify_format tei = {.params_size = sizeof(struct sv_predict_params),
                                                  .texts_field = "inputs",
                                                  .fields = sv_predict_fields,
                                                  .read = read,
                                                  .prepare = check_tei,
                                                  .respond = respond_tei};
    return sv_classify(request, &tei);
}

enum sv_progress sv_handle_hf(struct sv_request *request)
{
    static const struct sv_classify_format hf = {.params_size = sizeof(struct sv_predict_params),
                                                 .texts_field = "inputs",
                                                 .wants = SV_WANTS_EITHER,
                                                 .slices_embeddings = true,
                                                 .fields = sv_hf_fields,
                                                 .read = read,
                                                 .prepare = check_hf,
                                                 .respond = respond_hf};
    return sv_classify(request, &hf);
}
