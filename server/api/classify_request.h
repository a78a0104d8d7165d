/* classify_request.h - the life of a request for classes or embeddings, shared by all APIs. */
#pragma once

#include "api/operating_point.h"
#include "api/text_to_tokens.h"
#include "core/request.h"
#include "core/token_usage.h"
#include "registry/registry.h"
#include "serve/classification_executor.h"

/* A classification request of any API. */
struct sv_classify_input {
    char model[SV_PATH_MAX]; /* if the body names it */
    struct sv_texts texts;
    const struct sv_prompt *ids; /* instead, the token ids of each of as many texts; or NULL */
    const struct sv_tokenize_options *tokenize;
    const struct sv_budget *budget; /* NULL: the endpoint takes none */
    int explain;                    /* words of an explanation of each result; 0: none */
};

/* Of one text; see explain_request.h. */
struct sv_explanation {
    struct sl_text_word *words;
    int count;
    int *word_of;         /* by token; -1: none */
    float *contributions; /* by token; NULL: by occlusion, the items from first_item on */
    int first_item;
    bool is_ranked;
};

struct sv_classification {
    struct sv_request *request;
    const struct sv_classify_format *format;
    struct sv_model_ref *ref;          /* a reference */
    struct sv_json_document *document; /* what the request's strings belong to; owned */
    void *params;                      /* the params struct of the endpoint; owned */

    /* Items are in the order of the texts; those that explain them follow. */
    struct sv_classification_task task;
    int texts, items, items_admitted;
    struct sv_explanation *explanations; /* of each text; NULL: not requested */
    struct sv_usage usage;
    const char *const *labels;
    int classes; /* 0: it gives embeddings */
    int outputs; /* numbers for each text */
    struct sv_classify_input input;
    int64_t reserved; /* tokens admitted, until the task is submitted */
    int encoded;      /* texts that have their tokens */
    bool is_admitted, is_submitted;
    int *tokens_before_truncation; /* of each text */
    int truncated_count;           /* number of truncated texts */
    float *results;                /* of all items */
    int32_t **token_ids;
    int64_t characters;
};

enum sv_wanted_model { SV_WANTS_CLASSIFIER, SV_WANTS_EMBEDDINGS, SV_WANTS_EITHER };

/* How one API reads a request and writes the response. */
struct sv_classify_format {
    size_t params_size;
    const char *texts_field; /* the name of its texts in messages */
    bool body_names_model;
    enum sv_wanted_model wants;
    /* Reads the body into `params` and `input`. NULL: see error. */
    struct sv_json_document *(*read)(struct sv_request *request, void *params,
                                     struct sv_classify_input *input, struct sv_error *error);
    /* Checks that need the model; may be NULL. */
    bool (*prepare)(const struct sv_classification *c, struct sv_error *error);
    /* Writes the response once every text has its result. */
    enum sv_progress (*respond)(struct sv_request *request, const struct sv_classification *c);
};

/* A complete handler: resolves the model, reads, admits the texts, tokenizes them and submits
 * them to the scheduler, or responds with the error. */
enum sv_progress sv_classify(struct sv_request *request, const struct sv_classify_format *format);

/* Mean layers per token of one text. */
double sv_classification_depth(const struct sv_classification *c, int index);
/* Tokens of all texts before truncation. */
int64_t sv_classification_tokens_before_truncation(const struct sv_classification *c);

/* Adds TEI's headers and ours: depths, operations skipped, truncated texts, the model. */
void sv_classification_headers(struct sv_request *request, const struct sv_classification *c);
