/* experiment_results.c - keeps and prints what an experiment got. */
#include "cli/reproduce/experiment_results.h"

#include "formats/json_io.h"
#include "sluice/engine.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RESULTS_BYTES_MAX = 1 << 24 };

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static void put(json_t *object, const char *key, json_t *value)
{
    (void)json_object_set_new(object, key, value);
}

/* ---- the file -------------------------------------------------------------------------------- */

bool experiment_results_path(const struct experiment_run *run, const char *suffix,
                             char path[static SL_PATH_MAX], struct sl_err *err)
{
    int bytes = snprintf(path, SL_PATH_MAX, "%s/%s%s%s", run->output, run->experiment->id,
                         run->quick ? "-quick" : "", suffix);
    return bytes < SL_PATH_MAX || sl_fail(err, SL_BAD_INPUT, "the path of --output is too long");
}

static json_t *optional(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *figures_of(const struct experiment *e)
{
    json_t *list = json_array();
    for (const struct experiment_figure *f = e->figures; f < e->figures + e->figure_count; f++)
        (void)json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", f->name, "title",
                                                    f->title, "about", optional(f->about)));
    return list;
}

static json_t *create(const struct experiment_run *run)
{
    const struct experiment *e = run->experiment;
    json_t *o = json_object();
    put(o, "experiment", json_string(e->id));
    put(o, "title", json_string(e->title));
    put(o, "paper", json_string(e->paper));
    put(o, "url", optional(e->url));
    put(o, "about", optional(e->about));
    put(o, "figures", figures_of(e));
    put(o, "quick", json_boolean(run->quick));
    if (run->experiment->beside)
        put(o, "beside", json_string(run->experiment->beside));
    put(o, "version", json_string(sl_version()));
    put(o, "runs", json_array());
    put(o, "rows", json_array());
    return o;
}

static bool save(const struct experiment_run *run, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    char *text = sl_json_print(run->results, SL_JSON_SHORT, err);
    bool ok = text && experiment_results_path(run, ".json", path, err) &&
              sl_file_replace(path, &(struct sl_slice){text, strlen(text)}, 1, err);
    free(text);
    return ok;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* The index of the run of a row and seed; -1: none. */
static int find(const json_t *runs, const char *row, int seed)
{
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        if (strcmp(text_of(run, "row"), row) == 0 &&
            json_integer_value(json_object_get(run, "seed")) == seed)
            return (int)i;
    }
    return -1;
}

const json_t *experiment_results_find(const json_t *results, const char *row, int seed)
{
    const json_t *runs = json_object_get(results, "runs");
    const int at = find(runs, row, seed);
    return at >= 0 ? json_array_get(runs, (size_t)at) : NULL;
}

/* jansson's comparison takes no constants. */
static bool is_same(const json_t *a, const json_t *b)
{
    return json_equal((json_t *)(uintptr_t)a, (json_t *)(uintptr_t)b);
}

bool experiment_results_have(const struct experiment_run *run, const char *row, int seed,
                             const json_t *train, const json_t *eval)
{
    const json_t *one = experiment_results_find(run->results, row, seed);
    const json_t *evaluated = json_object_get(one, "eval");
    return one && is_same(json_object_get(one, "train"), train) &&
           (eval ? is_same(evaluated, eval) : json_is_null(evaluated));
}

/* The model of the CPU as Linux calls it; "" if it does not. */
static void read_cpu(char cpu[static 128])
{
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "re");
    cpu[0] = '\0';
    while (file && !cpu[0] && fgets(line, sizeof line, file)) {
        const char *colon = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (colon)
            (void)snprintf(cpu, 128, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    }
    if (file)
        (void)fclose(file);
}

static json_t *run_object(const struct experiment *e, const struct experiment_result *r)
{
    char cpu[128], date[16];
    struct tm day;
    time_t now = time(NULL);
    json_t *o = json_object(), *values = json_object();
    read_cpu(cpu);
    (void)strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &day));
    put(o, "row", json_string(r->row->name));
    put(o, "seed", json_integer(r->seed));
    put(o, "train", json_incref(r->train));
    put(o, "eval", r->eval ? json_incref(r->eval) : json_null());
    put(o, "cpu", sl_json_string(cpu));
    put(o, "isa", json_string(r->isa));
    put(o, "threads", json_integer(r->threads));
    put(o, "date", json_string(date));
    put(o, "wall_seconds", real(r->seconds));
    for (int m = 0; m < METRICS; m++)
        if (!isnan(e->tolerance[m]))
            put(values, metrics[m].name, real(r->values[m]));
    put(o, "values", values);
    put(o, "curve", json_incref(r->curve));
    return o;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Of the seeds of a row that have run. */
struct mean {
    double value, seconds; /* the mean of the metric, NAN: of none; the sum */
};

