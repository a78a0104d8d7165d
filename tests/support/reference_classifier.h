/* reference_classifier.h - the right answers: a classifier of a store, run in this process on
 * one text at a time. */
#pragma once

#include "sluice/classifier.h"
#include "sluice/model.h"
#include "sluice/tokenizer.h"

#include <stdbool.h>
#include <stdint.h>

enum { REFERENCE_CLASSES_MAX = 8, REFERENCE_TOKENS_MAX = 128 };

struct reference_classifier {
    struct sl_engine *engine;
    struct sl_model *model;
    struct sl_classifier *classifier;
};

/* The answer for one text. */
struct classification {
    int classes, tokens, best;
    int given; /* tokens before the text was cut */
    float logits[REFERENCE_CLASSES_MAX], probs[REFERENCE_CLASSES_MAX];
    double depth; /* mean number of layers that a token used */
    int64_t layers_used, layers_full;
    bool finite;
};

/* Opens version 4 of a model in a store. */
struct reference_classifier reference_open(const char *store, const char *name);

void reference_close(struct reference_classifier *c);

/* Classifies tokens, which must fit. */
struct classification reference_classify_tokens(const struct reference_classifier *c,
                                                const int32_t *ids, int count);

/* Classifies a text. One that does not fit is cut at its beginning (from_left) or its end. */
struct classification reference_classify_cut(const struct reference_classifier *c, const char *text,
                                             bool from_left);

/* Classifies a text that must fit. */
struct classification reference_classify(const struct reference_classifier *c, const char *text);
