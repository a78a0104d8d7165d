/* ctl_bench.c - `sluicectl bench`: load-tests a running daemon with completions,
 * classifications or embeddings. */
#include "base/json_writer.h"
#include "bench/bench_text_requests.h"
#include "sluicectl/ctl_bench_run.h"
#include "sluicectl/ctl_connection.h"
#include "sluicectl/ctl_model_choice.h"
#include "sluicectl/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECTIONS = 64, TOKENS = 512, REQUESTS_PER_CONNECTION = 4, WARM_UP_TOKENS = 32 };

enum { TEXT_CONNECTIONS = 128, SECONDS = 10 };

enum { RATE_CONNECTIONS = 1024, RATE_WARM_UP = 128 };

struct arguments {
    const char *model, *prompt, *classify, *embed, *rate, *svg;
    struct sl_given_int tokens, requests, warm_up, seed, connections, texts;
    struct sl_given_real temperature, seconds, budget;
    bool no_stream, poisson;
};

#define AT(member) offsetof(struct arguments, member)

static const struct sl_option rows[] = {
    {"model", "NAME",
     "model to use [the only language model or embedding model, or the default classifier]",
     SL_OPTION_STRING, AT(model), 0, 0},
    {"classify", "FILE", "classify the lines of FILE instead of generating text", SL_OPTION_STRING,
     AT(classify), 0, 0},
    {"embed", "FILE", "embed the lines of FILE instead of generating text", SL_OPTION_STRING,
     AT(embed), 0, 0},
    {"connections", "N",
     "concurrent connections, each with one request at a time [64; with --classify or --embed 128; "
     "with --rate 1024]",
     SL_OPTION_GIVEN_INT, AT(connections), 1, BENCH_STREAMS_MAX},
    {"rate", "R[,R...]",
     "send R requests per second, whether or not earlier ones have ended; latencies count from "
     "when a request is due, and one that is due while all connections are busy is dropped and "
     "counted. Several rates are measured one after another",
     SL_OPTION_STRING, AT(rate), 0, 0},
    {"poisson", NULL, "with --rate: requests at random times, with R per second on average",
     SL_OPTION_FLAG, AT(poisson), 0, 0},
    {"svg", "FILE", "with --rate: also draw latency against rate to FILE", SL_OPTION_STRING,
     AT(svg), 0, 0},
    {"texts", "N", "texts per request, with --classify or --embed [1]", SL_OPTION_GIVEN_INT,
     AT(texts), 1, 4096},
    {"seconds", "S", "duration in seconds, with --classify or --embed, or of each rate [10]",
     SL_OPTION_GIVEN_REAL, AT(seconds), 0.01, 86400},
    {"tokens", "N", "tokens to generate per request [512]", SL_OPTION_GIVEN_INT, AT(tokens), 1,
     1e6},
    {"requests", "N",
     "number of requests, of each rate [4 per connection; no limit with --classify, --embed or "
     "--rate]",
     SL_OPTION_GIVEN_INT, AT(requests), 1, 1e9},
    {"warm-up", "N",
     "requests to send before measuring [1 per connection; with --rate 128 at most]",
     SL_OPTION_GIVEN_INT, AT(warm_up), 0, 1e9},
    {"prompt", "TEXT", "prompt of each request [\"The \"]", SL_OPTION_STRING, AT(prompt), 0, 0},
    {"temperature", "T", "sampling temperature [1]", SL_OPTION_GIVEN_REAL, AT(temperature), 0, 2},
    CTL_BUDGET_ROW(AT(budget)),
    {"seed", "N", "seed of the first request; request i uses seed + i [1]", SL_OPTION_GIVEN_INT,
     AT(seed), 0, 1e9},
    {"no-stream", NULL, "do not stream: receive each completion in one response", SL_OPTION_FLAG,
     AT(no_stream), 0, 0},
    {0}};

/* What all requests have in common. */
struct request_template {
    const struct arguments *arguments;
    const char *model;
};

static int64_t value_or(const struct sl_given_int *whole, int64_t other)
{
    return whole->given ? whole->value : other;
}

static char *write_body(void *context, int64_t number)
{
    const struct request_template *q = context;
    const struct arguments *a = q->arguments;
    int64_t tokens = value_or(&a->tokens, TOKENS);
    if (number < 0 && tokens > WARM_UP_TOKENS)
        tokens = WARM_UP_TOKENS;
    int64_t seed = value_or(&a->seed, 1) + (number < 0 ? 0 : number);
    struct sl_buffer body = {0};
    struct sl_json_writer json = {.out = &body};
    sl_json_add(&json, "{'model':%s,'prompt':%s,'max_tokens':%lld,'temperature':", q->model,
                a->prompt ? a->prompt : "The ", (long long)tokens);
    sl_json_add_real(&json, a->temperature.given ? a->temperature.value : 1.0);
    sl_json_add(&json, "'seed':%lld,'stream':%i", (long long)seed, !a->no_stream);
    if (!a->no_stream)
        sl_json_add(&json, "'stream_options':{'include_usage':true}");
    sl_json_end_object(&json);
    return sl_buffer_take(&body);
}

/* One rate after another, or a closed loop. */
static bool run_all(struct bench_plan plan, const struct ctl_options *ctl,
                    const struct arguments *a, const char *model, struct client_error *failure)
{
    int64_t connections = a->rate ? RATE_CONNECTIONS : plan.connections;
    plan.connections = (int)value_or(&a->connections, connections);
    int most = a->rate && plan.connections > RATE_WARM_UP ? RATE_WARM_UP : plan.connections;
    plan.warm_up = value_or(&a->warm_up, most);
    plan.poisson = a->poisson;
    plan.budget = a->budget.given ? a->budget.value : 0;
    const struct ctl_bench_report report = {.model = model, .svg = a->svg, .json = ctl->json};
    return a->rate ? ctl_bench_rates(&plan, &report, a->rate, failure)
                   : ctl_bench_run(&plan, &report, failure);
}

