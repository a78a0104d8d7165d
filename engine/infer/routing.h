/* routing.h - what of a model acts on each token of a text, and with which weight: the gates of
 * blocks, the steps before a token halts, the experts of a mixture. */
#pragma once

#include "model/model.h"

struct sl_routing {
    const struct sl_model *model;
    struct sl_policy policy;
    struct sl_tape tape;
    struct sl_sequence sequence; /* the text that is run */
    int parts;                   /* blocks, steps or experts, as arch->routes_to says */
    /* Of the last text: tokens x parts, 0 where a part did not act; and, of a language model, the
     * entropy of the prediction after each token, in nats. */
    float *weights, *entropy;
};

/* Of a token over all parts: how many acted, and the sum of their weights. */
struct sl_routing_total {
    int ran;
    double weight;
};

/* policy: of the model if NULL. Whatever it skips is computed and multiplied by zero, so that it is
 * known of all tokens when they halt. Fails if the model routes all tokens alike. The struct stays
 * where it is until it is closed. */
bool sl_routing_open(struct sl_routing *routing, const struct sl_model *model,
                     const struct sl_policy *policy, struct sl_err *err) SL_MUST_CHECK;
/* Runs a text of 1 to config.context_length tokens. */
void sl_routing_run(struct sl_routing *routing, const int32_t *tokens, int count);
/* token: its place in the last text. */
struct sl_routing_total sl_routing_total(const struct sl_routing *routing, int token);
void sl_routing_close(struct sl_routing *routing); /* a zeroed one is fine */
