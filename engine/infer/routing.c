/* routing.c - runs a text and keeps what its tokens were routed to. */
#include "infer/routing.h"

#include "infer/logits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct sl_batch batch_of(struct sl_routing *r, const int32_t *tokens, int count)
{
    r->sequence = (struct sl_sequence){.rows = count};
    return (struct sl_batch){
        .tokens = tokens, .sequences = &r->sequence, .rows = count, .count = 1, .loss_scale = 1.0f};
}

static bool open_tape(struct sl_routing *r, struct sl_err *err)
{
    const int context = r->model->config.context_length;
    int32_t *tokens = calloc((size_t)context, sizeof *tokens);
    if (!tokens)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d tokens", context);
    struct sl_batch largest = batch_of(r, tokens, context);
    bool ok = sl_model_open_tape(r->model, &r->policy, &largest, &r->tape, err);
    free(tokens);
    return ok;
}

bool sl_routing_open(struct sl_routing *r, const struct sl_model *model,
                     const struct sl_policy *policy, struct sl_err *err)
{
    const struct sl_arch *arch = model->arch;
    const size_t context = (size_t)model->config.context_length;
    *r = (struct sl_routing){.model = model, .policy = policy ? *policy : model->policy};
    if (!arch->routes_to)
        return sl_fail(err, SL_BAD_INPUT,
                       "the architecture is %s, in which all tokens take the same way", arch->name);
    r->policy.dense = true;
    r->parts = model->info.routes;
    r->weights = calloc(context * (size_t)r->parts, sizeof *r->weights);
    r->entropy = calloc(context, sizeof *r->entropy);
    if (!r->weights || !r->entropy)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %zu tokens", context);
    if (!open_tape(r, err))
        return false;
    r->tape.stats.routing = r->weights;
    r->tape.stats.routing_parts = r->parts;
    return true;
}

static float entropy_of(const float *logits, int count)
{
    double entropy = 0.0;
    const double log_sum = sl_log_sum_exp(logits, count);
    for (int i = 0; i < count; i++)
        entropy -= exp((double)logits[i] - log_sum) * ((double)logits[i] - log_sum);
    return (float)entropy;
}

void sl_routing_run(struct sl_routing *r, const int32_t *tokens, int count)
{
    struct sl_batch batch = batch_of(r, tokens, count);
    memset(r->weights, 0, (size_t)count * (size_t)r->parts * sizeof *r->weights);
    sl_tape_begin(&r->tape, &batch, false);
    const struct sl_tensor *logits = sl_model_forward(r->model, &r->tape);
    for (int i = 0; r->model->config.task == SL_TASK_COMPLETION && i < count; i++)
        r->entropy[i] = entropy_of(sl_row(logits, i), logits->cols);
}

struct sl_routing_total sl_routing_total(const struct sl_routing *r, int token)
{
    const float *weights = r->weights + (size_t)token * (size_t)r->parts;
    struct sl_routing_total total = {0};
    for (int p = 0; p < r->parts; p++) {
        total.ran += weights[p] != 0.0f;
        total.weight += (double)weights[p];
    }
    return total;
}

void sl_routing_close(struct sl_routing *r)
{
    if (r->weights)
        sl_tape_release(&r->tape);
    free(r->weights);
    free(r->entropy);
    *r = (struct sl_routing){0};
}
