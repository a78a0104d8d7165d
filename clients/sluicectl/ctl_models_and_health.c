/* ctl_models_and_health.c - the commands that report on the daemon: models, health, metrics. */
#include "sluicectl/ctl_connection.h"
#include "sluicectl/print.h"
#include "sluicectl/response_error.h"

#include <stdio.h>

/* ---- models ---------------------------------------------------------------------------------- */

static bool run_models(const struct ctl_options *ctl, struct client_error *failure)
{
    const char *model = ctl->operands[0];
    const struct client_request request = {.path = model ? "/v1/models/" : "/v1/models",
                                           .argument = model};
    return ctl_request(ctl, ctl_client(ctl, failure), &request, print_models, failure);
}

const struct ctl_command ctl_models = {.name = "models",
                                       .operand = "[MODEL]",
                                       .help = "list the loaded models",
                                       .run = run_models};

/* ---- health ---------------------------------------------------------------------------------- */

/* Probes one path. False: no response. *healthy: the status was 200; else `reason` is set. */
static bool probe(struct client *client, const char *path, bool *healthy, char *reason,
                  struct client_error *failure)
{
    const struct client_request request = {.path = path, .no_retry = true};
    struct client_response response = {0};
    struct client_error rejection = {0};
    bool sent = client_send(client, &request, &response, failure);
    *healthy = sent && response.status == 200;
    if (sent && !*healthy) {
        (void)response_error(&response, &rejection);
        (void)snprintf(reason, SL_ERR_TEXT_MAX, "%s", rejection.err.text);
    }
    client_response_release(&response);
    return sent;
}

static bool run_health(const struct ctl_options *ctl, struct client_error *failure)
{
    struct print_health health = {0};
    struct client *client = ctl_client(ctl, failure);
    bool sent = client &&
                probe(client, "/v2/health/ready", &health.ready, health.reason, failure) &&
                probe(client, "/v2/health/live", &health.live, health.reason, failure);
    client_destroy(client);
    if (!sent)
        return false;
    print_health(&health, ctl->url, ctl->json);
    /* All has been printed; only the exit code is left. */
    return (health.live && health.ready) || client_error_set(failure, EXIT_FAILED, "%s", "");
}

const struct ctl_command ctl_health = {.name = "health",
                                       .help = "check that the daemon is alive and ready",
                                       .run = run_health};

/* ---- metrics --------------------------------------------------------------------------------- */

static bool run_metrics(const struct ctl_options *ctl, struct client_error *failure)
{
    const struct client_request request = {.path = "/metrics"};
    struct client_response response = {0};
    struct client *client = ctl_client(ctl, failure);
    bool good =
        client && ctl_send(client, &request, &response, failure) &&
        print_metrics(&response.body, ctl->operands[0] ? ctl->operands[0] : "", ctl->json, failure);
    client_response_release(&response);
    client_destroy(client);
    return good;
}

const struct ctl_command ctl_metrics = {.name = "metrics",
                                        .operand = "[PREFIX]",
                                        .help = "print metrics whose names begin with PREFIX",
                                        .run = run_metrics};
