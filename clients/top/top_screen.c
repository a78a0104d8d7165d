/* top_screen.c - two snapshots as lines for a terminal, or as a line of JSON. */
#include "top/top_screen.h"
#include "base/json_writer.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LINE_BYTES = 512, HEAD_ROWS = 3, NAME_COLUMNS = 24 };

/* The columns from left to right: what is wanted most comes first. */
static const struct column {
    const char *heading, *key; /* of the table, and in JSON */
    size_t offset;             /* in struct top_rates */
    double unit;               /* the table's; JSON has seconds and fractions */
    int width, digits;
} columns[] = {
    {"REQ/S", "requests_per_second", offsetof(struct top_rates, requests), 1, 8, 1},
    {"P50 ms", "latency_p50_seconds", offsetof(struct top_rates, latency_p50), 1e-3, 8, 1},
    {"P99 ms", "latency_p99_seconds", offsetof(struct top_rates, latency_p99), 1e-3, 8, 1},
    {"GEN/S", "generated_tokens_per_second", offsetof(struct top_rates, generated_tokens), 1, 8, 0},
    {"TEXTS/S", "texts_per_second", offsetof(struct top_rates, texts), 1, 8, 0},
    {"BATCH", "batch_size", offsetof(struct top_rates, batch_size), 1, 7, 1},
    {"SKIP %", "layer_ops_skipped", offsetof(struct top_rates, layer_ops_skipped), 1e-2, 7, 1},
    {"QUEUE99", "queue_p99_seconds", offsetof(struct top_rates, queue_p99), 1e-3, 9, 1},
    {"QUEUE50", "queue_p50_seconds", offsetof(struct top_rates, queue_p50), 1e-3, 9, 1},
    {"REJ/S", "rejected_per_second", offsetof(struct top_rates, rejected), 1, 7, 1},
    {"FAIL/S", "failed_per_second", offsetof(struct top_rates, failed), 1, 7, 1},
    {"READ/S", "prompt_tokens_per_second", offsetof(struct top_rates, prompt_tokens), 1, 9, 0},
};

enum { COLUMNS = sizeof columns / sizeof columns[0], GAUGE_WIDTH = 6 };

static double value_of(const struct top_rates *rates, const struct column *column)
{
    double value;
    memcpy(&value, (const char *)rates + column->offset, sizeof value);
    return value;
}

/* ---- the terminal ---------------------------------------------------------------------------- */

/* As much of the line as fits, whole characters only. */
static void add_line(struct sl_buffer *out, const char *line, int width)
{
    size_t bytes = strlen(line) < (size_t)width ? strlen(line) : (size_t)width;
    while (bytes > 0 && line[bytes] && ((unsigned char)line[bytes] & 0xC0) == 0x80)
        bytes--;
    sl_buffer_append(out, line, bytes);
    sl_buffer_append_string(out, "\n");
}

static void add_cell(char line[static LINE_BYTES], int width, const char *text)
{
    size_t used = strlen(line);
    (void)snprintf(line + used, LINE_BYTES - used, "%*s", width, text);
}

static void add_number(char line[static LINE_BYTES], int width, int digits, double value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.*f", digits, value);
    add_cell(line, width, isnan(value) ? "-" : text);
}

/* How many columns fit beside the model's name and the two gauges. */
static int columns_that_fit(int name, int width)
{
    int used = name + 2 * GAUGE_WIDTH, count = 0;
    while (count < COLUMNS && (used += columns[count].width) <= width)
        count++;
    return count;
}

static void add_headings(struct sl_buffer *out, int name, int shown, int width)
{
    char line[LINE_BYTES] = "";
    (void)snprintf(line, sizeof line, "%-*s", name, "MODEL");
    add_cell(line, GAUGE_WIDTH, "RUN");
    add_cell(line, GAUGE_WIDTH, "WAIT");
    for (int i = 0; i < shown; i++)
        add_cell(line, columns[i].width, columns[i].heading);
    add_line(out, line, width);
}

