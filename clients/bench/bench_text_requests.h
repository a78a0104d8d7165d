/* bench_text_requests.h - requests to classify or embed the lines of a file, which are repeated as
 * needed. */
#pragma once

#include "common/client_error.h"

#include <stdbool.h>
#include <stdint.h>

struct bench_text_requests {
    char **lines; /* each as a JSON string */
    int64_t count;
    int each;    /* lines in one request */
    bool embeds; /* as /embed takes them; else as /predict does */
};

/* Skips empty lines. The failure has the file, and the line when one is at fault. */
bool bench_text_requests_read(struct bench_text_requests *texts, const char *path, int each,
                              bool embeds, struct client_error *failure) SL_MUST_CHECK;
void bench_text_requests_release(struct bench_text_requests *texts);
/* For bench_plan.body: the body of a request, to be freed; the context is a struct
 * bench_text_requests. */
char *bench_text_requests_body(void *context, int64_t number);
