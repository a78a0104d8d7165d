/* bench_classify_requests.h - requests to classify the lines of a file, which are repeated as
 * needed. */
#pragma once

#include "common/client_error.h"

#include <stdint.h>

struct bench_classify_requests {
    char **lines; /* each as a JSON string */
    int64_t count;
    int each; /* lines in one request */
};

/* Skips empty lines. The failure has the file, and the line when one is at fault. */
bool bench_classify_requests_read(struct bench_classify_requests *texts, const char *path, int each,
                                  struct client_error *failure) SL_MUST_CHECK;
void bench_classify_requests_release(struct bench_classify_requests *texts);
/* For bench_plan.body: the body of a request, to be freed; the context is a struct
 * bench_classify_requests. */
char *bench_classify_requests_body(void *context, int64_t number);