static struct mean mean_of(const struct experiment_run *run, const struct experiment_row *row,
                           int m)
{
    const struct experiment *e = run->experiment;
    struct mean mean = {0};
    int count = 0;
    for (int i = 0; i < e->seed_count; i++) {
        const json_t *one = experiment_results_find(run->results, row->name, e->seeds[i]);
        double value = sl_json_number(json_object_get(one, "values"), metrics[m].name);
        if (isnan(value))
            continue;
        mean.value += value;
        mean.seconds += sl_json_number(one, "wall_seconds");
        count++;
    }
    mean.value = count > 0 ? mean.value / count : (double)NAN;
    return mean;
}

/* Ours less the paper's, or the same of what lies between the row and the first; NAN: there is
 * nothing to compare with. */
static double difference_of(const struct experiment_run *run, const struct experiment_row *row,
                            int m)
{
    const struct experiment_row *first = run->experiment->rows;
    const double own = mean_of(run, row, m).value - row->paper[m];
    if (!run->experiment->beside)
        return own;
    return row == first ? (double)NAN : own - (mean_of(run, first, m).value - first->paper[m]);
}

/* NULL: none of its seeds has run. */
static json_t *row_object(const struct experiment_run *run, const struct experiment_row *row, int m)
{
    const struct experiment *e = run->experiment;
    const struct mean mean = mean_of(run, row, m);
    const double difference = difference_of(run, row, m);
    const bool is_compared = !run->quick && isfinite(difference);
    if (isnan(mean.value))
        return NULL;
    return json_pack("{s:s, s:s, s:o, s:f, s:o, s:f, s:o, s:o}", "row", row->name, "metric",
                     metrics[m].name, "paper", real(row->paper[m]), "ours", mean.value,
                     "difference", real(difference), "tolerance", e->tolerance[m], "within",
                     is_compared ? json_boolean(fabs(difference) <= e->tolerance[m]) : json_null(),
                     "wall_seconds", real(mean.seconds));
}

static void set_rows(struct experiment_run *run)
{
    const struct experiment *e = run->experiment;
    json_t *rows = json_array();
    for (int i = 0; i < e->row_count; i++)
        for (int m = 0; m < METRICS; m++) {
            json_t *row = isnan(e->tolerance[m]) ? NULL : row_object(run, &e->rows[i], m);
            if (row)
                (void)json_array_append_new(rows, row);
        }
    put(run->results, "rows", rows);
}

/* Only the runs of an earlier file count; what it says of the paper may have changed since. */
bool experiment_results_open(struct experiment_run *run, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    if (!experiment_results_path(run, ".json", path, err))
        return false;
    run->results = create(run);
    if (access(path, F_OK) != 0)
        return true;
    json_t *before = sl_json_open(path, RESULTS_BYTES_MAX, err);
    json_t *runs = json_object_get(before, "runs");
    bool ok =
        (before && (json_is_array(runs) || sl_fail(err, SL_CORRUPT, "the file has no results"))) ||
        sl_wrap_file(err, path, 0);
    if (ok)
        (void)json_object_set(run->results, "runs", runs);
    json_decref(before);
    set_rows(run);
    return ok;
}

bool experiment_results_add(struct experiment_run *run, const struct experiment_result *result,
                            struct sl_err *err)
{
    json_t *runs = json_object_get(run->results, "runs"),
           *object = run_object(run->experiment, result);
    int at = find(runs, result->row->name, result->seed);
    bool failed = at >= 0 ? json_array_set_new(runs, (size_t)at, object)
                          : json_array_append_new(runs, object);
    if (failed)
        return sl_fail(err, SL_NO_MEMORY, "no memory for results");
    set_rows(run);
    return save(run, err);
}

/* ---- printing -------------------------------------------------------------------------------- */

static const char *verdict(const json_t *row)
{
    const json_t *within = json_object_get(row, "within");
    return json_is_true(within) ? "yes" : json_is_false(within) ? "no" : "";
}

/* Of results whose rows are compared with the first one, or "". */
static const char *comparison(const json_t *results)
{
    return json_object_get(results, "beside")
               ? "Differences are of what lies between a row and the first, ours less the paper's."
               : "";
}

static const char *duration(double seconds, char text[static 32])
{
    if (isnan(seconds))
        text[0] = '\0';
    else if (seconds < 120.0)
        (void)snprintf(text, 32, "%.0f s", seconds);
    else
        (void)snprintf(text, 32, "%.0f min", seconds / 60.0);
    return text;
}

enum { VALUE_TEXT = 32 };

/* What the paper got and how far ours is from it; empty where it got nothing. */
struct paper_text {
    char value[VALUE_TEXT], difference[VALUE_TEXT];
};

static struct paper_text paper_text(const json_t *row)
{
    struct paper_text text = {0};
    if (isnan(sl_json_number(row, "paper")))
        return text;
    (void)snprintf(text.value, sizeof text.value, "%.4f", sl_json_number(row, "paper"));
    const double difference = sl_json_number(row, "difference");
    if (!isnan(difference))
        (void)snprintf(text.difference, sizeof text.difference, "%+.4f", difference);
    return text;
}

