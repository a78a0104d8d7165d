/* test_top.c - the daemon's metrics as `sluicectl top` shows them: rates, quantiles, terminals. */
#include "common/metrics_text.h"
#include "support/test.h"
#include "top/top_screen.h"
#include "top/top_snapshot.h"

#include <jansson.h>
#include <math.h>

#define OF "{model=\"m\",version=\"2\"} "

static const char before[] =
    "# TYPE sluice_compute_threads gauge\n"
    "sluice_compute_threads 4\n"
    "process_cpu_seconds_total 10\n"
    "sluice_requests_total{endpoint=\"/predict\",model=\"m\",version=\"2\",code=\"200\"} 100\n"
    "sluice_requests_total{endpoint=\"/predict\",model=\"m\",version=\"2\",code=\"500\"} 4\n"
    "sluice_batch_size_sum" OF "50\nsluice_batch_size_count" OF "10\n"
    "sluice_layer_ops_total" OF "100\nsluice_layer_ops_dense_total" OF "100\n"
    "sluice_request_duration_seconds_bucket{model=\"m\",version=\"2\",le=\"1\"} 7\n"
    "sluice_request_duration_seconds_bucket{model=\"m\",version=\"2\",le=\"2\"} 7\n"
    "sluice_request_duration_seconds_bucket{model=\"m\",version=\"2\",le=\"+Inf\"} 7\n";

static const char after[] =
    "sluice_compute_threads 4\n"
    "sluice_ready 1\n"
    "process_cpu_seconds_total 13\n"
    "process_resident_memory_bytes 1048576\n"
    "sluice_requests_total{endpoint=\"/predict\",model=\"m\",version=\"2\",code=\"200\"} 110\n"
    "sluice_requests_total{endpoint=\"/hf/{name}\",model=\"m\",version=\"2\",code=\"200\"} 8\n"
    "sluice_requests_total{endpoint=\"/predict\",model=\"m\",version=\"2\",code=\"500\"} 6\n"
    "sluice_sequences_running" OF "3\nsluice_model_ready" OF "1\n"
    "sluice_batch_size_sum" OF "90\nsluice_batch_size_count" OF "20\n"
    "sluice_layer_ops_total" OF "150\nsluice_layer_ops_dense_total" OF "300\n"
    "sluice_train_jobs{state=\"running\"} 1\nsluice_train_jobs{state=\"queued\"} 2\n"
    "sluice_request_duration_seconds_bucket{model=\"m\",version=\"2\",le=\"1\"} 8\n"
    "sluice_request_duration_seconds_bucket{model=\"m\",version=\"2\",le=\"2\"} 11\n"
    "sluice_request_duration_seconds_bucket{model=\"m\",version=\"2\",le=\"+Inf\"} 11\n";

static struct top_snapshot a, b;

static void read_both(void)
{
    cr_assert(top_snapshot_read(&a, before, 1000000000));
    cr_assert(top_snapshot_read(&b, after, 3000000000));
}

static void expect_near(double value, double wanted, const char *what)
{
    cr_expect(fabs(value - wanted) < 1e-9, "%s: %g, not %g", what, value, wanted);
}

Test(top, rates_are_what_happened_between_two_moments)
{
    struct top_rates rates;
    read_both();
    cr_assert_eq(b.model_count, 1);
    top_rates_compute(&rates, &a, &b, 0);
    expect_near(rates.requests, 10, "requests"); /* 20 of them in 2 s */
    expect_near(rates.failed, 1, "failed");
    expect_near(rates.batch_size, 4, "batch size");
    expect_near(rates.layer_ops_skipped, 0.75, "skipped");
    expect_near(rates.latency_p50, 1 + 1.0 / 3, "p50"); /* of four, one is below 1 s */
    cr_expect(isnan(rates.queue_p99), "nothing is known of the queue");
    expect_near(top_cpus(&a, &b), 1.5, "CPUs");
    expect_near(b.jobs_running, 1, "jobs that run");
    expect_near(b.jobs_waiting, 2, "jobs that wait");
    cr_expect(b.models[0].is_ready);
}

