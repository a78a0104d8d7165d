/* ctl_command.c - what the commands of sluicectl share. */
#include "sluicectl/ctl_command.h"
#include "base/comma_list.h"
#include "sluicectl/print.h"
#include "sluicectl/response_error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMEOUT_MS = 600 * 1000, MODELS_MAX = 64 };

bool ctl_reads_input(const struct ctl_options *ctl)
{
    return ctl->operand_count == 0 ||
           (ctl->operand_count == 1 && strcmp(ctl->operands[0], "-") == 0);
}

int64_t ctl_timeout_ms(const struct ctl_options *ctl)
{
    return ctl->timeout.given ? (int64_t)(ctl->timeout.value * 1000) : TIMEOUT_MS;
}

static struct endpoint endpoint_at(const struct ctl_options *ctl, const char *url)
{
    return (struct endpoint){
        .url = url, .key = ctl->key[0] ? ctl->key : NULL, .ca_file = ctl->ca_file};
}

struct endpoint ctl_endpoint(const struct ctl_options *ctl)
{
    return endpoint_at(ctl, ctl->url);
}

struct client *ctl_client(const struct ctl_options *ctl, struct client_error *failure)
{
    const struct client_options options = {.endpoint = ctl_endpoint(ctl),
                                           .timeout_ms = ctl_timeout_ms(ctl)};
    return client_create(&options, failure);
}

const char *ctl_admin_url(const char *own, const char *service)
{
    const char *socket = strchr(service, '/');
    const struct endpoint endpoint = {.url = own};
    return access(socket, F_OK) == 0 && !endpoint_is_open(&endpoint) ? service : own;
}

struct client *ctl_admin_client(const struct ctl_options *ctl, struct client_error *failure)
{
    const char *url =
        ctl->admin_url ? ctl->admin_url : ctl_admin_url(CTL_ADMIN_URL, CTL_SERVICE_ADMIN_URL);
    const struct client_options options = {.endpoint = endpoint_at(ctl, url),
                                           .timeout_ms = ctl_timeout_ms(ctl),
                                           .address_option = "--admin-url"};
    return client_create(&options, failure);
}

/* The first line of a file. */
static bool read_line(const char *path, char line[static SL_API_KEY_BYTES_MAX + 1],
                      struct client_error *failure)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return client_error_set(failure, EXIT_BAD_INPUT, "API key '%s': %s", path,
                                strerrordesc_np(errno));
    char *read = fgets(line, SL_API_KEY_BYTES_MAX + 1, file);
    (void)fclose(file);
    if (!read)
        return client_error_set(failure, EXIT_BAD_INPUT, "API key '%s': the file is empty", path);
    line[strcspn(line, "\r\n")] = '\0';
    return true;
}

bool ctl_read_key(struct ctl_options *ctl, struct client_error *failure)
{
    struct sl_err err;
    const char *given = getenv("SLUICE_API_KEY"); // NOLINT(concurrency-mt-unsafe): no threads
    const char *source = ctl->api_key_file ? ctl->api_key_file : "SLUICE_API_KEY";
    if (ctl->api_key_file) {
        if (!read_line(ctl->api_key_file, ctl->key, failure))
            return false;
    } else if (given)
        (void)snprintf(ctl->key, sizeof ctl->key, "%s", given);
    if (!ctl->key[0] || sl_api_key_check(ctl->key, &err))
        return true;
    return client_error_set(failure, EXIT_BAD_INPUT, "API key '%s': %s", source, err.text);
}

bool ctl_send(struct client *client, const struct client_request *request,
              struct client_response *response, struct client_error *failure)
{
    return client_send(client, request, response, failure) &&
           (response->status == 200 || response_error(response, failure));
}

static char *copy(const char *text, struct client_error *failure)
{
    char *made = strdup(text);
    if (!made)
        (void)client_error_no_memory(failure);
    return made;
}

/* A copy of the only id. When there are several, the failure lists them. */
static char *choose(char *const *ids, int count, struct client_error *failure)
{
    char names[512] = "";
    if (count == 1)
        return copy(ids[0] ? ids[0] : "", failure);
    for (int i = 0; i < count && i < MODELS_MAX; i++)
        sl_list_add(names, sizeof names, ids[i] ? ids[i] : "");
    if (count == 0)
        (void)client_error_set(
            failure, EXIT_FAILED,
            "the daemon has no language model loaded; train one with `sluice train` "
            "and restart the daemon");
    else
        (void)client_error_set(failure, EXIT_BAD_INPUT,
                               "several models are loaded; choose one with --model: %s", names);
    return NULL;
}

char *ctl_model(struct client *client, const char *name, struct client_error *failure)
{
    const struct client_request request = {.path = "/v1/models"};
    struct client_response response = {0};
    char *ids[MODELS_MAX] = {0};
    if (name)
        return copy(name, failure);
    int count = -1;
    if (ctl_send(client, &request, &response, failure))
        count = print_model_ids(&response.body, "completion", ids, MODELS_MAX, failure);
    char *model = count >= 0 ? choose(ids, count, failure) : NULL;
    for (int i = 0; i < MODELS_MAX; i++)
        free(ids[i]);
    client_response_release(&response);
    return model;
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
