/* executor.c - one model's work: what its two kinds have in common. */
#include "serve/executor.h"

void sv_lane_init(struct sv_lane *lane, const struct sv_lane_kind *kind, struct sv_served *served,
                  const struct sv_lane_bounds *bounds, struct sv_metrics *metrics)
{
    const char *labels[] = {sv_served_name(served), sv_served_version(served)};
    lane->kind = kind;
    lane->served = sv_served_acquire(served);
    pthread_mutex_init(&lane->lock, NULL);
    for (int i = 0; i < kind->metric_count; i++)
        lane->series[kind->metrics[i]] = sv_metrics_series(metrics, kind->metrics[i], labels);
    sv_gate_init(&lane->gate, sv_served_id(served), bounds->items_max, bounds->tokens_max,
                 lane->series[SV_METRIC_QUEUE_FULL]);
}

void sv_lane_release(struct sv_lane *lane)
{
    sv_gate_release(&lane->gate);
    sv_served_release(lane->served);
    pthread_mutex_destroy(&lane->lock);
}

int64_t sv_lane_items(struct sv_lane *lane)
{
    int64_t items, tokens;
    sv_gate_inside(&lane->gate, &items, &tokens);
    return items;
}

void sv_lane_collect(struct sv_lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    struct sv_queue arrived = lane->arrived;
    lane->arrived = (struct sv_queue){0};
    pthread_mutex_unlock(&lane->lock);
    for (void *item; (item = sv_queue_pop(&arrived));)
        sv_queue_push(&lane->waiting, item);
    sv_lane_note_queue(lane);
}

void sv_lane_note_queue(struct sv_lane *lane)
{
    int64_t items, tokens;
    sv_gate_inside(&lane->gate, &items, &tokens);
    sv_metric_set(lane->series[SV_METRIC_RUNNING], lane->running);
    sv_metric_set(lane->series[SV_METRIC_WAITING], (double)(items - lane->running));
    sv_metric_set(lane->series[SV_METRIC_ADMITTED_TOKENS], (double)tokens);
}

void sv_lane_note_start(struct sv_lane *lane, int64_t queued_ns, int64_t now)
{
    sv_metric_see(lane->series[SV_METRIC_QUEUE_SECONDS], 1e-9 * (double)(now - queued_ns));
}

void sv_lane_note_end(struct sv_lane *lane, const struct sv_call *call, int64_t started_ns,
                      int64_t finished_ns)
{
    sv_metric_see(lane->series[SV_METRIC_REQUEST_SECONDS],
                  1e-9 * (double)(finished_ns - call->received_ns));
    if (started_ns > 0)
        sv_metric_see(lane->series[SV_METRIC_INFERENCE_SECONDS],
                      1e-9 * (double)(finished_ns - started_ns));
}

void sv_lane_note_batch(struct sv_lane *lane, int texts, int rows, int64_t took)
{
    sv_metric_see(lane->series[SV_METRIC_BATCH_SIZE], texts);
    sv_metric_see(lane->series[SV_METRIC_BATCH_TOKENS], rows);
    sv_metric_see(lane->series[SV_METRIC_BATCH_SECONDS], 1e-9 * (double)took);
}

void sv_lane_note_layers(struct sv_lane *lane, int64_t used, int64_t full)
{
    sv_metric_set(lane->series[SV_METRIC_LAYER_OPS], (double)used);
    sv_metric_set(lane->series[SV_METRIC_LAYER_OPS_FULL], (double)full);
    if (full > 0)
        sv_metric_set(lane->series[SV_METRIC_FLOPS_SAVED], 1 - (double)used / (double)full);
}
