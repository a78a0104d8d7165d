/* classification_result.c - what is said of the texts of a request besides their results. */
#include "api/classification_result.h"
#include "base/clock.h"

bool sv_classification_is_blank(const struct sv_classification *c, int index)
{
    return c->tokens_before_truncation[index] == 0;
}

double sv_classification_depth(const struct sv_classification *c, int index)
{
    const struct sv_classification_item *item = &c->task.items[index];
    return sv_mean_depth(c->usage.depth, item->layers_used, item->layers_full);
}

static void add_depths(struct sv_request *request, const struct sv_classification *c)
{
    if (c->texts > SV_HEADER_LIST_MAX)
        return;
    struct sl_buffer *out = sv_request_add_long_header(request, "x-sluice-depth");
    for (int i = 0; i < c->texts; i++)
        sl_buffer_printf(out, "%s%.2f", i ? "," : "", sv_classification_depth(c, i));
}

int64_t sv_classification_tokens_before_truncation(const struct sv_classification *c)
{
    int64_t given = 0;
    for (int i = 0; i < c->texts; i++)
        given += c->tokens_before_truncation[i];
    return given;
}

/* How many texts were truncated, and the tokens that each had before. */
static void add_truncation(struct sv_request *request, const struct sv_classification *c)
{
    if (c->truncated_count == 0)
        return;
    sv_request_add_header(request, "x-sluice-truncated", "%d", c->truncated_count);
    if (c->texts > SV_HEADER_LIST_MAX)
        return;
    struct sl_buffer *out = sv_request_add_long_header(request, "x-sluice-tokens-given");
    for (int i = 0; i < c->texts; i++)
        sl_buffer_printf(out, "%s%d", i ? "," : "", c->tokens_before_truncation[i]);
}

static void add_headers(struct sv_request *request, const struct sv_classification *c)
{
    const struct sv_classification_task *t = &c->task;
    long long total = sv_ms(sl_now_ns() - request->received_ns);
    sv_request_add_header(request, "x-compute-type", "cpu");
    sv_request_add_header(request, "x-compute-time", "%lld", total);
    sv_request_add_header(request, "x-compute-characters", "%lld", (long long)c->characters);
    sv_request_add_header(request, "x-compute-tokens", "%lld", (long long)c->usage.prompt_tokens);
    sv_request_add_header(request, "x-total-time", "%lld", total);
    sv_request_add_header(request, "x-tokenization-time", "%lld", sv_ms(t->encoded_ns));
    sv_request_add_header(request, "x-queue-time", "%lld", sv_ms(t->started_ns - t->queued_ns));
    sv_request_add_header(request, "x-inference-time", "%lld",
                          sv_ms(t->finished_ns - t->started_ns));
    sv_request_add_header(request, "x-sluice-depth-mean", "%.4f", sv_usage_mean_depth(&c->usage));
    sv_request_add_header(request, "x-sluice-layer-ops-skipped", "%.4f",
                          sv_usage_layer_ops_skipped(&c->usage));
    sv_add_budget_header(request, &c->usage);
    add_depths(request, c);
    add_truncation(request, c);
}

enum sv_progress sv_classification_respond(struct sv_request *request,
                                           const struct sv_classification *c, const char *type)
{
    add_headers(request, c);
    return sv_request_respond(request, 200, type);
}
