/* ctl_connection.c - how the commands of sluicectl reach the daemon. */
#include "sluicectl/ctl_connection.h"
#include "base/comma_list.h"
#include "sluicectl/response_error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TIMEOUT_MS = 600 * 1000 };

int64_t ctl_timeout_ms(const struct ctl_options *ctl)
{
    return ctl->timeout.given ? (int64_t)(ctl->timeout.value * 1000) : TIMEOUT_MS;
}

struct endpoint ctl_endpoint(const struct ctl_options *ctl)
{
    return (struct endpoint){.url = ctl->url,
                             .options = "--url or SLUICE_URL",
                             .key = ctl->key[0] ? ctl->key : NULL,
                             .ca_file = ctl->ca_file};
}

struct client *ctl_client(const struct ctl_options *ctl, struct client_error *failure)
{
    const struct client_options options = {.endpoint = ctl_endpoint(ctl),
                                           .timeout_ms = ctl_timeout_ms(ctl)};
    return client_create(&options, failure);
}

/* ---- the admin listener ---------------------------------------------------------------------- */

static const char admin_options[] = "--admin-url or SLUICE_ADMIN_URL";

/* A socket that somebody else left in the working directory could get the API key. */
static bool is_own(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && (info.st_uid == 0 || info.st_uid == geteuid());
}

static bool is_denied(const char *url)
{
    const char *path = endpoint_socket_path(&(struct endpoint){.url = url});
    return path && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0 && errno == EACCES;
}

const char *ctl_admin_url(const char *const *places)
{
    const char *const *place = places;
    while (*place && !endpoint_is_open(&(struct endpoint){.url = *place}))
        place++;
    if (*place)
        return *place; // cppcheck-suppress identicalInnerCondition ; it takes a URL for a bool
    while (*places && !is_denied(*places))
        places++;
    return *places;
}

static struct client *fail_nowhere(const char *const *places, struct client_error *failure)
{
    char list[256] = "";
    (void)client_error_set(failure, EXIT_FAILED,
                           "no daemon's admin listener found; tried: %s; start sluiced, or give "
                           "the address with %s",
                           sl_list_join(list, sizeof list, places), admin_options);
    return NULL;
}

struct client *ctl_admin_client(const struct ctl_options *ctl, struct client_error *failure)
{
    static const char *const places[] = {"unix:" CTL_ADMIN_SOCKET, CTL_ADMIN_URL,
                                         CTL_SERVICE_ADMIN_URL, NULL};
    const char *const *first = places + !is_own(CTL_ADMIN_SOCKET);
    struct client_options options = {.endpoint = ctl_endpoint(ctl),
                                     .timeout_ms = ctl_timeout_ms(ctl)};
    options.endpoint.url = ctl->admin_url ? ctl->admin_url : ctl_admin_url(first);
    options.endpoint.options = admin_options;
    return options.endpoint.url ? client_create(&options, failure) : fail_nowhere(places, failure);
}

/* ---- the key --------------------------------------------------------------------------------- */

/* The first line of a file. */
static bool read_line(const char *path, char line[static SL_API_KEY_BYTES_MAX + 1],
                      struct client_error *failure)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return client_error_set(failure, EXIT_BAD_INPUT, "cannot read --api-key-file '%s': %s",
                                path, strerrordesc_np(errno));
    char *read = fgets(line, SL_API_KEY_BYTES_MAX + 1, file);
    (void)fclose(file);
    if (!read)
        return client_error_set(failure, EXIT_BAD_INPUT, "--api-key-file '%s' is empty", path);
    line[strcspn(line, "\r\n")] = '\0';
    return true;
}

const char *ctl_key_source(const struct ctl_options *ctl)
{
    return ctl->api_key_file ? "--api-key-file" : "SLUICE_API_KEY";
}

bool ctl_read_key(struct ctl_options *ctl, struct client_error *failure)
{
    struct sl_err err;
    const char *given = getenv("SLUICE_API_KEY"); // NOLINT(concurrency-mt-unsafe): no threads
    if (ctl->api_key_file) {
        if (!read_line(ctl->api_key_file, ctl->key, failure))
            return false;
    } else if (given)
        (void)snprintf(ctl->key, sizeof ctl->key, "%s", given);
    if (!ctl->key[0] || sl_api_key_check(ctl->key, &err))
        return true;
    return client_error_set(failure, EXIT_BAD_INPUT, "the API key of %s: %s", ctl_key_source(ctl),
                            err.text);
}

/* ---- requests -------------------------------------------------------------------------------- */

bool ctl_send(struct client *client, const struct client_request *request,
              struct client_response *response, struct client_error *failure)
{
    return client_send(client, request, response, failure) &&
           (response->status == 200 || response_error(response, failure));
}

bool ctl_request(const struct ctl_options *ctl, struct client *client,
                 const struct client_request *request, print_function *print,
                 struct client_error *failure)
{
    struct client_response response = {0};
    bool good = client && ctl_send(client, request, &response, failure) &&
                print_response(&response.body, ctl->json ? NULL : print, failure);
    client_response_release(&response);
    client_destroy(client);
    return good;
}
