/* raw_requests.h - requests as bytes, right and wrong, and how they are to be answered. */
#pragma once

#include <stddef.h>

struct raw_request {
    const char *bytes;
    size_t count;
    /* The statuses of all answers, in order. "4.." and "5.." are any; after the last of an error
     * that the row is about, the connection is closed, and nothing that follows is read. */
    const char *answers;
    const char *what; /* part of the last message; NULL: whatever */
};

/* Ends with NULL bytes. Hosts are "x". */
extern const struct raw_request raw_requests[];

enum { RAW_MUTATION_MAX = 512, RAW_MUTATIONS = 3254 };

/* A request with a valid Content-Length and a header that some programs take for
 * Transfer-Encoding: chunked, others for nothing; as the tool `smuggler` makes them. All are to be
 * rejected. Returns its length; 0: there is no such request. */
size_t raw_mutation(int index, char out[static RAW_MUTATION_MAX]);
