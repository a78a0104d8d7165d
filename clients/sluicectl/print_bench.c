/* print_bench.c - the results of a load test, as text and as JSON. */
#include "sluicectl/print.h"

#include <jansson.h>
#include <stdio.h>

static const double ns_per_ms = 1e6;

static const struct {
    const char *name, *text;
    double quantile;
} quantiles[] = {{"p50", "median", 0.5}, {"p90", "p90", 0.9}, {"p99", "p99", 0.99}};

enum { QUANTILES = sizeof quantiles / sizeof quantiles[0] };

static json_t *percentiles(const struct histogram *h, double unit)
{
    json_t *object = json_object();
    for (int i = 0; i < QUANTILES; i++)
        (void)json_object_set_new(
            object, quantiles[i].name,
            h->count ? json_real(histogram_quantile(h, quantiles[i].quantile) / unit)
                     : json_null());
    return object;
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

/* Prints the object, with the members of an open loop if it was one, and frees both. */
static void print_members(const struct bench_plan *plan, const struct bench_result *r,
                          json_t *object, json_t *rest)
{
    const struct bench_open_loop *open = &r->open;
    (void)json_object_update(object, rest);
    if (plan->rate > 0) {
        struct load_point point = load_point_of(plan, r);
        json_t *more = json_pack(
            "{s:f, s:s, s:I, s:I, s:f, s:b, s:o}", "rate", plan->rate, "arrivals",
            plan->poisson ? "poisson" : "even", "due", (json_int_t)open->due, "dropped",
            (json_int_t)open->dropped, "ended_per_second", open->ended_per_second, "keeps_up",
            point.keeps_up, "start_delay_ms", percentiles(&open->start_delay, ns_per_ms));
        (void)json_object_update(object, more);
        json_decref(more);
    }
    (void)json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
    (void)putchar('\n');
    (void)fflush(stdout);
    json_decref(rest);
    json_decref(object);
}

static void print_object(const struct bench_plan *plan, const struct bench_result *r,
                         const char *model)
{
    json_t *object =
        json_pack("{s:s, s:s, s:b, s:i, s:I, s:I, s:I, s:I, s:I, s:f}", "bench", "completions",
                  "model", model, "stream", plan->stream, "connections", plan->connections,
                  "requests", (json_int_t)r->done, "failed", (json_int_t)r->failed, "rejected",
                  (json_int_t)r->rejected, "tokens", (json_int_t)r->tokens, "prompt_tokens",
                  (json_int_t)r->prompt_tokens, "seconds", r->seconds);
    json_t *rest = json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o}", "tokens_per_second",
        per_second(r->tokens, r), "requests_per_second", per_second(r->done, r),
        "layer_ops_skipped", r->layer_ops_skipped, "tokens_per_chunk", per_chunk(r), "client_cpus",
        client_load(r), "stream_tokens_per_second", percentiles(&r->rate, 1000), "first_token_ms",
        percentiles(&r->first_chunk, ns_per_ms), "inter_token_ms",
        percentiles(&r->inter_token, ns_per_ms), "inter_chunk_ms",
        percentiles(&r->inter_chunk, ns_per_ms), "latency_ms", percentiles(&r->latency, ns_per_ms));
    print_members(plan, r, object, rest);
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

static void print_lines(const struct bench_plan *plan, const struct bench_result *r,
                        const char *model)
{
    (void)printf("%s, %d %s: %.0f tokens/s, %.1f requests/s\n", model, plan->connections,
                 plan->stream ? "streams" : "connections", per_second(r->tokens, r),
                 per_second(r->done, r));
    (void)printf("%lld requests with %lld tokens in %.2f s; %lld failed, %lld of them rejected\n",
                 (long long)r->done, (long long)r->tokens, r->seconds, (long long)r->failed,
                 (long long)r->rejected);
    (void)printf("%.1f %% of layer operations skipped; this client used %.2f CPUs\n\n",
                 100 * r->layer_ops_skipped, client_load(r));
    print_line("tokens/s per stream", &r->rate, 1000);
    print_line("time to first token, ms", &r->first_chunk, ns_per_ms);
    print_line("between tokens, ms", &r->inter_token, ns_per_ms);
    print_line("between chunks, ms", &r->inter_chunk, ns_per_ms);
    print_line("latency, ms", &r->latency, ns_per_ms);
    if (plan->stream)
        (void)printf("%.2f tokens per chunk\n", per_chunk(r));
}

/* ---- classification -------------------------------------------------------------------------- */

static void print_classes_object(const struct bench_plan *plan, const struct bench_result *r,
                                 const char *model)
{
    int64_t texts = r->done * plan->texts;
    json_t *object = json_pack(
        "{s:s, s:s, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:f}", "bench", "classification", "model",
        model, "connections", plan->connections, "texts_per_request", plan->texts, "requests",
        (json_int_t)r->done, "failed", (json_int_t)r->failed, "rejected", (json_int_t)r->rejected,
        "texts", (json_int_t)texts, "tokens", (json_int_t)r->prompt_tokens, "seconds", r->seconds);
    json_t *rest =
        json_pack("{s:f, s:f, s:f, s:f, s:f, s:o}", "texts_per_second", per_second(texts, r),
                  "requests_per_second", per_second(r->done, r), "tokens_per_second",
                  per_second(r->prompt_tokens, r), "layer_ops_skipped", r->layer_ops_skipped,
                  "client_cpus", client_load(r), "latency_ms", percentiles(&r->latency, ns_per_ms));
    print_members(plan, r, object, rest);
}

static void print_classes_lines(const struct bench_plan *plan, const struct bench_result *r,
                                const char *model)
{
    int64_t texts = r->done * plan->texts;
    (void)printf("%s, %d connections: %.0f texts/s, %.0f tokens/s\n", model, plan->connections,
                 per_second(texts, r), per_second(r->prompt_tokens, r));
    (void)printf("%lld requests with %lld texts in %.2f s; %lld failed, %lld of them rejected\n",
                 (long long)r->done, (long long)texts, r->seconds, (long long)r->failed,
                 (long long)r->rejected);
    (void)printf("%.1f %% of layer operations skipped; this client used %.2f CPUs\n\n",
                 100 * r->layer_ops_skipped, client_load(r));
    print_line("latency, ms", &r->latency, ns_per_ms);
}

void print_bench(const struct bench_plan *plan, const struct bench_result *result,
                 const char *model, bool json)
{
    if (plan->texts > 0)
        (json ? print_classes_object : print_classes_lines)(plan, result, model);
    else
        (json ? print_object : print_lines)(plan, result, model);
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
