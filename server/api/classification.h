/* classification.h - one request's texts on their way through a classifier: what the families of
 * endpoints share. */
#pragma once

#include "api/text_to_tokens.h"
#include "core/request.h"
#include "core/usage.h"
#include "registry/registry.h"
#include "serve/classification_executor.h"

struct sv_classification {
    struct sv_request *request;
    const struct sv_classify_api *api;
    struct sv_model_ref *ref;     /* a reference */
    struct sv_document *document; /* what the request's strings belong to; owned */
    void *params;                 /* the family's struct of the request; owned */

    struct sv_classification_task task; /* its items are in the order of the texts */
    struct sv_usage usage;
    const char *const *labels;
    int classes;
    int *given; /* tokens of each text; of one longer than the context, before it was cut */
    int truncated_count; /* how many were */
    float *logits;       /* of all items */
    int32_t **ids;
    int64_t characters;
};

/* What the request of any family comes down to. */
struct sv_classify_input {
    char model[SV_PATH_MAX]; /* when the body names it */
    struct sv_texts texts;
    const struct sv_tokenize_options *tokenize;
};

/* How a family of endpoints asks and is answered. */
struct sv_classify_api {
    size_t request_bytes; /* of its struct of a request */
    const char *param; /* what messages request its texts; several become param[0], param[1]... */
    bool body_names_model;
    /* The body and the path to a request, and to what it comes down to. NULL: see error. */
    struct sv_document *(*read)(struct sv_request *request, void *params,
                                struct sv_classify_input *input, struct sv_error *error);
    /* What can be checked, or done, only once the classifier is known; may be NULL. */
    bool (*prepare)(const struct sv_classification *c, struct sv_error *error);
    /* Every text has its logits: writes the response. */
    enum sv_progress (*respond)(struct sv_request *request, const struct sv_classification *c);
};

/* All that a handler does: if there is room, texts to tokens, every one of them before any is
 * admitted, and off they go to the scheduler; or the error is the response. */
enum sv_progress sv_classify(struct sv_request *request, const struct sv_classify_api *api);

/* Layers that a token of this text went through, the mean. */
double sv_classification_depth(const struct sv_classification *c, int index);
/* Tokens of all texts before any was cut. */
int64_t sv_classification_tokens_given(const struct sv_classification *c);

/* TEI's headers, and ours: depths, operations saved, texts cut, which model it was. */
void sv_classification_headers(struct sv_request *request, const struct sv_classification *c);
