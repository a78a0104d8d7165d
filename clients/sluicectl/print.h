/* print.h - what sluicectl says, for people and as JSON, and what it reads out of answers' JSON. */
#pragma once

#include "bench/bench.h"
#include "common/client.h"

/* Sets the fault to what an answer that is no 200 says about itself, and returns false. */
bool print_refusal(const struct client_answer *answer, struct fault *fault);

/* All below return false with a fault when an answer is not what it should be. */

/* The answer as it came, on one line. */
bool print_raw(const struct bytes *body, struct fault *fault) MUST_CHECK;
/* A list of models, or one. */
bool print_models(const struct bytes *body, struct fault *fault) MUST_CHECK;
/* The ids of the models of this task in a list, at most `most`, each to be freed and NULL without
 * memory; returns how many there are. */
int print_model_ids(const struct bytes *body, const char *task, char **ids, int max,
                    struct fault *fault) MUST_CHECK;

/* The texts of a completion, or of one event of a stream. With `usage`, what it says it used goes
 * to standard error. An error inside an event becomes the fault. */
bool print_texts(const char *json, size_t count, bool usage, struct fault *fault) MUST_CHECK;
/* An event of a stream as it came, on one line. An error becomes the fault, too. */
bool print_event(const char *json, size_t count, struct fault *fault) MUST_CHECK;

/* What /info says of a model, and of the requests that the daemon takes. */
struct print_info {
    char *model; /* name@version */
    int64_t texts_max, bytes_max;
};

bool print_info(struct print_info *info, const struct bytes *body, struct fault *fault) MUST_CHECK;
void print_info_release(struct print_info *info);

enum print_form {
    PRINT_TABLE, /* for people, under a line of headings */
    PRINT_ROWS,  /* label, score and text between tabs, as of `sluice classify` */
    PRINT_OBJECTS
};

/* Classes of texts, printed an inference at a time. */
struct print_sheet {
    enum print_form form;
    int64_t texts, cut; /* printed so far; cut: longer than the context */
};

/* What an inference says about these texts: their likeliest classes, and but for rows how deep each
 * went and what it lost. */
bool print_classes(struct print_sheet *sheet, const struct bytes *body, const char *const *texts,
                   int count, struct fault *fault) MUST_CHECK;

/* The samples whose name begins with `prefix`; as JSON, or as they came. */
bool print_metrics(const struct bytes *body, const char *prefix, bool json,
                   struct fault *fault) MUST_CHECK;

struct print_health {
    bool live, ready;
    char why[FAULT_TEXT_MAX]; /* the daemon's sentence when it is not ready */
};

void print_health(const struct print_health *health, const char *url, bool json);

/* What the benchmark of a model gave. */
void print_bench(const struct bench_plan *plan, const struct bench_result *result,
                 const char *model, bool json);
