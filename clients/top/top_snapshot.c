/* top_snapshot.c - the daemon's metrics at one moment, and what happened between two moments. */
#include "top/top_snapshot.h"
#include "common/metrics_text.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading --------------------------------------------------------------------------------- */

#define OF_MODEL(member) offsetof(struct top_model, member)
#define OF_ALL(member)   offsetof(struct top_snapshot, member)

struct row {
    const char *name;
    size_t offset; /* of a double, to which the sample is added */
};

static const struct row model_rows[] = {
    {"sluice_requests_total", OF_MODEL(requests)},
    {"sluice_queue_full_total", OF_MODEL(rejected)},
    {"sluice_generation_tokens_total", OF_MODEL(generated_tokens)},
    {"sluice_prompt_tokens_total", OF_MODEL(prompt_tokens)},
    {"sluice_classified_texts_total", OF_MODEL(texts)},
    {"sluice_batch_size_count", OF_MODEL(batches)},
    {"sluice_batch_size_sum", OF_MODEL(batched)},
    {"sluice_layer_ops_total", OF_MODEL(layer_ops)},
    {"sluice_layer_ops_dense_total", OF_MODEL(layer_ops_dense)},
    {"sluice_sequences_running", OF_MODEL(running)},
    {"sluice_sequences_waiting", OF_MODEL(waiting)},
    {NULL, 0}};

static const struct row process_rows[] = {{"process_cpu_seconds_total", OF_ALL(cpu_seconds)},
                                          {"process_start_time_seconds", OF_ALL(start_seconds)},
                                          {"process_resident_memory_bytes", OF_ALL(memory_bytes)},
                                          {"sluice_compute_threads", OF_ALL(threads)},
                                          {"sluice_http_connections", OF_ALL(connections)},
                                          {"sluice_requests_in_flight", OF_ALL(requests_in_flight)},
                                          {"sluice_ready", OF_ALL(ready)},
                                          {NULL, 0}};

static const struct row *find_row(const struct row *rows, const char *name)
{
    while (rows->name && strcmp(rows->name, name) != 0)
        rows++;
    return rows->name ? rows : NULL;
}

/* NULL: the sample is of no model, or there are too many. */
static struct top_model *find_model(struct top_snapshot *snapshot,
                                    const struct metric_sample *sample)
{
    const char *name = metric_label(sample, "model"), *version = metric_label(sample, "version");
    for (int i = 0; i < snapshot->model_count; i++)
        if (strcmp(snapshot->models[i].name, name) == 0 &&
            strcmp(snapshot->models[i].version, version) == 0)
            return &snapshot->models[i];
    if (!*name || !*version || snapshot->model_count == TOP_MODELS_MAX)
        return NULL;
    struct top_model *model = &snapshot->models[snapshot->model_count++];
    *model = (struct top_model){0};
    (void)snprintf(model->name, sizeof model->name, "%s", name);
    (void)snprintf(model->version, sizeof model->version, "%s", version);
    return model;
}

static void add(void *base, size_t offset, double value)
{
    double sum;
    memcpy(&sum, (char *)base + offset, sizeof sum);
    sum += value;
    memcpy((char *)base + offset, &sum, sizeof sum);
}

static void add_bucket(struct top_histogram *histogram, const struct metric_sample *sample)
{
    if (histogram->count == TOP_BUCKETS_MAX)
        return;
    histogram->bounds[histogram->count] = strtod(metric_label(sample, "le"), NULL);
    histogram->counts[histogram->count++] = sample->value;
}

static void add_to_model(struct top_snapshot *snapshot, const struct metric_sample *sample)
{
    const struct row *number = find_row(model_rows, sample->name);
    bool is_latency = strcmp(sample->name, "sluice_request_duration_seconds_bucket") == 0;
    bool is_queue = strcmp(sample->name, "sluice_request_queue_duration_seconds_bucket") == 0;
    bool is_state = strcmp(sample->name, "sluice_model_ready") == 0;
    struct top_model *model =
        number || is_latency || is_queue || is_state ? find_model(snapshot, sample) : NULL;
    if (!model)
        return;
    if (is_state)
        model->is_ready = sample->value > 0;
    else if (number)
        add(model, number->offset, sample->value);
    else
        add_bucket(is_queue ? &model->queue : &model->latency, sample);
    if (number && number->offset == OF_MODEL(requests) && metric_label(sample, "code")[0] == '5')
        model->failed += sample->value;
}

