/* bench_texts.h - the lines of a file as requests to classify them, around and around. */
#pragma once

#include "common/fault.h"

#include <stdint.h>

struct bench_texts {
    char **lines; /* each as a JSON string */
    int64_t count;
    int each; /* lines in one request */
};

/* Lines that are empty are left out. The fault names the file, and the line if it is one. */
bool bench_texts_read(struct bench_texts *texts, const char *path, int each,
                      struct fault *fault) MUST_CHECK;
void bench_texts_release(struct bench_texts *texts);
/* The body of a request, to be freed; as a bench_plan wants it, the context is a bench_texts. */
char *bench_texts_body(void *context, int64_t number);
