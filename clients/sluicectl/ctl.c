/* ctl.c - what the sub-commands of sluicectl share. */
#include "sluicectl/ctl.h"
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

void ctl_url(const struct ctl *ctl, const char *path, char *url, size_t room)
{
    int length = (int)strlen(ctl->url);
    while (length > 0 && ctl->url[length - 1] == '/')
        length--;
    (void)snprintf(url, room, "%.*s%s", length, ctl->url, path);
}

struct client *ctl_client(const struct ctl *ctl, struct fault *fault)
{
    const struct client_options options = {.url = ctl->url, .timeout_ms = ctl_timeout_ms(ctl)};
    return client_create(&options, fault);
}

bool ctl_ask(struct client *client, const struct client_request *request,
             struct client_answer *answer, struct fault *fault)
{
    return client_ask(client, request, answer, fault) &&
           (answer->status == 200 || print_refusal(answer, fault));
}

static char *copy(const char *text, struct fault *fault)
{
    char *made = strdup(text);
    if (!made)
        (void)fault_no_memory(fault);
    return made;
}

/* The only one; of several, their names are in the fault. */
static char *choose(char *const *ids, int count, struct fault *fault)
{
    char names[1024] = "";
    size_t used = 0;
    if (count == 1)
        return copy(ids[0] ? ids[0] : "", fault);
    for (int i = 0; i < count && i < MODELS_MAX && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, " %s", ids[i]);
    if (count == 0)
        (void)fault_set(fault, EXIT_FAILED,
                        "no model that completes is served; train one with `sluice train` and "
                        "restart the daemon");
    else
        (void)fault_set(fault, EXIT_MISUSED, "which --model? There are:%s", names);
    return NULL;
}

char *ctl_model(struct client *client, const char *wanted, struct fault *fault)
{
    const struct client_request request = {.path = "/v1/models"};
    struct client_answer answer = {0};
    char *ids[MODELS_MAX] = {0};
    if (wanted)
        return copy(wanted, fault);
    int count = -1;
    if (ctl_ask(client, &request, &answer, fault))
        count = print_model_ids(&answer.body, "completion", ids, MODELS_MAX, fault);
    char *model = count >= 0 ? choose(ids, count, fault) : NULL;
    for (int i = 0; i < MODELS_MAX; i++)
        free(ids[i]);
    client_answer_release(&answer);
    return model;
}

bool ctl_classifier(struct client *client, const char *wanted, struct print_info *info,
                    struct fault *fault)
{
    const struct client_request request = {.path = wanted ? "/info?model=" : "/info",
                                           .argument = wanted};
    struct client_answer answer = {0};
    bool good = ctl_ask(client, &request, &answer, fault) && print_info(info, &answer.body, fault);
    client_answer_release(&answer);
    return good;
}
