/* metrics.c - what is counted, and how Prometheus reads it. */
#include "core/metrics.h"
#include "base/allocate.h"
#include "core/limits.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type { COUNTER, GAUGE, SECONDS, SIZES, LAYERS };

enum { BOUNDS_MAX = 40, BOUND_TEXT_MAX = 16 };

struct row {
    const char *name;
    enum type type;
    const char *labels, *help;
};

static const struct row rows[SV_METRICS] = {
#define SV_METRIC(id, name, type, labels, help) {name, type, labels, help},
#include "core/metrics.def"
#undef SV_METRIC
};

/* Upper bounds of histogram buckets; +Inf follows. */
struct bounds {
    int count;
    double max[BOUNDS_MAX];
    char text[BOUNDS_MAX][BOUND_TEXT_MAX]; /* printed once: most of a scrape is buckets */
};

struct sv_series {
    struct sv_series *next;
    const struct bounds *bounds; /* NULL: a number */
    _Atomic double value;        /* or the sum of a histogram's values */
    uint64_t hash;               /* of the label values; these three never change */
    char *values;                /* the label values, each with its NUL; NULL: has none */
    char *labels;                /* as exposed between braces */
    atomic_uint_least64_t buckets[];
};

struct family {
    struct sv_series *first;
    int count;
    struct sv_series *others;
    atomic_bool others_used;
};

struct sv_metrics {
    pthread_rwlock_t lock; /* guards the lists of all families */
    struct bounds seconds, sizes, layers;
    struct family families[SV_METRICS];
};

static const struct bounds *bounds_of(const struct sv_metrics *metrics, enum type type)
{
    switch (type) {
    case COUNTER:
    case GAUGE: return NULL;
    case SECONDS: return &metrics->seconds;
    case SIZES: return &metrics->sizes;
    case LAYERS: return &metrics->layers;
    }
    return NULL;
}

static void print_bounds(struct bounds *bounds)
{
    for (int i = 0; i < bounds->count; i++)
        (void)snprintf(bounds->text[i], sizeof bounds->text[i], "%.6g", bounds->max[i]);
}

/* Latencies: 40 bounds from 10 us to 74 s, each 1.5 times the one before. Sizes: powers of two. */
static void set_bounds(struct sv_metrics *metrics)
{
    static const double layers[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64};
    double second = 10e-6;
    for (int i = 0; i < BOUNDS_MAX; i++) {
        metrics->seconds.max[i] = second;
        second *= 1.5;
    }
    metrics->seconds.count = BOUNDS_MAX;
    for (int i = 0; i <= 12; i++)
        metrics->sizes.max[i] = (double)(1 << i);
    metrics->sizes.count = 13;
    metrics->layers.count = sizeof layers / sizeof layers[0];
    memcpy(metrics->layers.max, layers, sizeof layers);
    print_bounds(&metrics->seconds);
    print_bounds(&metrics->sizes);
    print_bounds(&metrics->layers);
}

static void series_destroy(struct sv_series *series)
{
    if (!series)
        return;
    free(series->values);
    free(series->labels);
    free(series);
}

static struct sv_series *series_create(const struct bounds *bounds, const char *labels)
{
    size_t buckets = bounds ? (size_t)bounds->count + 1 : 0;
    struct sv_series *series = calloc(1, sizeof *series + buckets * sizeof series->buckets[0]);
    if (!series)
        return NULL;
    series->bounds = bounds;
    series->labels = strdup(labels);
    if (series->labels)
        return series;
    series_destroy(series);
    return NULL;
}

/* name="value",... escaped as the exposition format requires. */
static void write_labels(const char *names, const char *const *values, struct sl_buffer *out)
{
    assert(values || !*names);
    for (const char *name = names; *name;) {
        size_t length = strcspn(name, ",");
        sl_buffer_printf(out, out->bytes ? ",%.*s=\"" : "%.*s=\"", (int)length, name);
        for (const char *c = *values; *c; c++) {
            if (*c == '\\' || *c == '"')
                sl_buffer_append(out, "\\", 1);
            sl_buffer_append(out, *c == '\n' ? "\\n" : c, *c == '\n' ? 2 : 1);
        }
        sl_buffer_append(out, "\"", 1);
        values++;
        name += length + (name[length] == ',');
    }
}

