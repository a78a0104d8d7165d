/* ctl_model_choice.c - the model of a command that names none. */
#include "sluicectl/ctl_model_choice.h"
#include "base/comma_list.h"
#include "sluicectl/ctl_connection.h"

#include <stdlib.h>
#include <string.h>

enum { MODELS_MAX = 64 };

static char *copy(const char *text, struct client_error *failure)
{
    char *made = strdup(text);
    if (!made)
        (void)client_error_no_memory(failure);
    return made;
}

/* A copy of the only id. When there are several, the failure lists them. */
static char *choose(char *const *ids, int count, const char *missing, struct client_error *failure)
{
    char names[512] = "";
    if (count == 1)
        return copy(ids[0] ? ids[0] : "", failure);
    for (int i = 0; i < count && i < MODELS_MAX; i++)
        sl_list_add(names, sizeof names, ids[i] ? ids[i] : "");
    if (count == 0)
        (void)client_error_set(failure, EXIT_FAILED, "the daemon has no %s", missing);
    else
        (void)client_error_set(failure, EXIT_BAD_INPUT,
                               "several models are loaded; choose one with --model: %s", names);
    return NULL;
}

/* A copy of the name, or of the only model of the task. */
static char *choose_for(struct client *client, const char *name, const char *task,
                        const char *missing, struct client_error *failure)
{
    const struct client_request request = {.path = "/v1/models"};
    struct client_response response = {0};
    char *ids[MODELS_MAX] = {0};
    if (name)
        return copy(name, failure);
    int count = -1;
    if (ctl_send(client, &request, &response, failure))
        count = print_model_ids(&response.body, task, ids, MODELS_MAX, failure);
    char *model = count >= 0 ? choose(ids, count, missing, failure) : NULL;
    for (int i = 0; i < MODELS_MAX; i++)
        free(ids[i]);
    client_response_release(&response);
    return model;
}

char *ctl_model(struct client *client, const char *name, struct client_error *failure)
{
    return choose_for(
        client, name, "completion",
        "language model loaded; train one with `sluice train`, then `sluicectl load` it", failure);
}

char *ctl_embedder(struct client *client, const char *name, struct client_error *failure)
{
    return choose_for(
        client, name, "embedding",
        "model loaded that gives embeddings; load one, such as models/base of Sluice, "
        "with `sluicectl load`",
        failure);
}

char *ctl_translator(struct client *client, const char *name, struct client_error *failure)
{
    return choose_for(client, name, "translation",
                      "model loaded that translates; train one with `sluice train --task "
                      "translation`, then `sluicectl load` it",
                      failure);
}

bool ctl_classifier(struct client *client, const char *name, struct print_info *info,
                    struct client_error *failure)
{
    const struct client_request request = {.path = name ? "/info?model=" : "/info",
                                           .argument = name};
    struct client_response response = {0};
    bool good =
        ctl_send(client, &request, &response, failure) && print_info(info, &response.body, failure);
    client_response_release(&response);
    return good;
}
