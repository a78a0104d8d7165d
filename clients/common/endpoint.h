/* endpoint.h - how to reach the daemon: an address, a key, certificates. */
#pragma once

#include "common/client_error.h"

enum { ENDPOINT_URL_MAX = 4096 };

/* All strings belong to the owner of the struct. */
struct endpoint {
    const char *url;     /* http://..., https://... or unix:PATH; a slash at its end is ignored */
    const char *options; /* that set the URL, for errors: "--url or SLUICE_URL" */
    const char *key;     /* the API key; NULL: none */
    const char *ca_file; /* certificates to trust; NULL: the system's */
};

/* Checks the form of the URL, and that the file of certificates can be read. */
bool endpoint_check(const struct endpoint *endpoint, struct client_error *failure) SL_MUST_CHECK;
/* The path in unix:PATH; NULL: the URL is another. */
const char *endpoint_socket_path(const struct endpoint *endpoint);
/* The port that a URL without one means; 0: it names one, or is a socket. */
int endpoint_default_port(const struct endpoint *endpoint);
/* Sets what libcurl needs, for a request to this path. `curl` is a CURL handle. False: no memory,
 * or the URL is too long. */
bool endpoint_apply(const struct endpoint *endpoint, void *curl, const char *path);
/* Whether somebody accepts connections there. */
bool endpoint_is_open(const struct endpoint *endpoint);
/* Whether the server speaks https where the URL says http, or the reverse: then its URL. Asks the
 * server, without the key. */
bool endpoint_other_scheme(const struct endpoint *endpoint, char url[static ENDPOINT_URL_MAX]);