struct sv_metrics *sv_metrics_create(struct sl_err *err)
{
    struct sv_metrics *metrics = sl_new(sizeof *metrics, "metrics", err);
    if (!metrics)
        return NULL;
    pthread_rwlock_init(&metrics->lock, NULL);
    set_bounds(metrics);
    for (int i = 0; i < SV_METRICS; i++) {
        metrics->families[i].others =
            series_create(bounds_of(metrics, rows[i].type), "others=\"all\"");
        if (!metrics->families[i].others) {
            (void)sl_fail(err, SL_NO_MEMORY, "metrics");
            sv_metrics_destroy(metrics);
            return NULL;
        }
    }
    return metrics;
}

void sv_metrics_destroy(struct sv_metrics *metrics)
{
    if (!metrics)
        return;
    for (int i = 0; i < SV_METRICS; i++) {
        struct sv_series *series = metrics->families[i].first, *next;
        for (; series; series = next) {
            next = series->next;
            series_destroy(series);
        }
        series_destroy(metrics->families[i].others);
    }
    pthread_rwlock_destroy(&metrics->lock);
    free(metrics);
}

/* ---- finding a series: without memory, as each request does it several times ----------------- */

static int count_labels(const char *names)
{
    int count = *names != '\0';
    for (; *names; names++)
        count += *names == ',';
    return count;
}

/* FNV-1a, over the values with their NULs. */
static uint64_t hash_values(const char *const *values, int count)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (int i = 0; i < count; i++) {
        const char *c = values[i];
        do
            hash = (hash ^ (unsigned char)*c) * 0x100000001B3u;
        while (*c++);
    }
    return hash;
}

static bool has_values(const struct sv_series *series, const char *const *values, int count)
{
    const char *mine = series->values;
    for (int i = 0; i < count; mine += strlen(mine) + 1, i++)
        if (strcmp(mine, values[i]) != 0)
            return false;
    return true;
}

static struct sv_series *find(const struct family *family, uint64_t hash, const char *const *values,
                              int count)
{
    struct sv_series *series = family->first;
    while (series && (series->hash != hash || !has_values(series, values, count)))
        series = series->next;
    return series;
}

static bool copy_values(struct sv_series *series, const char *const *values, int count)
{
    struct sl_buffer copy = {0};
    for (int i = 0; i < count; i++)
        sl_buffer_append(&copy, values[i], strlen(values[i]) + 1);
    series->values = copy.data;
    series->hash = hash_values(values, count);
    return !copy.failed;
}

static struct sv_series *make_series(const struct sv_metrics *metrics, enum sv_metric metric,
                                     const char *const *values)
{
    struct sl_buffer labels = {0};
    write_labels(rows[metric].labels, values, &labels);
    sl_buffer_append_string(&labels, "");
    struct sv_series *series =
        labels.failed ? NULL : series_create(bounds_of(metrics, rows[metric].type), labels.data);
    sl_buffer_release(&labels);
    if (series && copy_values(series, values, count_labels(rows[metric].labels)))
        return series;
    series_destroy(series);
    return NULL;
}

/* With the lock, for writing. */
static struct sv_series *append(struct family *family, struct sv_series *series)
{
    if (!series) {
        atomic_store(&family->others_used, true);
        return family->others;
    }
    struct sv_series **end = &family->first;
    while (*end)
        end = &(*end)->next;
    *end = series;
    family->count++;
    return series;
}

