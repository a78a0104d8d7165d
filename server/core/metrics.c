/* metrics.c - what is counted, and how Prometheus reads it. */
#include "core/metrics.h"
#include "base/cpu.h"
#include "core/limits.h"

#include <assert.h>
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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
    _Atomic(struct sv_series *) next;
    const struct bounds *bounds; /* NULL: a number */
    _Atomic double value;        /* or the sum of a histogram's values */
    uint64_t hash;               /* of the label values; these three never change */
    char *values;                /* the label values, each with its NUL; NULL: has none */
    char *labels;                /* as exposed between braces */
    atomic_uint_least64_t buckets[];
};

struct family {
    _Atomic(struct sv_series *) first;
    struct sv_series *last; /* under the lock */
    int count;              /* under the lock */
    struct sv_series *others;
    atomic_bool others_used;
};

struct sv_metrics {
    pthread_mutex_t lock; /* guards adding a series: last and count of every family */
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
    struct sv_metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics) {
        (void)sl_fail(err, SL_NO_MEMORY, "metrics");
        return NULL;
    }
    pthread_mutex_init(&metrics->lock, NULL);
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
        struct sv_series *series = atomic_load(&metrics->families[i].first), *next;
        for (; series; series = next) {
            next = atomic_load(&series->next);
            series_destroy(series);
        }
        series_destroy(metrics->families[i].others);
    }
    pthread_mutex_destroy(&metrics->lock);
    free(metrics);
}

/* ---- finding a series: without memory or locks, as each request does it several times -------- */

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
    for (int i = 0; i < count; i++)
        for (const char *c = values[i];; c++) {
            hash = (hash ^ (unsigned char)*c) * 0x100000001B3u;
            if (*c == '\0')
                break;
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

static struct sv_series *find(struct family *family, uint64_t hash, const char *const *values,
                              int count)
{
    struct sv_series *series = atomic_load_explicit(&family->first, memory_order_acquire);
    while (series && (series->hash != hash || !has_values(series, values, count)))
        series = atomic_load_explicit(&series->next, memory_order_acquire);
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

/* Under the lock. Readers walk the list meanwhile: a series is complete before it is linked. */
static struct sv_series *append(struct family *family, struct sv_series *series)
{
    if (!series) {
        atomic_store(&family->others_used, true);
        return family->others;
    }
    if (family->last)
        atomic_store_explicit(&family->last->next, series, memory_order_release);
    else
        atomic_store_explicit(&family->first, series, memory_order_release);
    family->last = series;
    family->count++;
    return series;
}

struct sv_series *sv_metrics_series(struct sv_metrics *metrics, enum sv_metric metric,
                                    const char *const *values)
{
    assert(metric < SV_METRICS);
    struct family *family = &metrics->families[metric];
    int count = count_labels(rows[metric].labels);
    assert(values || count == 0);
    uint64_t hash = hash_values(values, count);
    struct sv_series *series = find(family, hash, values, count);
    if (series)
        return series;
    pthread_mutex_lock(&metrics->lock);
    series = find(family, hash, values, count);
    if (!series)
        series = append(family, family->count < SV_SERIES_MAX ? make_series(metrics, metric, values)
                                                              : NULL);
    pthread_mutex_unlock(&metrics->lock);
    return series;
}

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

/* ---- the process ----------------------------------------------------------------------------- */

/* Linux 6.2 and later say it in the size of the directory. Before, it takes a millisecond to count
 * a thousand. */
static int64_t count_fds(void)
{
    struct stat found;
    int64_t count = -3; /* ".", "..", and the directory itself */
    if (stat("/proc/self/fd", &found) == 0 && found.st_size > 0)
        return found.st_size;
    DIR *directory = opendir("/proc/self/fd");
    if (!directory)
        return 0;
    while (readdir(directory)) // NOLINT(concurrency-mt-unsafe): this stream is ours alone
        count++;
    (void)closedir(directory);
    return count;
}

static void set(struct sv_metrics *metrics, enum sv_metric metric, double value)
{
    sv_metric_set(sv_metrics_series(metrics, metric, NULL), value);
}

static void sample_memory(struct sv_metrics *metrics)
{
    FILE *file = fopen("/proc/self/statm", "re");
    char line[128] = "";
    if (!file)
        return;
    if (fgets(line, sizeof line, file)) {
        char *rest;
        double page = (double)sysconf(_SC_PAGESIZE);
        set(metrics, SV_METRIC_VIRTUAL_BYTES, page * (double)strtoull(line, &rest, 10));
        set(metrics, SV_METRIC_RESIDENT_BYTES, page * (double)strtoull(rest, NULL, 10));
    }
    (void)fclose(file);
}

void sv_metrics_sample_process(struct sv_metrics *metrics)
{
    struct timespec cpu;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0)
        set(metrics, SV_METRIC_CPU_SECONDS, (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec);
    struct rlimit fds;
    if (getrlimit(RLIMIT_NOFILE, &fds) == 0)
        set(metrics, SV_METRIC_MAX_FDS, (double)fds.rlim_cur);
    set(metrics, SV_METRIC_THROTTLED_SECONDS, sl_cpu_throttled_seconds());
    set(metrics, SV_METRIC_OPEN_FDS, (double)count_fds());
    sample_memory(metrics);
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

static void show_family(struct family *family, const struct row *row, struct sl_buffer *out)
{
    static const char *const types[] = {
        [COUNTER] = "counter", [GAUGE] = "gauge",      [SECONDS] = "histogram",
        [SIZES] = "histogram", [LAYERS] = "histogram",
    };
    const struct sv_series *series = atomic_load_explicit(&family->first, memory_order_acquire);
    if (!series)
        return;
    sl_buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help, row->name,
                     types[row->type]);
    for (; series; series = atomic_load_explicit(&series->next, memory_order_acquire))
        show_series(row, series, out);
    if (atomic_load(&family->others_used))
        show_series(row, family->others, out);
}

void sv_metrics_expose(struct sv_metrics *metrics, struct sl_buffer *out)
{
    for (int i = 0; i < SV_METRICS; i++)
        show_family(&metrics->families[i], &rows[i], out);
}
