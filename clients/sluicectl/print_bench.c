/* print_bench.c - the results of a load test, as text and as JSON. */
#include "base/json_writer.h"
#include "sluicectl/print.h"

#include <math.h>
#include <stdio.h>

static const double ns_per_ms = 1e6;

static const struct {
    const char *name, *text;
    double quantile;
} quantiles[] = {{"p50", "median", 0.5}, {"p90", "p90", 0.9}, {"p99", "p99", 0.99}};

enum { QUANTILES = sizeof quantiles / sizeof quantiles[0] };

static void add_percentiles(struct sl_json_writer *json, const char *key, const struct histogram *h,
                            double unit)
{
    sl_json_begin_object(sl_json_key(json, key));
    for (int i = 0; i < QUANTILES; i++)
        sl_json_add(json, "%s:%f", quantiles[i].name,
                    h->count ? histogram_quantile(h, quantiles[i].quantile) / unit : (double)NAN);
    sl_json_end_object(json);
}

static double per_second(int64_t count, const struct bench_result *result)
{
    return result->seconds > 0 ? (double)count / result->seconds : 0;
}

static double per_chunk(const struct bench_result *result)
{
    return result->chunks > 0 ? (double)result->tokens / (double)result->chunks : 0;
}

static double client_load(const struct bench_result *result)
{
    return result->seconds > 0 ? result->client_seconds / result->seconds : 0;
}

/* What both kinds of requests have. */
static void add_requests(struct sl_json_writer *json, const struct bench_plan *plan,
                         const struct bench_result *r)
{
    sl_json_add(json,
                "'connections':%d,'requests':%lld,'failed':%lld,'rejected':%lld,'seconds':%f,"
                "'requests_per_second':%f,'layer_ops_skipped':%f,'client_cpus':%f",
                plan->connections, (long long)r->done, (long long)r->failed, (long long)r->rejected,
                r->seconds, per_second(r->done, r), r->layer_ops_skipped, client_load(r));
    add_percentiles(json, "latency_ms", &r->latency, ns_per_ms);
}

static void add_open_loop(struct sl_json_writer *json, const struct bench_plan *plan,
                          const struct bench_result *r)
{
    const struct bench_open_loop *open = &r->open;
    if (!(plan->rate > 0))
        return;
    sl_json_add(json,
                "'rate':%f,'arrivals':%s,'due':%lld,'dropped':%lld,'ended_per_second':%f,"
                "'keeps_up':%i",
                plan->rate, plan->poisson ? "poisson" : "even", (long long)open->due,
                (long long)open->dropped, open->ended_per_second, load_point_of(plan, r).keeps_up);
    add_percentiles(json, "start_delay_ms", &open->start_delay, ns_per_ms);
}

static void add_completions(struct sl_json_writer *json, const struct bench_plan *plan,
                            const struct bench_result *r)
{
    sl_json_add(json,
                "'stream':%i,'tokens':%lld,'prompt_tokens':%lld,'tokens_per_second':%f,"
                "'tokens_per_chunk':%f",
                plan->stream, (long long)r->tokens, (long long)r->prompt_tokens,
                per_second(r->tokens, r), per_chunk(r));
    add_percentiles(json, "stream_tokens_per_second", &r->rate, 1000);
    add_percentiles(json, "first_token_ms", &r->first_chunk, ns_per_ms);
    add_percentiles(json, "inter_token_ms", &r->inter_token, ns_per_ms);
    add_percentiles(json, "inter_chunk_ms", &r->inter_chunk, ns_per_ms);
}

static void add_texts(struct sl_json_writer *json, const struct bench_plan *plan,
                      const struct bench_result *r)
{
    const int64_t texts = r->done * plan->texts;
    sl_json_add(json,
                "'texts_per_request':%d,'texts':%lld,'tokens':%lld,'texts_per_second':%f,"
                "'tokens_per_second':%f",
                plan->texts, (long long)texts, (long long)r->prompt_tokens, per_second(texts, r),
                per_second(r->prompt_tokens, r));
}

static void print_object(const struct bench_plan *plan, const struct bench_result *r,
                         const char *model)
{
    static const char *const tasks[] = {[BENCH_COMPLETIONS] = "completions",
                                        [BENCH_CLASSIFICATION] = "classification",
                                        [BENCH_EMBEDDINGS] = "embeddings"};
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text};
    sl_json_add(&json, "{'bench':%s,'model':%s", tasks[plan->task], model);
    add_requests(&json, plan, r);
    (plan->texts > 0 ? add_texts : add_completions)(&json, plan, r);
    add_open_loop(&json, plan, r);
    sl_json_end_object(&json);
    (void)puts(text.failed ? "null" : text.data);
    (void)fflush(stdout);
    sl_buffer_release(&text);
}