void experiment_results_print(const json_t *results)
{
    const json_t *rows = json_object_get(results, "rows");
    char time[32];
    int width = 3;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        int bytes = (int)strlen(text_of(json_array_get(rows, i), "row"));
        width = bytes > width ? bytes : width;
    }
    (void)printf("\n%s: %s\n%s\n\n", text_of(results, "experiment"), text_of(results, "title"),
                 text_of(results, "paper"));
    (void)printf("%-*s  %-16s  %8s  %8s  %10s  %-9s  %s\n", width, "row", "metric", "paper", "ours",
                 "difference", "tolerance", "within  wall time");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const struct paper_text paper = paper_text(row);
        (void)printf("%-*s  %-16s  %8s  %8.4f  %10s  %-9.4g  %-6s  %s\n", width,
                     text_of(row, "row"), text_of(row, "metric"), paper.value,
                     sl_json_number(row, "ours"), paper.difference,
                     sl_json_number(row, "tolerance"), verdict(row),
                     duration(sl_json_number(row, "wall_seconds"), time));
    }
    if (comparison(results)[0])
        (void)printf("\n%s\n", comparison(results));
    if (json_is_true(json_object_get(results, "quick")))
        (void)printf("\nA quick run shows the direction only: it is not compared.\n");
}

void experiment_results_print_json(const json_t *results)
{
    const json_t *rows = json_object_get(results, "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *line = json_pack("{s:s, s:O}", "event", "result", "experiment",
                                 json_object_get(results, "experiment"));
        (void)json_object_update(line, json_array_get(rows, i));
        (void)json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(SL_JSON_SHORT));
        (void)printf("\n");
        json_decref(line);
    }
}

static void print_runs(const json_t *runs)
{
    char time[32];
    (void)printf("\n| row | seed | machine | date | wall time |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        long long threads = json_integer_value(json_object_get(run, "threads"));
        (void)printf("| %s | %lld | %s, %s, %lld thread%s | %s | %s |\n", text_of(run, "row"),
                     (long long)json_integer_value(json_object_get(run, "seed")),
                     text_of(run, "cpu"), text_of(run, "isa"), threads, threads == 1 ? "" : "s",
                     text_of(run, "date"), duration(sl_json_number(run, "wall_seconds"), time));
    }
}

/* The command that made the results: PAPER/NAME are two words of it. */
static void print_heading(const json_t *results)
{
    const char *id = text_of(results, "experiment");
    int paper = (int)strcspn(id, "/");
    bool is_quick = json_is_true(json_object_get(results, "quick"));
    (void)printf("## %s\n\n%s%s:\n\n    sluice reproduce %.*s %s%s\n\n", text_of(results, "title"),
                 text_of(results, "paper"), is_quick ? ", a quick run" : "", paper, id,
                 id[paper] ? id + paper + 1 : "", is_quick ? " --quick" : "");
    if (text_of(results, "about")[0])
        (void)printf("%s\n\n", text_of(results, "about"));
    if (comparison(results)[0])
        (void)printf("%s\n\n", comparison(results));
}

/* The figures beside a file of results, which ends in .json. */
static void print_figures(const json_t *results, const char *path)
{
    const json_t *figures = json_object_get(results, "figures");
    const char *dot = strrchr(path, '.');
    const int stem = (int)(dot ? dot - path : (ptrdiff_t)strlen(path));
    for (size_t i = 0; i < json_array_size(figures); i++) {
        const json_t *f = json_array_get(figures, i);
        char file[SL_PATH_MAX];
        int bytes = snprintf(file, sizeof file, "%.*s-%s.svg", stem, path, text_of(f, "name"));
        if (bytes >= SL_PATH_MAX || access(file, R_OK) != 0)
            continue;
        (void)printf("\n![%s](%s)\n", text_of(f, "title"), file);
        if (text_of(f, "about")[0])
            (void)printf("\nThe paper's %s.\n", text_of(f, "about"));
    }
}

bool experiment_results_print_page(const char *path, struct sl_err *err)
{
    json_t *results = sl_json_open(path, RESULTS_BYTES_MAX, err);
    if (!results)
        return false;
    const json_t *rows = json_object_get(results, "rows");
    char time[32];
    print_heading(results);
    (void)printf("| row | metric | paper | ours | difference | tolerance | within | wall time |\n"
                 "|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const struct paper_text paper = paper_text(row);
        (void)printf("| %s | %s | %s | %.4f | %s | %.4g | %s | %s |\n", text_of(row, "row"),
                     text_of(row, "metric"), paper.value, sl_json_number(row, "ours"),
                     paper.difference, sl_json_number(row, "tolerance"), verdict(row),
                     duration(sl_json_number(row, "wall_seconds"), time));
    }
    print_runs(json_object_get(results, "runs"));
    print_figures(results, path);
    json_decref(results);
    return true;
}