/* The series, with the lock for reading or writing, which the caller gives back. */
static struct sv_series *find_locked(struct sv_metrics *metrics, enum sv_metric metric,
                                     const char *const *values)
{
    assert(metric < SV_METRICS);
    struct family *family = &metrics->families[metric];
    int count = count_labels(rows[metric].labels);
    assert(values || count == 0);
    uint64_t hash = hash_values(values, count);
    pthread_rwlock_rdlock(&metrics->lock);
    struct sv_series *series = find(family, hash, values, count);
    if (series)
        return series;
    pthread_rwlock_unlock(&metrics->lock);
    pthread_rwlock_wrlock(&metrics->lock);
    series = find(family, hash, values, count);
    if (!series)
        series = append(family, family->count < SV_SERIES_MAX ? make_series(metrics, metric, values)
                                                              : NULL);
    return series;
}

struct sv_series *sv_metrics_series(struct sv_metrics *metrics, enum sv_metric metric,
                                    const char *const *values)
{
    struct sv_series *series = find_locked(metrics, metric, values);
    pthread_rwlock_unlock(&metrics->lock);
    return series;
}

void sv_metrics_count(struct sv_metrics *metrics, enum sv_metric metric, const char *const *values)
{
    sv_metric_add(find_locked(metrics, metric, values), 1);
    pthread_rwlock_unlock(&metrics->lock);
}

/* ---- dropping versions ----------------------------------------------------------------------- */

/* The place of a label among a metric's, or -1. */
static int place_of(const char *labels, const char *wanted)
{
    size_t bytes = strlen(wanted);
    for (int place = 0; *labels; place++) {
        size_t length = strcspn(labels, ",");
        if (length == bytes && strncmp(labels, wanted, length) == 0)
            return place;
        labels += length + (labels[length] == ',');
    }
    return -1;
}

static const char *value_at(const struct sv_series *series, int place)
{
    const char *value = series->values;
    while (place-- > 0)
        value += strlen(value) + 1;
    return value;
}

static void remove_at(struct family *family, struct sv_series **link)
{
    struct sv_series *series = *link;
    *link = series->next;
    family->count--;
    series_destroy(series);
}

static void drop_from(struct family *family, const char *labels, const char *model,
                      const char *version)
{
    int model_at = place_of(labels, "model"), version_at = place_of(labels, "version");
    if (model_at < 0 || version_at < 0)
        return;
    for (struct sv_series **link = &family->first; *link;)
        if (strcmp(value_at(*link, model_at), model) == 0 &&
            strcmp(value_at(*link, version_at), version) == 0)
            remove_at(family, link);
        else
            link = &(*link)->next;
}

void sv_metrics_drop_version(struct sv_metrics *metrics, const char *model, const char *version)
{
    pthread_rwlock_wrlock(&metrics->lock);
    for (int i = 0; i < SV_METRICS; i++)
        drop_from(&metrics->families[i], rows[i].labels, model, version);
    pthread_rwlock_unlock(&metrics->lock);
}

void sv_metrics_drop(struct sv_metrics *metrics, enum sv_metric metric, const char *const *values)
{
    struct family *family = &metrics->families[metric];
    int count = count_labels(rows[metric].labels);
    pthread_rwlock_wrlock(&metrics->lock);
    struct sv_series **link = &family->first;
    while (*link && !has_values(*link, values, count))
        link = &(*link)->next;
    if (*link)
        remove_at(family, link);
    pthread_rwlock_unlock(&metrics->lock);
}

/* ---- counting -------------------------------------------------------------------------------- */

void sv_metric_add(struct sv_series *series, double by)
{
    double old = atomic_load_explicit(&series->value, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&series->value, &old, old + by,
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
}

void sv_metric_set(struct sv_series *series, double value)
{
    atomic_store_explicit(&series->value, value, memory_order_relaxed);
}

void sv_metric_observe(struct sv_series *series, double value)
{
    assert(series->bounds);
    int low = 0, high = series->bounds->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (value <= series->bounds->max[middle])
            high = middle;
        else
            low = middle + 1;
    }
    atomic_fetch_add_explicit(&series->buckets[low], 1, memory_order_relaxed);
    sv_metric_add(series, value);
}

