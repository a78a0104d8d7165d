/* handle_tei_predict.c - classification as Text Embeddings Inference has it. */
#include "api/classification_result.h"
#include "api/classify_request.h"
#include "api/handlers.h"
#include "api/label_response.h"
#include "api/tei_formats.h"
#include "params/predict_params.h"

/* The scores of a single text stand alone, those of an array in an array. */
static enum sv_progress respond(struct sv_request *request, struct sv_classification *c)
{
    const struct sv_predict_params *params = c->params;
    struct sl_json_writer json = {.out = &request->response.body};
    sv_labels_add(&json, c, &params->labels, params->inputs.is_array);
    return sv_classification_respond(request, c, "application/json");
}

static bool check(struct sv_classification *c, struct sv_error *error)
{
    return sv_labels_check(
        c, " To send two texts, put each in an array of its own: [[\"a\"],[\"b\"]].", error);
}

static struct sv_json_document *read(struct sv_request *request, const struct sv_field *fields,
                                     void *to, struct sv_classify_input *input,
                                     struct sv_error *error)
{
    (void)fields;
    struct sv_predict_params *params = to;
    struct sv_json_document *document = sv_predict_params_read(&request->body, params, error);
    input->texts = params->inputs;
    input->tokenize = &params->tokenize;
    input->explain = (int)params->explain;
    input->depths = params->depths;
    input->budget = &params->budget;
    return document;
}

const struct sv_classify_format sv_tei_predict = {.params_size = sizeof(struct sv_predict_params),
                                                  .texts_field = "inputs",
                                                  .read = read,
                                                  .prepare = check,
                                                  .respond = respond};

enum sv_progress sv_handle_predict(struct sv_request *request)
{
    return sv_classify(request, &sv_tei_predict);
}
