/* handle_infer.c - classification as the Open Inference Protocol has it. */
#include "api/classification.h"
#include "api/handlers.h"
#include "base/json_writer.h"
#include "json/infer_params.h"
#include "json/scores.h"

#include <stdlib.h>

/* What writing a response needs. */
struct writer {
    struct sl_buffer *out;
    const struct sv_classification *c;
    float *values; /* of one text */
    struct sv_score *ranked;
};

/* ---- outputs --------------------------------------------------------------------------------- */

static void begin_output(const struct writer *w, const struct sv_output_row *row,
                         const char *datatype, int columns)
{
    sl_buffer_printf(w->out, "{\"name\":\"%s\",\"datatype\":\"%s\",\"shape\":[%d", row->name,
                     datatype, w->c->task.count);
    if (columns > 0)
        sl_buffer_printf(w->out, ",%d", columns);
    sl_buffer_append_string(w->out, "],\"data\":[");
}

static void compute_scores(const struct writer *w, enum sv_output_kind kind, int index)
{
    sv_scores_from_logits(w->c->task.items[index].logits, w->c->classes,
                          kind == SV_OUTPUT_LOGITS ? SV_RAW_LOGITS : SV_SOFTMAX, w->values);
}

/* The highest classes as "value:class:label", as in Triton's classification extension; for the
 * output `label` the labels alone. */
static void add_top(const struct writer *w, const struct sv_output *output, int count)
{
    struct sl_buffer entry = {0};
    for (int i = 0; i < w->c->task.count && !w->out->failed; i++) {
        compute_scores(w, output->kind, i);
        sv_scores_rank(w->values, w->c->classes, w->ranked);
        for (int k = 0; k < count; k++) {
            const struct sv_score *score = &w->ranked[k];
            sl_buffer_clear(&entry);
            if (output->kind != SV_OUTPUT_LABEL) {
                sl_buffer_append_float(&entry, score->value);
                sl_buffer_printf(&entry, ":%d:", score->class);
            }
            sl_buffer_append_string(&entry, w->c->labels[score->class]);
            sl_buffer_append_string(w->out, i + k ? "," : "");
            sl_json_quote(w->out, entry.failed ? "" : entry.data);
        }
    }
    w->out->failed = w->out->failed || entry.failed;
    sl_buffer_release(&entry);
}

static void add_values(const struct writer *w, enum sv_output_kind kind)
{
    for (int i = 0; i < w->c->task.count && !w->out->failed; i++) {
        compute_scores(w, kind, i);
        for (int k = 0; k < w->c->classes; k++) {
            sl_buffer_append_string(w->out, i + k ? "," : "");
            sl_buffer_append_float(w->out, w->values[k]);
        }
    }
}

static void add_depths(const struct writer *w, enum sv_output_kind kind)
{
    (void)kind;
    for (int i = 0; i < w->c->task.count; i++)
        sl_buffer_printf(w->out, "%s%.4f", i ? "," : "", sv_classification_depth(w->c, i));
}

/* How many tokens were cut off each text. */
static void add_truncated(const struct writer *w, enum sv_output_kind kind)
{
    (void)kind;
    for (int i = 0; i < w->c->task.count; i++)
        sl_buffer_printf(w->out, "%s%d", i ? "," : "", w->c->given[i] - w->c->task.items[i].count);
}

