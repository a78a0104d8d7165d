/* ctl_read.c - the sub-commands that only look: models, health, metrics. */
#include "sluicectl/ctl.h"
#include "sluicectl/print.h"

#include <stdio.h>

static const struct sl_option no_rows[] = {{0}};

/* ---- models ---------------------------------------------------------------------------------- */

static bool run_models(const struct ctl *ctl, void *values, const char *operand,
                       struct fault *fault)
{
    const struct client_request request = {.path = operand ? "/v1/models/" : "/v1/models",
                                           .argument = operand};
    struct client_answer answer = {0};
    struct client *client = ctl_client(ctl, fault);
    (void)values;
    bool good = client && ctl_ask(client, &request, &answer, fault) &&
                (ctl->json ? print_raw(&answer.body, fault) : print_models(&answer.body, fault));
    client_answer_release(&answer);
    client_destroy(client);
    return good;
}

const struct ctl_command ctl_models = {.name = "models",
                                       .operand = "[MODEL]",
                                       .help = "the models that can be asked",
                                       .rows = no_rows,
                                       .run = run_models};

/* ---- health ---------------------------------------------------------------------------------- */

/* True when the daemon could be asked; then *well, or `why`. */
static bool look(struct client *client, const char *path, bool *well, char *why,
                 struct fault *fault)
{
    const struct client_request request = {.path = path, .impatient = true};
    struct client_answer answer = {0};
    struct fault refusal = {0};
    bool asked = client_ask(client, &request, &answer, fault);
    *well = asked && answer.status == 200;
    if (asked && !*well) {
        (void)print_refusal(&answer, &refusal);
        (void)snprintf(why, FAULT_TEXT_MAX, "%s", refusal.text);
    }
    client_answer_release(&answer);
    return asked;
}

static bool run_health(const struct ctl *ctl, void *values, const char *operand,
                       struct fault *fault)
{
    struct print_health health = {0};
    struct client *client = ctl_client(ctl, fault);
    (void)values;
    (void)operand;
    bool asked = client && look(client, "/v2/health/ready", &health.ready, health.why, fault) &&
                 look(client, "/v2/health/live", &health.live, health.why, fault);
    client_destroy(client);
    if (!asked)
        return false;
    print_health(&health, ctl->url, ctl->json);
    /* Everything was said already; only the exit code is left. */
    return (health.live && health.ready) || fault_set(fault, EXIT_FAILED, "%s", "");
}

const struct ctl_command ctl_health = {.name = "health",
                                       .help = "whether the daemon is alive and ready",
                                       .rows = no_rows,
                                       .run = run_health};

/* ---- metrics --------------------------------------------------------------------------------- */

static bool run_metrics(const struct ctl *ctl, void *values, const char *operand,
                        struct fault *fault)
{
    const struct client_request request = {.path = "/metrics"};
    struct client_answer answer = {0};
    struct client *client = ctl_client(ctl, fault);
    (void)values;
    bool good = client && ctl_ask(client, &request, &answer, fault) &&
                print_metrics(&answer.body, operand ? operand : "", ctl->json, fault);
    client_answer_release(&answer);
    client_destroy(client);
    return good;
}

const struct ctl_command ctl_metrics = {.name = "metrics",
                                        .operand = "[PREFIX]",
                                        .help = "the daemon's metrics, those whose names begin so",
                                        .rows = no_rows,
                                        .run = run_metrics};
