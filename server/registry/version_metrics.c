/* version_metrics.c - the metrics of versions and of loading them. */
#include "registry/version_metrics.h"
#include "core/metrics.h"

#include <stdio.h>

const char *sv_version_state_name(enum sv_version_state state)
{
    static const char *names[SV_VERSION_STATES] = {
        [SV_VERSION_UNLOADED] = "unloaded", [SV_VERSION_LOADING] = "loading",
        [SV_VERSION_READY] = "ready",       [SV_VERSION_DRAINING] = "draining",
        [SV_VERSION_FAILED] = "failed",
    };
    return names[state];
}

static void set_state(struct sv_metrics *metrics, const char *model, const char *version,
                      enum sv_version_state state, int value)
{
    const char *labels[] = {model, version, sv_version_state_name(state)};
    sv_metrics_set(metrics, SV_METRIC_MODEL_STATE, labels, value);
}

void sv_record_state(struct sv_metrics *metrics, const char *model, long version,
                     enum sv_version_state state, bool is_ready)
{
    char number[SV_VERSION_MAX];
    const char *labels[] = {model, number};
    (void)snprintf(number, sizeof number, "%ld", version);
    for (enum sv_version_state s = 0; s < SV_VERSION_STATES; s++)
        set_state(metrics, model, number, s, s == state);
    sv_metrics_set(metrics, SV_METRIC_MODEL_READY, labels, is_ready);
}

void sv_record_forgotten(struct sv_metrics *metrics, const char *model, long version)
{
    char number[SV_VERSION_MAX];
    (void)snprintf(number, sizeof number, "%ld", version);
    sv_metrics_drop_version(metrics, model, number);
}

void sv_record_unloaded(struct sv_metrics *metrics, const char *model, long version)
{
    char number[SV_VERSION_MAX];
    (void)snprintf(number, sizeof number, "%ld", version);
    sv_metrics_drop_version(metrics, model, number);
    set_state(metrics, model, number, SV_VERSION_UNLOADED, 1);
}

static const char ok[] = "ok", failed[] = "failed";

void sv_record_model_forgotten(struct sv_metrics *metrics, const char *model)
{
    sv_metrics_drop(metrics, SV_METRIC_MODEL_LOADS, (const char *const[]){model, ok});
    sv_metrics_drop(metrics, SV_METRIC_MODEL_LOADS, (const char *const[]){model, failed});
}

void sv_record_load_failed(struct sv_metrics *metrics, const char *model)
{
    sv_metrics_count(metrics, SV_METRIC_MODEL_LOADS, (const char *const[]){model, failed});
}

void sv_record_loaded(struct sv_metrics *metrics, const char *model, const char *version,
                      const char *sha256, double seconds)
{
    const char *info[] = {model, version, sha256}; /* a metric takes as many as it has labels */
    sv_metrics_count(metrics, SV_METRIC_MODEL_LOADS, (const char *const[]){model, ok});
    sv_metrics_set(metrics, SV_METRIC_MODEL_INFO, info, 1);
    sv_metrics_set(metrics, SV_METRIC_LOAD_SECONDS, info, seconds);
}
