/* token_usage.c - what a request used: tokens, and layers of the model. */
#include "core/token_usage.h"
#include "base/json_writer.h"

double sv_mean_depth(int depth, int64_t used, int64_t full)
{
    return full == 0 ? 0 : depth * (double)used / (double)full;
}

double sv_usage_mean_depth(const struct sv_usage *usage)
{
    return sv_mean_depth(usage->depth, usage->layers_used, usage->layers_full);
}

double sv_usage_layer_ops_skipped(const struct sv_usage *usage)
{
    if (usage->layers_full == 0)
        return 0;
    return 1 - (double)usage->layers_used / (double)usage->layers_full;
}

void sv_usage_add_depth(struct sl_json_writer *json, const struct sv_usage *usage)
{
    sl_json_add(json, "'depth_mean':%.4f,'layer_ops_skipped':%.4f", sv_usage_mean_depth(usage),
                sv_usage_layer_ops_skipped(usage));
    if (usage->budget > 0)
        sl_json_add(json, "'budget':%g", usage->budget);
}
