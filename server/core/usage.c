/* usage.c - what a request used: tokens, and layers of the model. */
#include "core/usage.h"

double sv_depth_mean(int depth, int64_t used, int64_t full)
{
    return full == 0 ? 0 : depth * (double)used / (double)full;
}

double sv_usage_depth_mean(const struct sv_usage *usage)
{
    return sv_depth_mean(usage->depth, usage->layers_used, usage->layers_full);
}

double sv_usage_saved(const struct sv_usage *usage)
{
    if (usage->layers_full == 0)
        return 0;
    return 1 - (double)usage->layers_used / (double)usage->layers_full;
}
