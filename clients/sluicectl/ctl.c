/* ctl.c - what the commands of sluicectl share. */
#include "sluicectl/ctl.h"
#include "base/list.h"
#include "sluicectl/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 600 * 1000, MODELS_MAX = 64 };

bool ctl_reads_input(const struct ctl *ctl)
{
    return ctl->operand_count == 0 ||
           (ctl->operand_count == 1 && strcmp(ctl->operands[0], "-") == 0);
}

int64_t ctl_timeout_ms(const struct ctl *ctl)
{
    return ctl->timeout.given ? (int64_t)(ctl->timeout.value * 1000) : TIMEOUT_MS;
}

void ctl_url(const struct ctl *ctl, const char *path, char *url, size_t capacity)
{
    int length = (int)strlen(ctl->url);
    while (length > 0 && ctl->url[length - 1] == '/')
        length--;
    (void)snprintf(url, capacity, "%.*s%s", length, ctl->url, path);
}

struct client *ctl_client(const struct ctl *ctl, struct fault *fault)
{
    const struct client_options options = {.url = ctl->url, .timeout_ms = ctl_timeout_ms(ctl)};
    return client_create(&options, fault);
}

bool ctl_send(struct client *client, const struct client_request *request,
              struct client_response *response, struct fault *fault)
{
    return client_send(client, request, response, fault) &&
           (response->status == 200 || fault_from_response(response, fault));
}

static char *copy(const char *text, struct fault *fault)
{
    char *made = strdup(text);
    if (!made)
        (void)fault_no_memory(fault);
    return made;
}

/* A copy of the only id. When there are several, the fault lists them. */
static char *choose(char *const *ids, int count, struct fault *fault)
{
    char names[512] = "";
    if (count == 1)
        return copy(ids[0] ? ids[0] : "", fault);
    for (int i = 0; i < count && i < MODELS_MAX; i++)
        sl_list_add(names, sizeof names, ids[i] ? ids[i] : "");
    if (count == 0)
        (void)fault_set(fault, EXIT_FAILED,
                        "the daemon has no language model loaded; train one with `sluice train` "
                        "and restart the daemon");
    else
        (void)fault_set(fault, EXIT_USAGE, "several models are loaded; choose one with --model: %s",
                        names);
    return NULL;
}

char *ctl_model(struct client *client, const char *name, struct fault *fault)
{
    const struct client_request request = {.path = "/v1/models"};
    struct client_response response = {0};
    char *ids[MODELS_MAX] = {0};
    if (name)
        return copy(name, fault);
    int count = -1;
    if (ctl_send(client, &request, &response, fault))
        count = print_model_ids(&response.body, "completion", ids, MODELS_MAX, fault);
    char *model = count >= 0 ? choose(ids, count, fault) : NULL;
    for (int i = 0; i < MODELS_MAX; i++)
        free(ids[i]);
    client_response_release(&response);
    return model;
}

bool ctl_classifier(struct client *client, const char *name, struct print_info *info,
                    struct fault *fault)
{
    const struct client_request request = {.path = name ? "/info?model=" : "/info",
                                           .argument = name};
    struct client_response response = {0};
    bool good =
        ctl_send(client, &request, &response, fault) && print_info(info, &response.body, fault);
    client_response_release(&response);
    return good;
}
