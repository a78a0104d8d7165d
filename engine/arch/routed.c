/* routed.c - how gates act, as a policy. */
#include "arch/routed.h"

#include <string.h>

static const char *const gates[] =
    {[SL_GATE_SOFT] = "soft", [SL_GATE_HARD] = "hard", [SL_GATE_MIXED] = "mixed", NULL};

const char *sl_routed_skipping(const struct sl_policy *p)
{
    const struct sl_gate_policy *own = sl_policy_own(p);
    return gates[own->gate];
}

bool sl_routed_policy(const struct sl_router_config *config, struct sl_policy *p)
{
    const struct sl_gate_policy own = {SL_GATE_MIXED, config->training_gate_limit};
    memcpy(p->own, &own, sizeof own);
    return config->training_gate_limit < 1.0f;
}

const struct sl_param sl_routed_policy_rows[] = {
    SL_CHOICE_ROW(
        sl_gate_policy, gate, gates, SL_GATE_MIXED, SL_GATE_MIXED,
        "how gates act; soft: weigh each layer, hard: compute or skip it, mixed: skip it if "
        "gate_limit is reached, else weigh it"),
    SL_REAL_ROW(sl_gate_policy, gate_limit, 0, 1, 0.9,
                "with mixed gates: skip a layer if its skip probability is at least this"),
    {0}};