static void add_output(const struct writer *w, const struct sv_output *output)
{
    static void (*const add[SV_OUTPUTS])(const struct writer *, enum sv_output_kind) = {
        [SV_OUTPUT_PROBS] = add_values,
        [SV_OUTPUT_LOGITS] = add_values,
        [SV_OUTPUT_DEPTH] = add_depths,
        [SV_OUTPUT_TRUNCATED] = add_truncated,
    };

    const struct sv_output_row *row = &sv_output_rows[output->kind];
    int classes = w->c->classes, input = (int)output->classification;
    int top = input < classes ? input : classes;
    bool is_label = output->kind == SV_OUTPUT_LABEL;
    if (is_label && top <= 1) {
        begin_output(w, row, row->datatype, 0);
        add_top(w, output, 1);
    } else if (top > 0) {
        begin_output(w, row, "BYTES", top);
        add_top(w, output, top);
    } else {
        begin_output(w, row, row->datatype, row->is_per_class ? classes : 0);
        add[output->kind](w, output->kind);
    }
    sl_buffer_append_string(w->out, "]}");
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* The requested outputs, or all. */
static void add_outputs(const struct writer *w, const struct sv_infer_params *params)
{
    const struct sv_output *input = params->outputs.items;
    int count = params->outputs.count ? params->outputs.count : SV_OUTPUTS;
    for (int i = 0; i < count; i++) {
        const struct sv_output one = {.kind = (enum sv_output_kind)i};
        sl_buffer_append_string(w->out, i ? "," : "");
        add_output(w, params->outputs.count ? &input[i] : &one);
    }
}

static enum sv_progress respond(struct sv_request *request, const struct sv_classification *c)
{
    const struct sv_infer_params *params = c->params;
    const struct writer w = {.out = &request->response.body,
                             .c = c,
                             .values = calloc((size_t)c->classes, sizeof *w.values),
                             .ranked = calloc((size_t)c->classes, sizeof *w.ranked)};
    w.out->failed = w.out->failed || !w.values || !w.ranked;
    sl_buffer_append_string(w.out, "{\"model_name\":");
    sl_json_quote(w.out, sv_model_ref_name(c->ref));
    sl_buffer_append_string(w.out, ",\"model_version\":");
    sl_json_quote(w.out, sv_model_ref_version(c->ref));
    if (params->id.data) {
        sl_buffer_append_string(w.out, ",\"id\":");
        sl_json_quote_bytes(w.out, params->id.data, params->id.bytes);
    }
    sl_buffer_printf(w.out, ",\"parameters\":{\"depth_mean\":%.4f,\"layer_ops_skipped\":%.4f",
                     sv_usage_mean_depth(&c->usage), sv_usage_layer_ops_skipped(&c->usage));
    sl_buffer_printf(w.out, ",\"truncated\":%d,\"tokens_given\":%lld,\"tokens_used\":%lld}",
                     c->truncated_count, (long long)sv_classification_tokens_given(c),
                     (long long)c->usage.prompt_tokens);
    sl_buffer_append_string(w.out, ",\"outputs\":[");
    if (!w.out->failed)
        add_outputs(&w, params);
    sl_buffer_append_string(w.out, "]}");
    free(w.values);
    free(w.ranked);
    sv_classification_headers(request, c);
    return sv_request_respond(request, 200, "application/json");
}

/* ---- the request --------------------------------------------------------------------------------
 */

/* Applies the client's deadline if it is earlier. */
static void take_timeout(struct sv_request *request, int64_t timeout_us)
{
    int64_t ms = (timeout_us + 999) / 1000;
    if (ms > 0 && (request->timeout_ms == 0 || ms < request->timeout_ms))
        request->timeout_ms = ms;
}

static struct sv_document *read(struct sv_request *request, void *to,
                                struct sv_classify_input *input, struct sv_error *error)
{
    struct sv_infer_params *params = to;
    struct sv_document *document = sv_infer_params_read(&request->body, params, error);
    if (!document)
        return NULL;
    const struct sv_tensor *tensor = params->inputs.items;
    take_timeout(request, params->timeout_us);
    input->texts = tensor->data;
    input->tokenize = &params->tokenize;
    return document;
}

enum sv_progress sv_handle_infer(struct sv_request *request)
{
    static const struct sv_classify_api oip = {.request_bytes = sizeof(struct sv_infer_params),
                                               .param = sv_input_name,
                                               .read = read,
                                               .respond = respond};
    return sv_classify(request, &oip);
}
