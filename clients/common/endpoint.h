/* endpoint.h - how to reach the daemon: an address, a key, certificates. */
#pragma once

#include <stdbool.h>

enum { ENDPOINT_URL_MAX = 4096 };

/* All strings belong to the owner of the struct. */
struct endpoint {
    const char *url;     /* http://..., https://... or unix:PATH; a slash at its end is ignored */
    const char *key;     /* the API key; NULL: none */
    const char *ca_file; /* certificates to trust; NULL: the system's */
};

/* Sets what libcurl needs, for a request to this path. `curl` is a CURL handle. False: no memory,
 * or the URL is too long. */
bool endpoint_apply(const struct endpoint *endpoint, void *curl, const char *path);
/* Whether somebody accepts connections there. */
bool endpoint_is_open(const struct endpoint *endpoint);
