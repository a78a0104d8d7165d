/* handle_infer.c - classification as the Open Inference Protocol has it. */
#include "api/classification.h"
#include "api/handlers.h"
#include "json/infer_params.h"
#include "json/scores.h"

#include <stdlib.h>

/* What writing one answer needs. */
struct writer {
    struct sv_text *out;
    const struct sv_classification *c;
    float *values; /* of one text */
    struct sv_score *ranked;
};

/* ---- outputs --------------------------------------------------------------------------------- */

static void begin_output(const struct writer *w, const struct sv_output_row *row,
                         const char *datatype, int columns)
{
    sv_text_print(w->out, "{\"name\":\"%s\",\"datatype\":\"%s\",\"shape\":[%d", row->name, datatype,
                  w->c->task.count);
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
    for (int i = 0; i < w->c->task.count && !w->out->failed; i++) {
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
    for (int i = 0; i < w->c->task.count && !w->out->failed; i++) {
        squash(w, kind, i);
        for (int k = 0; k < w->c->classes; k++) {
            sv_text_adds(w->out, i + k ? "," : "");
            sv_text_float(w->out, w->values[k]);
        }
    }
}

static void add_depths(const struct writer *w, enum sv_output_kind kind)
{
    (void)kind;
    for (int i = 0; i < w->c->task.count; i++)
        sv_text_print(w->out, "%s%.4f", i ? "," : "", sv_classification_depth(w->c, i));
}

/* How many tokens each text lost; most lost none. */
static void add_truncated(const struct writer *w, enum sv_output_kind kind)
{
    (void)kind;
    for (int i = 0; i < w->c->task.count; i++)
        sv_text_print(w->out, "%s%d", i ? "," : "", w->c->given[i] - w->c->task.items[i].count);
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
    int classes = w->c->classes, asked = (int)output->classification;
    int top = asked < classes ? asked : classes;
    bool is_label = output->kind == SV_OUTPUT_LABEL;
    if (is_label && top <= 1) {
        begin_output(w, row, row->datatype, 0);
        add_top(w, output, 1);
    } else if (top > 0) {
        begin_output(w, row, "BYTES", top);
        add_top(w, output, top);
    } else {
        begin_output(w, row, row->datatype, row->is_wide ? classes : 0);
        add[output->kind](w, output->kind);
    }
    sv_text_adds(w->out, "]}");
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* Those that were asked for, or all there are. */
static void add_outputs(const struct writer *w, const struct sv_infer_request *request)
{
    const struct sv_output *asked = request->outputs.items;
    int count = request->outputs.count ? request->outputs.count : SV_OUTPUTS;
    for (int i = 0; i < count; i++) {
        const struct sv_output one = {.kind = (enum sv_output_kind)i};
        sv_text_adds(w->out, i ? "," : "");
        add_output(w, request->outputs.count ? &asked[i] : &one);
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
    sv_text_print(w.out, ",\"truncated\":%d,\"tokens_given\":%lld,\"tokens_used\":%lld}",
                  c->cut_count, (long long)sv_classification_tokens_given(c),
                  (long long)c->usage.prompt_tokens);
    sv_text_adds(w.out, ",\"outputs\":[");
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

static struct sv_document *read(struct sv_call *call, void *to, struct sv_asked *asked,
                                struct sv_problem *problem)
{
    struct sv_infer_request *request = to;
    struct sv_document *document = sv_infer_request_read(&call->body, request, problem);
    if (!document)
        return NULL;
    const struct sv_tensor *input = request->inputs.items;
    take_timeout(call, request->timeout_us);
    asked->texts = input->data;
    asked->reading = &request->reading;
    return document;
}

enum sv_next sv_handle_infer(struct sv_call *call)
{
    static const struct sv_manner oip = {.request_bytes = sizeof(struct sv_infer_request),
                                         .param = sv_input_name,
                                         .read = read,
                                         .answer = answer};
    return sv_classify(call, &oip);
}
