/* handle_predict.c - classification as Text Embeddings Inference and Hugging Face have it. */
#include "api/classification.h"
#include "api/handlers.h"
#include "json/predict_params.h"
#include "json/scores.h"

#include <stdlib.h>

/* One text's scores, the likeliest first. */
static void add_scores(struct sv_text *out, const struct sv_classification *c, int index,
                       struct sv_score *ranked, float *values)
{
    const struct sv_predict_request *request = c->request;
    int count = request->top_k < c->classes ? (int)request->top_k : c->classes;
    sv_scores_squash(c->task.items[index].logits, c->classes, request->squash, values);
    sv_scores_rank(values, c->classes, ranked);
    sv_scores_write(ranked, count, c->labels, out);
}

static enum sv_next answer(struct sv_call *call, const struct sv_classification *c, bool nested)
{
    struct sv_text *body = &call->reply.body;
    struct sv_score *ranked = calloc((size_t)c->classes, sizeof *ranked);
    float *values = calloc((size_t)c->classes, sizeof *values);
    body->failed = body->failed || !ranked || !values;
    sv_text_adds(body, nested ? "[" : "");
    for (int i = 0; i < c->task.count && !body->failed; i++) {
        sv_text_adds(body, i ? "," : "");
        add_scores(body, c, i, ranked, values);
    }
    sv_text_adds(body, nested ? "]" : "");
    free(ranked);
    free(values);
    sv_classification_headers(call, c);
    return sv_call_answer(call, 200, "application/json");
}

/* One text's scores stand alone, those of an array in an array. */
static enum sv_next answer_tei(struct sv_call *call, const struct sv_classification *c)
{
    const struct sv_predict_request *request = c->request;
    return answer(call, c, request->inputs.several);
}

/* The client of Hugging Face wants them in an array always. */
static enum sv_next answer_hf(struct sv_call *call, const struct sv_classification *c)
{
    return answer(call, c, true);
}

static struct sv_document *ask(struct sv_document *document,
                               const struct sv_predict_request *request, struct sv_asked *asked)
{
    asked->texts = request->inputs;
    asked->reading = &request->reading;
    return document;
}

static struct sv_document *read_tei(struct sv_call *call, void *request, struct sv_asked *asked,
                                    struct sv_problem *problem)
{
    return ask(sv_predict_request_read(&call->body, request, problem), request, asked);
}

static struct sv_document *read_hf(struct sv_call *call, void *request, struct sv_asked *asked,
                                   struct sv_problem *problem)
{
    return ask(sv_hf_request_read(&call->body, request, problem), request, asked);
}

enum sv_next sv_handle_predict(struct sv_call *call)
{
    static const struct sv_manner tei = {.request_bytes = sizeof(struct sv_predict_request),
                                         .param = "inputs",
                                         .read = read_tei,
                                         .answer = answer_tei};
    return sv_classify(call, &tei);
}

enum sv_next sv_handle_hf(struct sv_call *call)
{
    static const struct sv_manner hf = {.request_bytes = sizeof(struct sv_predict_request),
                                        .param = "inputs",
                                        .read = read_hf,
                                        .answer = answer_hf};
    return sv_classify(call, &hf);
}
