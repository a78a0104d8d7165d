/* ctl_bench_run.c - a closed loop of requests, and what is said of failures. */
#include "sluicectl/ctl_bench_run.h"
#include "base/buffer.h"
#include "sluicectl/print.h"
#include "sluicectl/response_error.h"

#include <stdio.h>
#include <stdlib.h>

/* Reports how many requests failed, of the warm-up or after it, and why the first did. */
static bool count_failures(const struct bench_plan *plan, const struct bench_result *r,
                           const char *why, struct client_error *failure)
{
    bool warm = r->warm_up_failed > 0;
    return client_error_set(failure, EXIT_FAILED, "%lld of %lld requests%s failed; the first: %s",
                            (long long)(warm ? r->warm_up_failed : r->failed),
                            (long long)(warm ? plan->warm_up : r->failed + r->done),
                            warm ? " of the warm-up" : "", why);
}

/* The requests differ only in their seeds: an invalid one means that all are, and its message says
 * all. */
bool ctl_bench_explain(const struct bench_plan *plan, const struct bench_result *result,
                       struct client_error *failure)
{
    struct client_response response = {.status = result->failure_status};
    struct client_error rejection = {0};
    if (result->failure[0] != '{')
        return count_failures(plan, result, result->failure, failure);
    sl_buffer_append_string(&response.body, result->failure);
    if (response.body.failed)
        return client_error_no_memory(failure);
    (void)response_error(&response, &rejection);
    client_response_release(&response);
    bool is_invalid = rejection.exit_code == EXIT_BAD_INPUT;
    if (is_invalid && result->done == 0)
        *failure = rejection;
    else
        (void)count_failures(plan, result, rejection.err.text, failure);
    if (plan->texts > 0 && is_invalid)
        (void)snprintf(failure->hint, sizeof failure->hint,
                       "if it is about a text, `sluicectl %s - < FILE` reports the lines",
                       plan->task == BENCH_EMBEDDINGS ? "embed" : "classify");
    return false;
}

bool ctl_bench_run(const struct bench_plan *plan, const struct ctl_bench_report *report,
                   struct client_error *failure)
{
    struct bench_result *result = malloc(sizeof *result); /* histograms are too large for a stack */
    if (!result)
        return client_error_no_memory(failure);
    bool good = bench_run(plan, result, failure);
    if (good && result->done > 0)
        print_bench(plan, result, report->model, report->json);
    if (good && result->failure[0])
        good = ctl_bench_explain(plan, result, failure);
    free(result);
    return good;
}