double sv_metric_value(const struct sv_series *series)
{
    return atomic_load_explicit(&series->value, memory_order_relaxed);
}

uint64_t sv_metric_count(const struct sv_series *series)
{
    uint64_t seen = 0;
    for (int i = 0; i <= series->bounds->count; i++)
        seen += atomic_load_explicit(&series->buckets[i], memory_order_relaxed);
    return seen;
}

/* ---- shown ----------------------------------------------------------------------------------- */

/* printf takes several times as long, and a scrape has a thousand numbers, most of them whole. */
static void append_number(struct sl_buffer *out, double value)
{
    static const double whole_max = 1e15; /* doubles hold all integers up to it */
    if (fabs(value) < whole_max && value == (double)(int64_t)value)
        sl_buffer_append_int(out, (int64_t)value);
    else
        sl_buffer_printf(out, "%.15g", value);
    sl_buffer_append_string(out, "\n");
}

/* name_suffix{labels} with a space after it; without braces if there are no labels. */
static void append_name(struct sl_buffer *out, const char *name, const char *suffix,
                        const struct sv_series *series)
{
    sl_buffer_append_string(out, name);
    sl_buffer_append_string(out, suffix);
    if (series->labels[0]) {
        sl_buffer_append_string(out, "{");
        sl_buffer_append_string(out, series->labels);
        sl_buffer_append_string(out, "}");
    }
    sl_buffer_append_string(out, " ");
}

static void show_number(const char *name, const struct sv_series *series, struct sl_buffer *out)
{
    append_name(out, name, "", series);
    append_number(out, sv_metric_value(series));
}

static void show_bucket(const char *name, const struct sv_series *series, const char *bound,
                        uint64_t count, struct sl_buffer *out)
{
    sl_buffer_append_string(out, name);
    sl_buffer_append_string(out, "_bucket{");
    sl_buffer_append_string(out, series->labels);
    sl_buffer_append_string(out, series->labels[0] ? ",le=\"" : "le=\"");
    sl_buffer_append_string(out, bound);
    sl_buffer_append_string(out, "\"} ");
    append_number(out, (double)count);
}

static void show_histogram(const char *name, const struct sv_series *series, struct sl_buffer *out)
{
    uint64_t seen = 0;
    for (int i = 0; i <= series->bounds->count; i++) {
        seen += atomic_load_explicit(&series->buckets[i], memory_order_relaxed);
        show_bucket(name, series, i < series->bounds->count ? series->bounds->text[i] : "+Inf",
                    seen, out);
    }
    append_name(out, name, "_sum", series);
    append_number(out, sv_metric_value(series));
    append_name(out, name, "_count", series);
    append_number(out, (double)seen);
}

static void show_series(const struct row *row, const struct sv_series *series,
                        struct sl_buffer *out)
{
    if (series->bounds)
        show_histogram(row->name, series, out);
    else
        show_number(row->name, series, out);
}

static void show_family(const struct family *family, const struct row *row, struct sl_buffer *out)
{
    static const char *const types[] = {
        [COUNTER] = "counter", [GAUGE] = "gauge",      [SECONDS] = "histogram",
        [SIZES] = "histogram", [LAYERS] = "histogram",
    };
    const struct sv_series *series = family->first;
    if (!series)
        return;
    sl_buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help, row->name,
                     types[row->type]);
    for (; series; series = series->next)
        show_series(row, series, out);
    if (atomic_load(&family->others_used))
        show_series(row, family->others, out);
}

void sv_metrics_expose(struct sv_metrics *metrics, struct sl_buffer *out)
{
    pthread_rwlock_rdlock(&metrics->lock);
    for (int i = 0; i < SV_METRICS; i++)
        show_family(&metrics->families[i], &rows[i], out);
    pthread_rwlock_unlock(&metrics->lock);
}
