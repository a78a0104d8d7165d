/* in_process_classifier.h - the right answers: a classifier of a store, run in this process on
 * one text at a time. */
#pragma once

#include "sluice/classifier.h"
#include "sluice/model.h"
#include "sluice/tokenizer.h"

#include <stdbool.h>
#include <stdint.h>

enum { IN_PROCESS_CLASSES_MAX = 8, IN_PROCESS_TOKENS_MAX = 128 };

struct in_process_classifier {
    struct sl_engine *engine;
    struct sl_model *model;
    struct sl_classifier *classifier;
    int operating_point; /* of its answers; 0: as the model says */
};

/* The answer for one text. */
struct classification {
    int classes, tokens, best;
    int given; /* tokens before the text was cut */
    float logits[IN_PROCESS_CLASSES_MAX], probs[IN_PROCESS_CLASSES_MAX];
    double depth; /* mean number of layers that a token used */
    int64_t layers_used, layers_full;
    bool finite;
};

/* Opens version 4 of a model in a store, in this precision. */
struct in_process_classifier in_process_open_in(const char *store, const char *name,
                                                const char *precision);

/* In the engine's own choice of precision, as a daemon does that is told none. */
struct in_process_classifier in_process_open(const char *store, const char *name);

void in_process_close(struct in_process_classifier *c);

/* Classifies tokens, which must fit. */
struct classification in_process_classify_tokens(const struct in_process_classifier *c,
                                                 const int32_t *ids, int count);

/* Classifies a text. One that does not fit is cut at its beginning (from_left) or its end. */
struct classification in_process_classify_truncated(const struct in_process_classifier *c,
                                                    const char *text, bool from_left);

/* Classifies a text that must fit. */
struct classification in_process_classify(const struct in_process_classifier *c, const char *text);
