/* ctl.c - what the commands of sluicectl share. */
#include "sluicectl/ctl.h"
#include "base/comma_list.h"
#include "sluicectl/print.h"

#include <errno.h>
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

static struct endpoint endpoint_at(const struct ctl *ctl, const char *url)
{
    return (struct endpoint){
        .url = url, .key = ctl->key[0] ? ctl->key : NULL, .ca_file = ctl->ca_file};
}

struct endpoint ctl_endpoint(const struct ctl *ctl)
{
    return endpoint_at(ctl, ctl->url);
}

struct client *ctl_client(const struct ctl *ctl, struct fault *fault)
{
    const struct client_options options = {.endpoint = ctl_endpoint(ctl),
                                           .timeout_ms = ctl_timeout_ms(ctl)};
    return client_create(&options, fault);
}

struct client *ctl_admin_client(const struct ctl *ctl, struct fault *fault)
{
    const struct client_options options = {.endpoint = endpoint_at(ctl, ctl->admin_url),
                                           .timeout_ms = ctl_timeout_ms(ctl)};
    return client_create(&options, fault);
}

/* The first line of a file. */
static bool read_line(const char *path, char line[static SL_API_KEY_BYTES_MAX + 1],
                      struct fault *fault)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return fault_set(fault, EXIT_USAGE, "API key '%s': %s", path, strerrordesc_np(errno));
    char *read = fgets(line, SL_API_KEY_BYTES_MAX + 1, file);
    (void)fclose(file);
    if (!read)
        return fault_set(fault, EXIT_USAGE, "API key '%s': the file is empty", path);
    line[strcspn(line, "\r\n")] = '\0';
    return true;
}

bool ctl_read_key(struct ctl *ctl, struct fault *fault)
{
    struct sl_err err;
    const char *given = getenv("SLUICE_API_KEY"); // NOLINT(concurrency-mt-unsafe): no threads
    const char *source = ctl->api_key_file ? ctl->api_key_file : "SLUICE_API_KEY";
    if (ctl->api_key_file) {
        if (!read_line(ctl->api_key_file, ctl->key, fault))
            return false;
    } else if (given)
        (void)snprintf(ctl->key, sizeof ctl->key, "%s", given);
    if (!ctl->key[0] || sl_api_key_check(ctl->key, &err))
        return true;
    return fault_set(fault, EXIT_USAGE, "API key '%s': %s", source, err.text);
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