static void add_model(struct sl_buffer *out, const struct top_rates *rates, int name, int shown,
                      int width)
{
    char line[LINE_BYTES] = "", id[TOP_NAME_BYTES + TOP_VERSION_BYTES + 2];
    const struct top_model *model = rates->model;
    (void)snprintf(id, sizeof id, "%s@%s%s", model->name, model->version,
                   model->is_ready ? "" : "-"); /* not given to requests */
    (void)snprintf(line, sizeof line, "%-*.*s", name, name, id);
    add_number(line, GAUGE_WIDTH, 0, model->running);
    add_number(line, GAUGE_WIDTH, 0, model->waiting);
    for (int i = 0; i < shown; i++)
        add_number(line, columns[i].width, columns[i].digits,
                   value_of(rates, &columns[i]) / columns[i].unit);
    add_line(out, line, width);
}

static void add_head(struct sl_buffer *out, const struct top_snapshot *earlier,
                     const struct top_snapshot *later, const struct top_size *size)
{
    char line[LINE_BYTES];
    (void)snprintf(line, sizeof line,
                   "%s, %.2f of %.0f CPUs, %.0f MiB, %.0f connections, %.0f requests, jobs: %.0f "
                   "running, %.0f waiting",
                   later->ready > 0 ? "ready" : "NOT READY", top_cpus(earlier, later),
                   later->threads, later->memory_bytes / (1024 * 1024), later->connections,
                   later->requests_in_flight, later->jobs_running, later->jobs_waiting);
    add_line(out, line, size->columns);
    if (size->rows > HEAD_ROWS)
        sl_buffer_append_string(out, "\n");
}

void top_screen_write(struct sl_buffer *out, const struct top_snapshot *earlier,
                      const struct top_snapshot *later, const struct top_size *size)
{
    char line[LINE_BYTES];
    int name = size->columns < 2 * NAME_COLUMNS ? size->columns / 3 : NAME_COLUMNS;
    int shown = columns_that_fit(name, size->columns), left = size->rows - HEAD_ROWS;
    add_head(out, earlier, later, size);
    if (left <= 0)
        return;
    add_headings(out, name, shown, size->columns);
    bool fits = later->model_count <= left;
    int count = fits ? later->model_count : left - 1;
    for (int i = 0; i < count; i++) {
        struct top_rates rates;
        top_rates_compute(&rates, earlier, later, i);
        add_model(out, &rates, name, shown, size->columns);
    }
    (void)snprintf(line, sizeof line, "and %d more", later->model_count - count);
    if (!fits)
        add_line(out, line, size->columns);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_json_model(struct sl_json_writer *json, const struct top_rates *rates)
{
    const struct top_model *model = rates->model;
    sl_json_add(json, "{'model':%s,'version':%s,'ready':%i,'running':%.6g,'waiting':%.6g",
                model->name, model->version, model->is_ready, model->running, model->waiting);
    for (int i = 0; i < COLUMNS; i++)
        sl_json_add(json, "%s:%.6g", columns[i].key, value_of(rates, &columns[i]));
    sl_json_end_object(json);
}

void top_json_write(struct sl_buffer *out, const struct top_snapshot *earlier,
                    const struct top_snapshot *later)
{
    struct sl_json_writer json = {.out = out};
    sl_json_add(&json,
                "{'time':%lld,'seconds':%.6g,'ready':%i,'cpus':%.6g,'compute_threads':%.6g,"
                "'memory_bytes':%.6g,'connections':%.6g,'requests_in_flight':%.6g,"
                "'jobs_running':%.6g,'jobs_waiting':%.6g,'models':[",
                (long long)time(NULL), top_seconds(earlier, later), later->ready > 0,
                top_cpus(earlier, later), later->threads, later->memory_bytes, later->connections,
                later->requests_in_flight, later->jobs_running, later->jobs_waiting);
    for (int i = 0; i < later->model_count; i++) {
        struct top_rates rates;
        top_rates_compute(&rates, earlier, later, i);
        add_json_model(&json, &rates);
    }
    sl_json_add(&json, "]}");
    sl_buffer_append_string(out, "\n");
}