static void add_job(struct top_snapshot *snapshot, const struct metric_sample *sample)
{
    bool is_running = strcmp(metric_label(sample, "state"), "running") == 0;
    if (strcmp(sample->name, "sluice_train_jobs") == 0)
        *(is_running ? &snapshot->jobs_running : &snapshot->jobs_waiting) += sample->value;
}

static int compare(const void *left, const void *right)
{
    const struct top_model *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : (int)(strtol(a->version, NULL, 10) - strtol(b->version, NULL, 10));
}

bool top_snapshot_read(struct top_snapshot *snapshot, const char *metrics, int64_t time_ns)
{
    struct metric_sample sample;
    memset(snapshot, 0, sizeof *snapshot);
    snapshot->time_ns = time_ns;
    for (const char *line = metrics; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (!metric_parse(&sample, line))
            continue;
        const struct row *row = find_row(process_rows, sample.name);
        if (row)
            add(snapshot, row->offset, sample.value);
        add_to_model(snapshot, &sample);
        add_job(snapshot, &sample);
    }
    qsort(snapshot->models, (size_t)snapshot->model_count, sizeof snapshot->models[0], compare);
    return snapshot->threads > 0;
}

/* ---- between two moments --------------------------------------------------------------------- */

static double increase(double earlier, double later)
{
    return later < earlier ? later : later - earlier;
}

double top_seconds(const struct top_snapshot *earlier, const struct top_snapshot *later)
{
    return 1e-9 * (double)(later->time_ns - earlier->time_ns);
}

double top_cpus(const struct top_snapshot *earlier, const struct top_snapshot *later)
{
    return increase(earlier->cpu_seconds, later->cpu_seconds) / top_seconds(earlier, later);
}

/* The value below which this fraction of the new ones lie, supposing that they are spread evenly in
 * their bucket, as Prometheus does. */
static double quantile(const struct top_histogram *earlier, const struct top_histogram *later,
                       double fraction)
{
    double counts[TOP_BUCKETS_MAX], below = 0, bound = 0;
    int last = later->count - 1;
    bool is_same =
        earlier->count == later->count && last >= 0 && earlier->counts[last] <= later->counts[last];
    for (int i = 0; i <= last; i++)
        counts[i] = later->counts[i] - (is_same ? earlier->counts[i] : 0);
    if (last < 0 || counts[last] <= 0)
        return (double)NAN;
    double rank = fraction * counts[last];
    for (int i = 0; i < last; i++) {
        if (counts[i] >= rank)
            return bound + (later->bounds[i] - bound) * (rank - below) / (counts[i] - below);
        below = counts[i];
        bound = later->bounds[i];
    }
    return bound; /* beyond the last finite bound */
}

static double ratio(double above, double below)
{
    return below > 0 ? above / below : (double)NAN;
}

void top_rates_compute(struct top_rates *rates, const struct top_snapshot *earlier,
                       const struct top_snapshot *later, int index)
{
    static const struct top_model none;
    const struct top_model *b = &later->models[index],
                           *a = bsearch(b, earlier->models, (size_t)earlier->model_count, sizeof *b,
                                        compare);
    double seconds = top_seconds(earlier, later);
    a = a ? a : &none;
    *rates = (struct top_rates){
        .model = b,
        .requests = increase(a->requests, b->requests) / seconds,
        .failed = increase(a->failed, b->failed) / seconds,
        .rejected = increase(a->rejected, b->rejected) / seconds,
        .generated_tokens = increase(a->generated_tokens, b->generated_tokens) / seconds,
        .prompt_tokens = increase(a->prompt_tokens, b->prompt_tokens) / seconds,
        .texts = increase(a->texts, b->texts) / seconds,
        .batch_size = ratio(increase(a->batched, b->batched), increase(a->batches, b->batches)),
        .layer_ops_skipped = 1 - ratio(increase(a->layer_ops, b->layer_ops),
                                       increase(a->layer_ops_dense, b->layer_ops_dense)),
        .queue_p50 = quantile(&a->queue, &b->queue, 0.5),
        .queue_p99 = quantile(&a->queue, &b->queue, 0.99),
        .latency_p50 = quantile(&a->latency, &b->latency, 0.5),
        .latency_p99 = quantile(&a->latency, &b->latency, 0.99),
    };
}
