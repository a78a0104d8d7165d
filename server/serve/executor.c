/* executor.c - what the executors of completion models and of classifiers have in common. */
#include "serve/executor.h"

#include "sluice/model.h"
#include "sluice/tokenizer.h"

/* Of every kind. */
static const enum sv_metric common_metrics[] = {
    SV_METRIC_REQUEST_SECONDS,   SV_METRIC_QUEUE_SECONDS,   SV_METRIC_INFERENCE_SECONDS,
    SV_METRIC_BATCH_SECONDS,     SV_METRIC_PROMPT_TOKENS,   SV_METRIC_SEQUENCES_RUNNING,
    SV_METRIC_SEQUENCES_WAITING, SV_METRIC_ADMITTED_TOKENS, SV_METRIC_QUEUE_FULL,
    SV_METRIC_BATCH_SIZE,        SV_METRIC_BATCH_TOKENS,    SV_METRIC_MEAN_DEPTH,
    SV_METRIC_LAYER_OPS,         SV_METRIC_LAYER_OPS_FULL,  SV_METRIC_LAYER_OPS_SKIPPED,
};

void sv_executor_init(struct sv_executor *executor, const struct sv_executor_ops *kind,
                      struct sv_model_ref *ref, const struct sv_executor_limits *bounds,
                      struct sv_metrics *metrics)
{
    const char *labels[] = {ref->name, ref->version};
    executor->kind = kind;
    executor->ref = ref;
    pthread_mutex_init(&executor->lock, NULL);
    for (size_t i = 0; i < sizeof common_metrics / sizeof common_metrics[0]; i++)
        executor->series[common_metrics[i]] = sv_metrics_series(metrics, common_metrics[i], labels);
    for (int i = 0; i < kind->metric_count; i++)
        executor->series[kind->metrics[i]] = sv_metrics_series(metrics, kind->metrics[i], labels);
    sv_admission_init(&executor->admission, ref->id, bounds->items_max, bounds->tokens_max,
                      executor->series[SV_METRIC_QUEUE_FULL]);
}

void sv_executor_release(struct sv_executor *executor)
{
    sv_admission_release(&executor->admission);
    pthread_mutex_destroy(&executor->lock);
}

/* Tokens of a text that a tokenizer of any kind can read, but for characters of other scripts:
 * then the first token of the vocabulary. */
static int warm_tokens(const struct sl_model *model, int32_t *ids, int max)
{
    static const char text[] = "a text to warm up with";
    struct sl_err unread;
    const struct sl_encoding encoding = {.text = text,
                                         .bytes = sizeof text - 1,
                                         .unknown = SL_UNKNOWN_REPLACE,
                                         .special = true,
                                         .ids = ids,
                                         .capacity = max};
    long count = sl_tokenizer_tokenize(sl_model_tokenizer(model), &encoding, &unread);
    if (count > 0)
        return count < max ? (int)count : max;
    ids[0] = 0;
    return 1;
}

bool sv_executor_warm(struct sv_executor *executor, struct sl_err *err)
{
    enum { TOKENS_MAX = 64 };

    int32_t ids[TOKENS_MAX];
    const struct sl_model *model = executor->ref->model;
    int context = sl_model_info(model)->context;
    int count = warm_tokens(model, ids, context < TOKENS_MAX ? context : TOKENS_MAX);
    return executor->kind->warm(executor, ids, count, err) || sl_wrap(err, "first batch");
}

int64_t sv_executor_pending(struct sv_executor *executor)
{
    int64_t items, tokens;
    sv_admission_admitted(&executor->admission, &items, &tokens);
    return items;
}

void sv_executor_collect(struct sv_executor *executor)
{
    pthread_mutex_lock(&executor->lock);
    struct sv_queue arrived = executor->arrived;
    executor->arrived = (struct sv_queue){0};
    pthread_mutex_unlock(&executor->lock);
    for (void *item; (item = sv_queue_pop(&arrived));)
        sv_queue_push(&executor->waiting, item);
    sv_executor_record_queue(executor);
}

void sv_executor_record_queue(struct sv_executor *executor)
{
    int64_t items, tokens;
    sv_admission_admitted(&executor->admission, &items, &tokens);
    sv_metric_set(executor->series[SV_METRIC_SEQUENCES_RUNNING], executor->running);
    sv_metric_set(executor->series[SV_METRIC_SEQUENCES_WAITING],
                  (double)(items - executor->running));
    sv_metric_set(executor->series[SV_METRIC_ADMITTED_TOKENS], (double)tokens);
}

void sv_executor_record_start(struct sv_executor *executor, int64_t queued_ns, int64_t now)
{
    sv_metric_observe(executor->series[SV_METRIC_QUEUE_SECONDS], 1e-9 * (double)(now - queued_ns));
}

void sv_executor_record_end(struct sv_executor *executor, const struct sv_request *request,
                            int64_t started_ns, int64_t finished_ns)
{
    sv_metric_observe(executor->series[SV_METRIC_REQUEST_SECONDS],
                      1e-9 * (double)(finished_ns - request->received_ns));
    if (started_ns > 0)
        sv_metric_observe(executor->series[SV_METRIC_INFERENCE_SECONDS],
                          1e-9 * (double)(finished_ns - started_ns));
}

void sv_executor_record_batch(struct sv_executor *executor, int texts, int rows, int64_t took)
{
    sv_metric_observe(executor->series[SV_METRIC_BATCH_SIZE], texts);
    sv_metric_observe(executor->series[SV_METRIC_BATCH_TOKENS], rows);
    sv_metric_observe(executor->series[SV_METRIC_BATCH_SECONDS], 1e-9 * (double)took);
}

void sv_executor_record_layers(struct sv_executor *executor)
{
    const int64_t used = executor->layers_used, full = executor->layers_full;
    sv_metric_set(executor->series[SV_METRIC_LAYER_OPS], (double)used);
    sv_metric_set(executor->series[SV_METRIC_LAYER_OPS_FULL], (double)full);
    if (full > 0)
        sv_metric_set(executor->series[SV_METRIC_LAYER_OPS_SKIPPED],
                      1 - (double)used / (double)full);
}
