/* ctl_connection.h - how the commands of sluicectl reach the daemon. */
#pragma once

#include "common/client.h"
#include "sluicectl/ctl_command.h"
#include "sluicectl/print.h"

int64_t ctl_timeout_ms(const struct ctl_options *ctl);
struct endpoint ctl_endpoint(const struct ctl_options *ctl);

/* Where the admin listener may be if nobody says so, in this order: beside the store of `make run`,
 * if it was started here; its port; and the socket of the systemd service. */
#define CTL_ADMIN_SOCKET      "sluiced.sock"
#define CTL_ADMIN_URL         "http://127.0.0.1:8081"
#define CTL_SERVICE_ADMIN_URL "unix:/run/sluiced-admin.sock"

/* The first of these URLs, which NULL ends, where somebody accepts connections; else the first
 * where it is not permitted; else NULL. */
const char *ctl_admin_url(const char *const *places);

struct client *ctl_client(const struct ctl_options *ctl, struct client_error *failure)
    SL_MUST_CHECK;
/* The same for requests that change what is served, and for training. */
struct client *ctl_admin_client(const struct ctl_options *ctl, struct client_error *failure)
    SL_MUST_CHECK;
/* Reads the API key from the option's file, or takes the one of the environment. */
bool ctl_read_key(struct ctl_options *ctl, struct client_error *failure) SL_MUST_CHECK;
/* The option or variable that gives it, for messages. */
const char *ctl_key_source(const struct ctl_options *ctl);
/* As client_send, but fails on a status other than 200, with the daemon's message. */
bool ctl_send(struct client *client, const struct client_request *request,
              struct client_response *response, struct client_error *failure) SL_MUST_CHECK;
/* Sends a request and prints the response, as JSON with --json. Destroys the client; one that is
 * NULL fails, with the failure of its making. */
bool ctl_request(const struct ctl_options *ctl, struct client *client,
                 const struct client_request *request, print_function *print,
                 struct client_error *failure) SL_MUST_CHECK;
