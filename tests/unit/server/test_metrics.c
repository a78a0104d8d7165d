/* test_metrics.c - metrics: counting from many threads, and an exposition that Prometheus
 * accepts. */
#include "base/buffer.h"
#include "core/limits.h"
#include "core/metrics.h"
#include "support/test.h"

#include <math.h>
#include <pthread.h>

static struct sv_metrics *make(void)
{
    struct sl_err err;
    struct sv_metrics *metrics;
    EXPECT_OK((metrics = sv_metrics_create(&err)), err);
    return metrics;
}

static struct sv_series *waiting(struct sv_metrics *metrics, const char *model)
{
    return sv_metrics_series(metrics, SV_METRIC_SEQUENCES_WAITING,
                             (const char *const[]){model, "1"});
}

Test(metrics, same_labels_are_the_same_series)
{
    struct sv_metrics *metrics = make();
    cr_assert_eq(waiting(metrics, "a"), waiting(metrics, "a"));
    cr_assert_neq(waiting(metrics, "a"), waiting(metrics, "b"));
    sv_metrics_destroy(metrics);
}

Test(metrics, exposition)
{
    struct sv_metrics *metrics = make();
    struct sl_buffer out = {0};
    sv_metric_set(waiting(metrics, "odd\\\"\nname"), 3);
    struct sv_series *size =
        sv_metrics_series(metrics, SV_METRIC_BATCH_SIZE, (const char *const[]){"m", "2"});
    sv_metric_observe(size, 1);
    sv_metric_observe(size, 3);
    sv_metric_observe(size, 1e9);
    sv_metrics_sample_process(metrics);
    sv_metrics_expose(metrics, &out);
    static const char *const wanted[] = {
        "# TYPE sluice_sequences_waiting gauge\n",
        "sluice_sequences_waiting{model=\"odd\\\\\\\"\\nname\",version=\"1\"} 3\n",
        "# TYPE sluice_batch_size histogram\n",
        "sluice_batch_size_bucket{model=\"m\",version=\"2\",le=\"1\"} 1\n",
        "sluice_batch_size_bucket{model=\"m\",version=\"2\",le=\"4\"} 2\n",
        "sluice_batch_size_bucket{model=\"m\",version=\"2\",le=\"4096\"} 2\n",
        "sluice_batch_size_bucket{model=\"m\",version=\"2\",le=\"+Inf\"} 3\n",
        "sluice_batch_size_sum{model=\"m\",version=\"2\"} 1000000004\n",
        "sluice_batch_size_count{model=\"m\",version=\"2\"} 3\n",
        "# TYPE process_open_fds gauge\nprocess_open_fds ",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        cr_assert(strstr(out.data, wanted[i]), "no %s in\n%s", wanted[i], out.data);
    cr_assert_not(strstr(out.data, "sluice_time_to_first_token"), "it was not counted");
    sl_buffer_release(&out);
    sv_metrics_destroy(metrics);
}

Test(metrics, a_version_that_is_dropped_is_gone)
{
    struct sv_metrics *metrics = make();
    struct sl_buffer out = {0};
    const char *const old[] = {"/predict", "m", "1", "200", "ok"};
    const char *const current[] = {"/predict", "m", "2", "200", "ok"};
    sv_metrics_count(metrics, SV_METRIC_REQUESTS, old);
    sv_metrics_count(metrics, SV_METRIC_REQUESTS, current);
    sv_metrics_count(metrics, SV_METRIC_REQUESTS, current);
    sv_metric_set(waiting(metrics, "m"), 1);
    sv_metric_set(waiting(metrics, "other"), 1);
    sv_metrics_drop_version(metrics, "m", "1");
    sv_metrics_expose(metrics, &out);
    cr_assert_not(strstr(out.data, "model=\"m\",version=\"1\""), "%s", out.data);
    cr_assert(strstr(out.data, "model=\"m\",version=\"2\",code=\"200\",reason=\"ok\"} 2\n"), "%s",
              out.data);
    cr_assert(strstr(out.data, "model=\"other\",version=\"1\"} 1\n"), "%s", out.data);
    cr_assert_eq(sv_metric_value(waiting(metrics, "m")), 0, "it begins anew");
    sl_buffer_release(&out);
    sv_metrics_destroy(metrics);
}

/* Every line of an exposition is a comment or name{labels} number, and no series comes twice. */
Test(metrics, every_line_has_the_right_form)
{
    struct sv_metrics *metrics = make();
    struct sl_buffer out = {0};
    for (int i = 0; i < SV_METRICS; i++)
        (void)sv_metrics_series(metrics, (enum sv_metric)i,
                                (const char *const[]){"a", "b", "c", "d", "e"});
    sv_metrics_expose(metrics, &out);
    char *rest = out.data;
    for (char *line; (line = strsep(&rest, "\n")) && rest;) {
        if (strncmp(line, "# HELP ", 7) == 0 || strncmp(line, "# TYPE ", 7) == 0)
            continue;
        size_t name = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789_");
        const char *value = strrchr(line, ' ');
        cr_assert(name > 0 && (line[name] == '{' || line[name] == ' '), "%s", line);
        cr_assert(value && isfinite(strtod(value + 1, NULL)), "%s", line);
        cr_assert(line[name] == ' ' || value[-1] == '}', "%s", line);
    }
    sl_buffer_release(&out);
    sv_metrics_destroy(metrics);
}

Test(metrics, series_are_bounded)
{
    struct sv_metrics *metrics = make();
    char model[16];
    for (int i = 0; i < SV_SERIES_MAX; i++) {
        (void)snprintf(model, sizeof model, "m%d", i);
        (void)waiting(metrics, model);
    }
    struct sv_series *others = waiting(metrics, "one too many");
    cr_assert_eq(others, waiting(metrics, "and another"));
    sv_metric_set(others, 42);
    struct sl_buffer out = {0};
    sv_metrics_expose(metrics, &out);
    cr_assert(strstr(out.data, "sluice_sequences_waiting{others=\"all\"} 42\n"));
    sl_buffer_release(&out);
    sv_metrics_destroy(metrics);
}

enum { THREADS = 4, TIMES = 20000, COUNTED = THREADS * TIMES };

static void *count(void *argument)
{
    struct sv_metrics *metrics = argument;
    for (int i = 0; i < TIMES; i++) {
        char model[16];
        (void)snprintf(model, sizeof model, "m%d", i % 8);
        sv_metric_add(sv_metrics_series(metrics, SV_METRIC_GENERATED_TOKENS,
                                        (const char *const[]){model, "1"}),
                      1);
        sv_metric_observe(
            sv_metrics_series(metrics, SV_METRIC_BATCH_SIZE, (const char *const[]){model, "1"}),
            i % 8);
    }
    return NULL;
}

Test(metrics, nothing_is_lost_between_threads)
{
    struct sv_metrics *metrics = make();
    pthread_t threads[THREADS];
    double tokens = 0;
    uint64_t seen = 0;
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, count, metrics), 0);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 8; i++) {
        char model[16];
        (void)snprintf(model, sizeof model, "m%d", i);
        const char *labels[] = {model, "1"};
        tokens += sv_metric_value(sv_metrics_series(metrics, SV_METRIC_GENERATED_TOKENS, labels));
        seen += sv_metric_count(sv_metrics_series(metrics, SV_METRIC_BATCH_SIZE, labels));
    }
    cr_assert_eq(tokens, COUNTED);
    cr_assert_eq(seen, COUNTED);
    sv_metrics_destroy(metrics);
}

