/* handle_infer.c - classification as the Open Inference Protocol has it. */
#include "classification.h"
#include "handlers.h"
#include "infer_request.h"
#include "scores.h"
#include "selection.h"

#include <stdlib.h>

/* What writing one answer needs. */
struct writer {
    struct sv_text *out;
    const struct sv_classification *c;
    float *values; /* of one text */
    struct sv_score *ranked;
};

/* ---- outputs --------------------------------------------------------------------------------- */

static void begin_output(const struct writer *w, const struct sv_output *output,
                         const char *datatype, int columns)
{
    sv_text_print(w->out, "{\"name\":\"%s\",\"datatype\":\"%s\",\"shape\":[%d",
                  sv_output_names[output->kind], datatype, w->c->task.count);
    if (columns > 0)
        sv_text_print(w->out, ",%d", columns);
    sv_text_adds(w->out, "],\"data\":[");
}

static void squash(const struct writer *w, enum sv_output_kind kind, int index)
{
    sv_scores_squash(w->c->task.items[index].logits, w->c->classes,
                     kind == SV_OUTPUT_LOGITS ? SV_RAW : SV_SOFTMAX, w->values);
}

/* "value:class:label" of the highest, as Triton's classification extension has them; for the output
 * `label` the labels alone. */
static void add_top(const struct writer *w, const struct sv_output *output, int count)
{
    struct sv_text word = {0};
    for (int i = 0; i < w->c->task.count; i++) {
        squash(w, output->kind, i);
        sv_scores_rank(w->values, w->c->classes, w->ranked);
        for (int k = 0; k < count; k++) {
            const struct sv_score *score = &w->ranked[k];
            sv_text_clear(&word);
            if (output->kind != SV_OUTPUT_LABEL) {
                sv_text_float(&word, score->value);
                sv_text_print(&word, ":%d:", score->class);
            }
            sv_text_adds(&word, w->c->labels[score->class]);
            sv_text_adds(w->out, i + k ? "," : "");
            sv_text_jsons(w->out, word.failed ? "" : word.data);
        }
    }
    w->out->failed = w->out->failed || word.failed;
    sv_text_release(&word);
}

static void add_values(const struct writer *w, enum sv_output_kind kind)
{
    for (int i = 0; i < w->c->task.count; i++) {
        squash(w, kind, i);
        for (int k = 0; k < w->c->classes; k++) {
            sv_text_adds(w->out, i + k ? "," : "");
            sv_text_float(w->out, w->values[k]);
        }
    }
}

static void add_depths(const struct writer *w)
{
    for (int i = 0; i < w->c->task.count; i++)
        sv_text_print(w->out, "%s%.4f", i ? "," : "", sv_classification_depth(w->c, i));
}

/* How many tokens each text lost; most lost none. */
static void add_truncated(const struct writer *w)
{
    const struct sv_truncation *cut = w->c->usage.truncations;
    const struct sv_truncation *end = cut + w->c->usage.truncation_count;
    for (int i = 0; i < w->c->task.count; i++) {
        bool is_cut = cut < end && cut->prompt == i;
        sv_text_print(w->out, "%s%d", i ? "," : "", is_cut ? cut->given - cut->used : 0);
        cut += is_cut;
    }
}

static void add_output(const struct writer *w, const struct sv_output *output)
{
    int classes = w->c->classes, asked = (int)output->classification;
    int top = asked < classes ? asked : classes;
    if (output->kind == SV_OUTPUT_LABEL || top > 0) {
        bool is_plain = output->kind == SV_OUTPUT_LABEL && top <= 1;
        begin_output(w, output, "BYTES", is_plain ? 0 : top);
        add_top(w, output, is_plain ? 1 : top);
    } else if (output->kind == SV_OUTPUT_DEPTH) {
        begin_output(w, output, "FP32", 0);
        add_depths(w);
    } else if (output->kind == SV_OUTPUT_TRUNCATED) {
        begin_output(w, output, "INT32", 0);
        add_truncated(w);
    } else {
        begin_output(w, output, "FP32", classes);
        add_values(w, output->kind);
    }
    sv_text_adds(w->out, "]}");
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void add_outputs(const struct writer *w, const struct sv_infer_request *request)
{
    static const struct sv_output usual[] = {{.kind = SV_OUTPUT_LABEL}, {.kind = SV_OUTPUT_PROBS}};
    const struct sv_output *outputs = request->outputs.count ? request->outputs.items : usual;
    int count = request->outputs.count ? request->outputs.count : 2;
    for (int i = 0; i < count; i++) {
        sv_text_adds(w->out, i ? "," : "");
        add_output(w, &outputs[i]);
    }
}

static enum sv_next answer(struct sv_call *call, const struct sv_classification *c)
{
    const struct sv_infer_request *request = c->request;
    const struct writer w = {.out = &call->reply.body,
                             .c = c,
                             .values = calloc((size_t)c->classes, sizeof *w.values),
                             .ranked = calloc((size_t)c->classes, sizeof *w.ranked)};
    w.out->failed = w.out->failed || !w.values || !w.ranked;
    sv_text_adds(w.out, "{\"model_name\":");
    sv_text_jsons(w.out, sv_served_name(c->served));
    sv_text_adds(w.out, ",\"model_version\":");
    sv_text_jsons(w.out, sv_served_version(c->served));
    if (request->id.data) {
        sv_text_adds(w.out, ",\"id\":");
        sv_text_json(w.out, request->id.data, request->id.bytes);
    }
    sv_text_print(w.out, ",\"parameters\":{\"depth_mean\":%.4f,\"layer_ops_saved\":%.4f",
                  sv_usage_depth_mean(&c->usage), sv_usage_saved(&c->usage));
    sv_text_print(w.out, ",\"truncated\":%d},\"outputs\":[", c->usage.truncation_count);
    if (!w.out->failed)
        add_outputs(&w, request);
    sv_text_adds(w.out, "]}");
    free(w.values);
    free(w.ranked);
    sv_classification_headers(call, c);
    return sv_call_answer(call, 200, "application/json");
}

/* ---- the call -------------------------------------------------------------------------------- */

/* The client's own deadline, when it is the nearer one. */
static void take_timeout(struct sv_call *call, int64_t timeout_us)
{
    int64_t ms = (timeout_us + 999) / 1000;
    if (ms > 0 && (call->timeout_ms == 0 || ms < call->timeout_ms))
        call->timeout_ms = ms;
}

enum sv_next sv_handle_infer(struct sv_call *call)
{
    struct sv_problem problem;
    char name[SV_PATH_MAX];
    struct sv_infer_request *request = calloc(1, sizeof *request);
    struct sv_classification *c = sv_classification_create(call, request, answer);
    bool submitted = c ? sv_call_is_welcome(call, &problem) : sv_out_of_memory(&problem);
    if (submitted && (c->document = sv_infer_request_read(&call->body, request, &problem))) {
        const struct sv_tensor *input = request->inputs.items;
        take_timeout(call, request->timeout_us);
        submitted =
            sv_classification_find(c, sv_versioned_name(call, name), &problem) &&
            sv_classification_encode(c, &input->data, &request->reading, sv_input_name, &problem) &&
            sv_classification_submit(c, &problem);
    } else
        submitted = false;
    return sv_classification_leave(c, call, submitted, &problem);
}