Test(top, counters_of_a_new_daemon_begin_at_zero)
{
    struct top_rates rates;
    cr_assert(top_snapshot_read(&a, after, 1000000000));
    cr_assert(top_snapshot_read(&b, before, 2000000000));
    top_rates_compute(&rates, &a, &b, 0);
    expect_near(rates.requests, 104, "requests");
    expect_near(rates.latency_p99, 0.99, "p99: all are new");
    expect_near(top_cpus(&a, &b), 10, "CPUs");
}

Test(top, a_text_without_the_daemons_metrics_is_none)
{
    cr_expect_not(top_snapshot_read(&a, "", 1));
    cr_expect_not(top_snapshot_read(&a, "<html>\nup 1\n", 1));
}

/* Many models with long names of several bytes per character. */
static void read_many(void)
{
    struct sl_buffer text = {0};
    sl_buffer_append_string(&text, "sluice_compute_threads 2\n");
    for (int i = 0; i < 300; i++)
        sl_buffer_printf(&text,
                         "sluice_sequences_running{model=\"\xC3\xA9t\xC3\xA9-with-a-long-name-%d\","
                         "version=\"%d\"} 123456789\n",
                         i, i % 7 + 1);
    cr_assert(top_snapshot_read(&a, text.data, 1));
    cr_assert(top_snapshot_read(&b, text.data, 1000000001));
    sl_buffer_release(&text);
}

static void expect_fits(const char *text, const struct top_size *size)
{
    int rows = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1, rows++)
        cr_assert_leq(strcspn(line, "\n"), (size_t)size->columns, "%d columns: %s", size->columns,
                      line);
    cr_assert_leq(rows, size->rows, "%d columns, %d rows", size->columns, size->rows);
}

Test(top, the_screen_fits_any_terminal)
{
    read_many();
    cr_assert_eq(a.model_count, TOP_MODELS_MAX);
    for (int columns = 1; columns < 200; columns++)
        for (int rows = 1; rows < 400; rows += rows < 9 ? 1 : 77) {
            struct sl_buffer out = {0};
            const struct top_size size = {.columns = columns, .rows = rows};
            top_screen_write(&out, &a, &b, &size);
            cr_assert_not(out.failed);
            expect_fits(out.data, &size);
            sl_buffer_release(&out);
        }
}

Test(top, json_has_null_for_what_is_not_known)
{
    struct sl_buffer out = {0};
    read_both();
    top_json_write(&out, &a, &b);
    cr_assert_eq(strcspn(out.data, "\n"), out.bytes - 1, "one line");
    json_t *object = json_loads(out.data, JSON_REJECT_DUPLICATES, NULL);
    const json_t *model = json_array_get(json_object_get(object, "models"), 0);
    cr_assert_str_eq(json_string_value(json_object_get(model, "model")), "m");
    expect_near(json_number_value(json_object_get(model, "requests_per_second")), 10, "requests");
    cr_assert(json_is_null(json_object_get(model, "queue_p99_seconds")));
    json_decref(object);
    sl_buffer_release(&out);
}

Test(top, samples_that_are_not_well_formed_are_none)
{
    static const char *const bad[] = {
        "",           "# x",        "a",           "a{",   "a{b} 1",      "a{b=} 1",
        "a{b=\"c} 1", "a{b=\"c\"1", "a{b=\"c\"} ", "{} 1", "a{b=\"c\"} x"};
    struct metric_sample sample;
    for (size_t i = 0; i < COUNT(bad); i++)
        cr_expect_not(metric_parse(&sample, bad[i]), "%s", bad[i]);
    cr_assert(metric_parse(&sample, "a{b=\"x\\\"\\n\\\\y\",c=\"\"} +Inf\n"));
    cr_assert_str_eq(metric_label(&sample, "b"), "x\"\n\\y");
    cr_assert_str_eq(metric_label(&sample, "c"), "");
    cr_assert_str_eq(metric_label(&sample, "d"), "");
    cr_assert(isinf(sample.value));
}