static void print_line(const char *what, const struct histogram *h, double unit)
{
    if (h->count == 0)
        return;
    (void)printf("%-24s", what);
    for (int i = 0; i < QUANTILES; i++)
        (void)printf("  %s %9.3f", quantiles[i].text,
                     histogram_quantile(h, quantiles[i].quantile) / unit);
    (void)putchar('\n');
}

static void print_totals(const struct bench_result *r, int64_t units, const char *unit)
{
    (void)printf("%lld requests with %lld %s in %.2f s; %lld failed, %lld of them rejected\n",
                 (long long)r->done, (long long)units, unit, r->seconds, (long long)r->failed,
                 (long long)r->rejected);
    (void)printf("%.1f %% of layer operations skipped; this client used %.2f CPUs\n\n",
                 100 * r->layer_ops_skipped, client_load(r));
}

static void print_lines(const struct bench_plan *plan, const struct bench_result *r,
                        const char *model)
{
    (void)printf("%s, %d %s: %.0f tokens/s, %.1f requests/s\n", model, plan->connections,
                 plan->stream ? "streams" : "connections", per_second(r->tokens, r),
                 per_second(r->done, r));
    print_totals(r, r->tokens, "tokens");
    print_line("tokens/s per stream", &r->rate, 1000);
    print_line("time to first token, ms", &r->first_chunk, ns_per_ms);
    print_line("between tokens, ms", &r->inter_token, ns_per_ms);
    print_line("between chunks, ms", &r->inter_chunk, ns_per_ms);
    print_line("latency, ms", &r->latency, ns_per_ms);
    if (plan->stream)
        (void)printf("%.2f tokens per chunk\n", per_chunk(r));
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void print_text_lines(const struct bench_plan *plan, const struct bench_result *r,
                             const char *model)
{
    int64_t texts = r->done * plan->texts;
    (void)printf("%s, %d connections: %.0f texts/s, %.0f tokens/s\n", model, plan->connections,
                 per_second(texts, r), per_second(r->prompt_tokens, r));
    print_totals(r, texts, "texts");
    print_line("latency, ms", &r->latency, ns_per_ms);
}

void print_bench(const struct bench_plan *plan, const struct bench_result *result,
                 const char *model, bool json)
{
    if (json)
        print_object(plan, result, model);
    else
        (plan->texts > 0 ? print_text_lines : print_lines)(plan, result, model);
}

/* ---- an open loop ---------------------------------------------------------------------------- */

void print_load_head(const struct bench_plan *plan, const char *model)
{
    (void)printf("%s, %g s per rate, at most %d requests at a time\n\n", model, plan->seconds,
                 plan->connections);
    (void)printf("%10s %10s %10s %8s %8s %8s %9s %9s %9s %7s\n", "requests/s", "ended/s",
                 plan->texts > 0 ? "texts/s" : "tokens/s", "dropped", "rejected", "failed",
                 "median ms", "p90 ms", "p99 ms", "client");
}

void print_load_row(const struct bench_plan *plan, const struct bench_result *r)
{
    struct load_point point = load_point_of(plan, r);
    double units = plan->texts > 0 ? (double)plan->texts
                   : r->done > 0   ? (double)r->tokens / (double)r->done
                                   : 0;
    (void)printf("%10g %10.1f %10.0f %8lld %8lld %8lld", plan->rate, point.ended,
                 point.ended * units, (long long)r->open.dropped, (long long)r->rejected,
                 (long long)(r->failed - r->rejected));
    for (int q = 0; q < LOAD_QUANTILES; q++)
        if (r->done > 0)
            (void)printf(" %9.2f", point.latency_ms[q]);
        else
            (void)printf(" %9s", "-");
    (void)printf(" %7.2f\n", client_load(r));
    (void)fflush(stdout);
}

static void print_saturation(const struct load_curve *curve)
{
    int first = load_curve_saturation(curve);
    if (first < 0)
        (void)printf("The daemon keeps up with all of these rates.\n");
    else if (first == 0)
        (void)printf("The daemon does not keep up with %g requests/s.\n", curve->points[0].rate);
    else
        (void)printf("The daemon keeps up with %g requests/s, and not with %g.\n",
                     curve->points[first - 1].rate, curve->points[first].rate);
}

bool print_load_curve(const struct load_curve *curve, struct client_error *failure)
{
    struct sl_buffer text = {0};
    load_curve_print(curve, &text);
    bool good = !text.failed || client_error_no_memory(failure);
    (void)printf("\n%s%s", good && text.bytes > 0 ? text.data : "", text.bytes > 0 ? "\n" : "");
    print_saturation(curve);
    sl_buffer_release(&text);
    return good;
}
