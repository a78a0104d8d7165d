/* handle_oip_infer.c - inference of the Open Inference Protocol. */
#include "api/classification_result.h"
#include "api/classify_request.h"
#include "api/embedding_response.h"
#include "api/entity_response.h"
#include "api/explain_request.h"
#include "api/handlers.h"
#include "api/label_response.h"
#include "api/model_abilities.h"
#include "api/token_depths.h"
#include "base/comma_list.h"
#include "base/json_writer.h"
#include "params/binary_tensor.h"
#include "params/infer_params.h"
#include "params/scores.h"

#include "sluice/classifier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What writing a response needs. */
struct writer {
    struct sl_json_writer *json;
    struct sl_buffer *binary; /* tensors after the JSON */
    bool is_binary;           /* the present output goes there */
    const struct sv_classification *c;
    const struct sv_infer_params *params;
    float *values; /* of one text */
    struct sv_score *ranked;
};

/* ---- elements: JSON or binary ---------------------------------------------------------------- */

static void add_float(const struct writer *w, float value)
{
    if (w->is_binary)
        sv_binary_append_float(w->binary, value);
    else
        sl_json_add_float(w->json, value);
}

static void add_text(const struct writer *w, const struct sl_buffer *text)
{
    const char *bytes = text->data ? text->data : "";
    if (w->is_binary)
        sv_binary_append_bytes(w->binary, bytes, text->bytes);
    else
        sl_json_add_bytes(w->json, bytes, text->bytes);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static void compute_scores(const struct writer *w, enum sv_output_kind kind, int index)
{
    if (sv_classification_is_blank(w->c, index)) {
        memset(w->values, 0, (size_t)w->c->outputs * sizeof *w->values);
        return;
    }
    sv_scores_from_logits(w->c->ref->model, w->c->task.items[index].logits,
                          kind == SV_OUTPUT_LOGITS ? SV_RAW_LOGITS : SV_MODEL_SCORES, w->values);
}

static void compute_embedding(const struct writer *w, int index)
{
    memcpy(w->values, w->c->task.items[index].embedding, (size_t)w->c->outputs * sizeof *w->values);
    if (w->params->normalize)
        sv_embedding_normalize(w->values, w->c->outputs);
}

static void append_class(const struct writer *w, enum sv_output_kind kind,
                         const struct sv_score *score, struct sl_buffer *entry)
{
    if (kind != SV_OUTPUT_LABEL) {
        sl_buffer_append_float(entry, score->value);
        sl_buffer_printf(entry, ":%d:", score->class);
    }
    sl_buffer_append_string(entry, w->c->labels[score->class]);
}

/* The highest classes as "value:class:label", as in Triton's classification extension; for the
 * output `label` the labels alone. */
static void add_top(const struct writer *w, enum sv_output_kind kind, int index, int count,
                    struct sl_buffer *entry)
{
    compute_scores(w, kind, index);
    sv_scores_rank(w->values, w->c->classes, w->ranked);
    for (int k = 0; k < count; k++) {
        sl_buffer_clear(entry);
        if (!sv_classification_is_blank(w->c, index))
            append_class(w, kind, &w->ranked[k], entry);
        add_text(w, entry);
    }
}

/* The labels that a text has, where it may have several: a|b, or nothing. */
static void append_predicted(const struct writer *w, int index, struct sl_buffer *entry)
{
    int labels[SL_CLASSES_MAX];
    compute_scores(w, SV_OUTPUT_PROBS, index);
    int count = sl_model_predicted(w->c->ref->model, w->values, labels);
    for (int k = 0; k < count; k++)
        sl_buffer_printf(entry, "%s%s", k > 0 ? "|" : "", w->c->labels[labels[k]]);
}

static void add_values(const struct writer *w, enum sv_output_kind kind, int index)
{
    if (kind == SV_OUTPUT_EMBEDDING)
        compute_embedding(w, index);
    else
        compute_scores(w, kind, index);
    for (int k = 0; k < w->c->outputs; k++)
        add_float(w, w->values[k]);
}

static void add_depth(const struct writer *w, int index)
{
    double depth = sv_classification_depth(w->c, index);
    if (w->is_binary)
        sv_binary_append_float(w->binary, (float)depth);
    else
        sl_json_printf(w->json, "%.4f", depth);
}

/* How many tokens were cut off. */
static void add_truncated(const struct writer *w, int index)
{
    int cut = w->c->tokens_before_truncation[index] - w->c->task.items[index].count;
    int count = sv_classification_is_blank(w->c, index) ? 0 : cut;
    if (w->is_binary)
        sv_binary_append_int(w->binary, count);
    else
        sl_json_add_int(w->json, count);
}

/* Of one text. top: classes to return as strings; 0: all values. */
static void add_elements_of(const struct writer *w, enum sv_output_kind kind, int top, int index,
                            struct sl_buffer *entry)
{
    sl_buffer_clear(entry);
    if (top > 0) {
        add_top(w, kind, index, top, entry);
    } else if (kind == SV_OUTPUT_LABEL) {
        append_predicted(w, index, entry);
        add_text(w, entry);
    } else if (kind == SV_OUTPUT_WORDS) {
        sv_explain_write(&(struct sl_json_writer){.out = entry}, w->c, index);
        add_text(w, entry);
    } else if (kind == SV_OUTPUT_TOKENS) {
        sv_depths_write(&(struct sl_json_writer){.out = entry}, w->c, index);
        add_text(w, entry);
    } else if (kind == SV_OUTPUT_ENTITIES) {
        sv_entities_add(&(struct sl_json_writer){.out = entry}, w->c, index, &w->params->entities);
        add_text(w, entry);
    } else if (kind == SV_OUTPUT_DEPTH) {
        add_depth(w, index);
    } else if (kind == SV_OUTPUT_TRUNCATED) {
        add_truncated(w, index);
    } else {
        add_values(w, kind, index);
    }
}

static void add_elements(const struct writer *w, enum sv_output_kind kind, int top)
{
    struct sl_buffer entry = {0};
    for (int i = 0; i < w->c->texts && !w->json->out->failed; i++)
        add_elements_of(w, kind, top, i, &entry);
    w->json->out->failed = w->json->out->failed || entry.failed;
    sl_buffer_release(&entry);
}

static void add_shape(const struct writer *w, int columns)
{
    sl_json_add(w->json, "'shape':[%d", w->c->texts);
    if (columns > 0)
        sl_json_add_int(w->json, columns);
    sl_json_end_array(w->json);
}

/* The elements after the JSON, and their size in it. */
static void add_binary(const struct writer *w, enum sv_output_kind kind, int top)
{
    size_t start = w->binary->bytes;
    add_elements(w, kind, top);
    sl_json_add(w->json, "'parameters':{'binary_data_size':%zu}", w->binary->bytes - start);
}

static void add_output(struct writer *w, const struct sv_output *output)
{
    const struct sv_output_row *row = &sv_output_rows[output->kind];
    int classes = w->c->classes, requested = (int)output->classification;
    int top = requested < classes ? requested : classes;
    bool is_label = output->kind == SV_OUTPUT_LABEL;
    bool is_column = is_label ? top <= 1 : top == 0 && !row->has_columns;
    if (is_label && top == 0 && !sl_model_info(w->c->ref->model)->multi_label)
        top = 1;
    w->is_binary = output->wants_binary;
    sl_json_add(w->json, "{'name':%s,'datatype':%s", sv_output_names[output->kind],
                top > 0 ? "BYTES" : row->datatype);
    add_shape(w, is_column ? 0 : top > 0 ? top : w->c->outputs);
    if (w->is_binary) {
        add_binary(w, output->kind, top);
    } else {
        sl_json_add(w->json, "'data':[");
        add_elements(w, output->kind, top);
        sl_json_end_array(w->json);
    }
    sl_json_end_object(w->json);
}

/* ---- the response ---------------------------------------------------------------------------- */

/* Words are there on request only. */
static bool has_output(const struct sv_classification *c, enum sv_output_kind kind)
{
    return sv_output_is_of(kind, sl_model_info(c->ref->model)) &&
           (!sv_output_rows[kind].is_extra || (kind == SV_OUTPUT_WORDS && c->explanations));
}

/* The requested outputs, or all that the model has. */
static void add_outputs(struct writer *w, const struct sv_infer_params *params)
{
    const struct sv_output *requested = params->outputs.items;
    int count = params->outputs.count ? params->outputs.count : SV_OUTPUTS;
    sl_json_add(w->json, "'outputs':[");
    for (int i = 0; i < count; i++) {
        const struct sv_output one = {.kind = (enum sv_output_kind)i,
                                      .wants_binary = params->wants_binary};
        if (params->outputs.count > 0)
            add_output(w, &requested[i]);
        else if (has_output(w->c, one.kind))
            add_output(w, &one);
    }
    sl_json_end_array(w->json);
}

static void add_parameters(struct sl_json_writer *json, const struct sv_classification *c)
{
    sl_json_add(json, "'parameters':{");
    sv_usage_add_depth(json, &c->usage);
    sl_json_add(json, "'truncated':%d,'tokens_given':%lld,'tokens_used':%lld}", c->truncated_count,
                (long long)sv_classification_tokens_before_truncation(c),
                (long long)c->usage.prompt_tokens);
}

static void add_response(struct writer *w, const struct sv_infer_params *params)
{
    struct sl_json_writer *json = w->json;
    sl_json_add(json, "{'model_name':%s,'model_version':%s", w->c->ref->name, w->c->ref->version);
    if (params->id.data)
        sl_json_add(json, "'id':%.*s", (int)params->id.bytes, params->id.data);
    add_parameters(json, w->c);
    add_outputs(w, params);
    sl_json_end_object(json);
}

/* Appends the binary tensors to the JSON; returns the type of both. */
static const char *join_binary(struct sv_request *request, const struct sl_buffer *binary)
{
    struct sl_buffer *body = &request->response.body;
    body->failed = body->failed || binary->failed;
    if (binary->bytes == 0 || body->failed)
        return "application/json";
    sv_request_add_header(request, "Inference-Header-Content-Length", "%zu", body->bytes);
    sl_buffer_append(body, binary->data, binary->bytes);
    return "application/octet-stream";
}

static enum sv_progress respond(struct sv_request *request, struct sv_classification *c)
{
    struct sl_buffer binary = {0}, *body = &request->response.body;
    struct sl_json_writer json = {.out = body};
    struct writer w = {.json = &json,
                       .binary = &binary,
                       .c = c,
                       .params = c->params,
                       .values = calloc((size_t)c->outputs, sizeof *w.values),
                       .ranked = calloc((size_t)c->outputs, sizeof *w.ranked)};
    body->failed = body->failed || !w.values || !w.ranked;
    if (!body->failed)
        add_response(&w, c->params);
    const char *type = join_binary(request, &binary);
    sl_buffer_release(&binary);
    free(w.values);
    free(w.ranked);
    return sv_classification_respond(request, c, type);
}

/* ---- the request ----------------------------------------------------------------------------- */

/* Applies the client's deadline if it is earlier. */
static void take_timeout(struct sv_request *request, int64_t timeout_us)
{
    int64_t ms = (timeout_us + 999) / 1000;
    if (ms > 0 && (request->timeout_ms == 0 || ms < request->timeout_ms))
        request->timeout_ms = ms;
}

static bool requests(const struct sv_infer_params *params, enum sv_output_kind kind)
{
    const struct sv_output *outputs = params->outputs.items;
    int i = 0;
    while (i < params->outputs.count && outputs[i].kind != kind)
        i++;
    return i < params->outputs.count;
}

static struct sv_json_document *read(struct sv_request *request, const struct sv_field *fields,
                                     void *to, struct sv_classify_input *input,
                                     struct sv_error *error)
{
    (void)fields;
    struct sv_infer_params *params = to;
    const char *length =
        request->transport->header(request->connection, "Inference-Header-Content-Length");
    size_t json_bytes;
    if (!sv_infer_json_bytes(length, request->body.bytes, &json_bytes, error))
        return NULL;
    struct sv_json_document *document =
        sv_infer_params_read(&request->body, json_bytes, params, error);
    if (!document)
        return NULL;
    const struct sv_tensor *tensor = params->inputs.items;
    take_timeout(request, params->timeout_us);
    input->texts = tensor->data;
    input->tokenize = &params->tokenize;
    input->explain = (int)params->explain;
    input->depths = requests(params, SV_OUTPUT_TOKENS);
    input->budget = &params->budget;
    return document;
}

static bool check_output(const struct sv_classification *c, int index, struct sv_error *error)
{
    const struct sv_infer_params *params = c->params;
    const struct sv_output *output = (const struct sv_output *)params->outputs.items + index;
    char names[128] = "", param[SV_PARAM_MAX];
    const struct sl_model_info *info = sl_model_info(c->ref->model);
    (void)snprintf(param, sizeof param, "outputs[%d].name", index);
    if (sv_output_is_of(SV_OUTPUT_WORDS, info) && output->kind == SV_OUTPUT_WORDS &&
        params->explain == 0)
        return sv_fail(error, SV_INVALID_VALUE, param,
                       "'%s' is 'words'; say how many in 'parameters.explain'.", param);
    if (sv_output_is_of(output->kind, info))
        return true;
    for (int i = 0; i < SV_OUTPUTS; i++)
        if (sv_output_is_of((enum sv_output_kind)i, info) && !sv_output_rows[i].is_extra)
            sl_list_add(names, sizeof names, sv_output_names[i]);
    return sv_fail(error, SV_INVALID_VALUE, param, "'%s' is '%s'; the outputs of '%s' are: %s.",
                   param, sv_output_names[output->kind], c->ref->id, names);
}

static bool check_outputs(struct sv_classification *c, struct sv_error *error)
{
    const struct sv_infer_params *params = c->params;
    const bool has_words = params->outputs.count == 0 || requests(params, SV_OUTPUT_WORDS);
    for (int i = 0; i < params->outputs.count; i++)
        if (!check_output(c, i, error))
            return false;
    const struct sl_model_info *info = sl_model_info(c->ref->model);
    const bool explains = sv_output_is_of(SV_OUTPUT_WORDS, info);
    if (params->explain > 0 && explains && !has_words)
        return sv_fail(error, SV_INVALID_VALUE, "parameters.explain",
                       "'parameters.explain' has no effect without the output 'words'; add it to "
                       "'outputs', or leave 'outputs' out.");
    if (!sv_labels_check(c, "", error))
        return false;
    return params->explain == 0 || explains ||
           sv_fail(error, SV_INVALID_VALUE, "parameters.explain",
                   "'parameters.explain' is for classifiers of texts; %s.", sv_model_use(info));
}

enum sv_progress sv_handle_infer(struct sv_request *request)
{
    static const struct sv_classify_format oip = {.params_size = sizeof(struct sv_infer_params),
                                                  .texts_field = sv_input_name,
                                                  .wants = SV_WANTS_READER,
                                                  .read = read,
                                                  .prepare = check_outputs,
                                                  .respond = respond};
    return sv_classify(request, &oip);
}