Test(metrics, a_dropped_series_is_gone_until_it_is_used_again)
{
    struct sl_err err;
    struct sl_buffer text = {0};
    struct sv_metrics *metrics = sv_metrics_create(&err);
    const char *const jobs[] = {"ftjob-1", "ftjob-2", "ftjob-3"};
    for (int i = 0; i < 3; i++)
        sv_metric_set(sv_metrics_series(metrics, SV_METRIC_TRAIN_STEP, &jobs[i]), i + 1);
    sv_metrics_drop(metrics, SV_METRIC_TRAIN_STEP, &jobs[2]);
    sv_metrics_drop(metrics, SV_METRIC_TRAIN_STEP, &jobs[0]);
    sv_metrics_drop(metrics, SV_METRIC_TRAIN_STEP, &jobs[0]);
    sv_metric_set(sv_metrics_series(metrics, SV_METRIC_TRAIN_STEP, &jobs[2]), 7);
    sv_metrics_expose(metrics, &text);
    cr_assert_not(strstr(text.data, "ftjob-1"));
    cr_assert(strstr(text.data, "sluice_train_step{job=\"ftjob-2\"} 2\n"));
    cr_assert(strstr(text.data, "sluice_train_step{job=\"ftjob-3\"} 7\n"));
    sl_buffer_release(&text);
    sv_metrics_destroy(metrics);
}
