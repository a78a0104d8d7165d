/* bench_texts.h - requests to classify the lines of a file, which are repeated as needed. */
#pragma once

#include "common/fault.h"

#include <stdint.h>

struct bench_texts {
    char **lines; /* each as a JSON string */
    int64_t count;
    int each; /* lines in one request */
};

/* Skips empty lines. The fault has the file, and the line when one is at fault. */
bool bench_texts_read(struct bench_texts *texts, const char *path, int each, struct fault *fault)
    SL_MUST_CHECK;
void bench_texts_release(struct bench_texts *texts);
/* For bench_plan.body: the body of a request, to be freed; the context is a struct bench_texts. */
char *bench_texts_body(void *context, int64_t number);