static double seconds_of(const struct arguments *a)
{
    return a->seconds.given ? a->seconds.value : SECONDS;
}

static bool measure(const struct ctl_options *ctl, struct request_template *template,
                    struct client_error *failure)
{
    const struct arguments *a = template->arguments;
    int64_t connections = value_or(&a->connections, CONNECTIONS);
    int64_t requests = a->rate ? INT64_MAX : REQUESTS_PER_CONNECTION * connections;
    const struct bench_plan plan = {.endpoint = ctl_endpoint(ctl),
                                    .path = "/v1/completions",
                                    .connections = (int)connections,
                                    .requests = value_or(&a->requests, requests),
                                    .seconds = a->rate ? seconds_of(a) : 0,
                                    .timeout_ms = ctl_timeout_ms(ctl),
                                    .stream = !a->no_stream,
                                    .body = write_body,
                                    .context = template};
    return run_all(plan, ctl, a, template->model, failure);
}

/* ---- classification and embeddings ----------------------------------------------------------- */

static bool measure_texts(const struct ctl_options *ctl, const struct arguments *a,
                          const char *model, struct client_error *failure)
{
    struct bench_text_requests texts;
    char path[1024];
    int64_t connections = value_or(&a->connections, TEXT_CONNECTIONS);
    (void)snprintf(path, sizeof path, "/models/%s/%s", model, a->embed ? "embed" : "predict");
    if (!bench_text_requests_read(&texts, a->embed ? a->embed : a->classify,
                                  (int)value_or(&a->texts, 1), a->embed, failure))
        return false;
    const struct bench_plan plan = {.task = a->embed ? BENCH_EMBEDDINGS : BENCH_CLASSIFICATION,
                                    .endpoint = ctl_endpoint(ctl),
                                    .path = path,
                                    .connections = (int)connections,
                                    .requests = value_or(&a->requests, INT64_MAX),
                                    .seconds = seconds_of(a),
                                    .timeout_ms = ctl_timeout_ms(ctl),
                                    .texts = texts.each,
                                    .body = bench_text_requests_body,
                                    .context = &texts};
    bool good = run_all(plan, ctl, a, model, failure);
    bench_text_requests_release(&texts);
    return good;
}

static bool run_classes(const struct ctl_options *ctl, const struct arguments *a,
                        struct client_error *failure)
{
    struct print_info info = {0};
    struct client *client = ctl_client(ctl, failure);
    bool good = client && ctl_classifier(client, a->model, &info, failure) &&
                measure_texts(ctl, a, info.model, failure);
    print_info_release(&info);
    client_destroy(client);
    return good;
}

static bool run_embeddings(const struct ctl_options *ctl, const struct arguments *a,
                           struct client_error *failure)
{
    struct client *client = ctl_client(ctl, failure);
    char *model = client ? ctl_embedder(client, a->model, failure) : NULL;
    bool good = model && measure_texts(ctl, a, model, failure);
    free(model);
    client_destroy(client);
    return good;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Rejects options that would have no effect. */
static bool check(const struct arguments *a, struct client_error *failure)
{
    const char *writing = sl_option_first_given(
        (const struct sl_option_given[]){{"tokens", a->tokens.given},
                                         {"prompt", a->prompt},
                                         {"temperature", a->temperature.given},
                                         {"seed", a->seed.given},
                                         {"no-stream", a->no_stream},
                                         {0}});
    const char *without_rate = sl_option_first_given(
        (const struct sl_option_given[]){{"poisson", a->poisson}, {"svg", a->svg}, {0}});
    const bool texts = a->classify || a->embed;
    if (a->classify && a->embed)
        return client_error_set(failure, EXIT_BAD_INPUT, "give --classify or --embed, not both");
    if (texts && writing)
        return client_error_set(failure, EXIT_BAD_INPUT, "--%s has no effect with --%s", writing,
                                a->embed ? "embed" : "classify");
    if (!texts && a->texts.given)
        return client_error_set(failure, EXIT_BAD_INPUT, "--texts needs --classify or --embed");
    if (!a->rate && without_rate)
        return client_error_set(failure, EXIT_BAD_INPUT, "--%s needs --rate", without_rate);
    return texts || a->rate || !a->seconds.given ||
           client_error_set(failure, EXIT_BAD_INPUT,
                            "--seconds needs --classify, --embed or --rate");
}

static bool run(const struct ctl_options *ctl, struct client_error *failure)
{
    const struct arguments *a = ctl->values;
    if (!check(a, failure))
        return false;
    if (a->classify)
        return run_classes(ctl, a, failure);
    if (a->embed)
        return run_embeddings(ctl, a, failure);
    struct client *client = ctl_client(ctl, failure);
    char *model = client ? ctl_model(client, a->model, failure) : NULL;
    struct request_template template = {.arguments = a, .model = model};
    bool good = model && measure(ctl, &template, failure);
    free(model);
    client_destroy(client);
    return good;
}

const struct ctl_command ctl_bench = {.name = "bench",
                                      .help = "load-test a running daemon",
                                      .example = "--rate 10,20,40 --tokens 128",
                                      .rows = rows,
                                      .values_bytes = sizeof(struct arguments),
                                      .run = run};
