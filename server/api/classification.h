/* classification.h - the state of a request for classes or embeddings. */
#pragma once

#include "api/model_resolver.h"
#include "api/operating_point.h"
#include "api/text_to_tokens.h"
#include "base/json_writer.h"
#include "core/request.h"
#include "core/token_usage.h"
#include "registry/registry.h"
#include "serve/classification_executor.h"

/* A classification request of any API. */
struct sv_classify_input {
    char model[SV_PATH_MAX]; /* if the body names it */
    struct sv_texts texts;
    int texts_per_input;         /* in a row, of one input; 0: 1 */
    const struct sv_prompt *ids; /* instead, the token ids of each of as many texts; or NULL */
    const struct sv_tokenize_options *tokenize;
    const struct sv_budget *budget; /* NULL: the endpoint takes none */
    int explain;                    /* words of an explanation of each result; 0: none */
    bool depths;                    /* how deep the model goes for each token */
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
    int items_per_text;                  /* the text itself, and the texts that explain it */
    struct sv_explanation *explanations; /* of each text; NULL: not requested */
    struct sv_usage usage;
    const char *const *labels;
    const struct sl_prompt *prompt; /* before each text; NULL: none */
    int classes;                    /* 0: it gives embeddings */
    int outputs;                    /* numbers of a row of the task's output */
    struct sv_classify_input input;
    int64_t reserved; /* tokens admitted, until the task is submitted */
    int encoded;      /* texts that have their tokens */
    bool is_admitted, is_submitted;
    int *tokens_before_truncation;      /* of each text; 0: it is blank */
    int truncated_count;                /* number of truncated texts */
    float *results;                     /* of all items, once it is submitted */
    struct sl_json_writer json;         /* of a response that is written in slices; */
    int written;                        /* texts in it so far */
    int32_t **token_ids, **token_types; /* of each item; the types of pairs, or NULL */
    struct sl_token_offset **places;    /* of the tokens of each text; NULL: not kept */
    const void *choice;                 /* what `prepare` chose for `respond` */
    int64_t characters;
};

/* How one API reads a request and writes the response. */
struct sv_classify_format {
    size_t params_size;
    const char *texts_field; /* the name of its texts in messages */
    bool body_names_model;
    enum sv_wanted_model wants;
    /* The format of a model's requests, if it depends on the model: then only this, `wants` and
     * `body_names_model` are read. NULL: this one. */
    const struct sv_classify_format *(*of_model)(const struct sl_model_info *info);
    enum sl_output output;         /* if the model has it; else its main one */
    bool slices_embeddings;        /* it writes them in slices, so there may be more of them */
    const struct sv_field *fields; /* of its body, for `read`; NULL: that knows them */
    /* Reads the body into `params` and `input`. NULL: see error. */
    struct sv_json_document *(*read)(struct sv_request *request, const struct sv_field *fields,
                                     void *params, struct sv_classify_input *input,
                                     struct sv_error *error);
    /* Checks that need the model; may be NULL. */
    bool (*prepare)(struct sv_classification *c, struct sv_error *error);
    /* Writes the response once every text has its result; or a slice of it, if it returns
     * SV_YIELDING: then it is called again. */
    enum sv_progress (*respond)(struct sv_request *request, struct sv_classification *c);
};
