/* classification.h - one call's texts on their way through a classifier: what the families of
 * endpoints share.
 *
 * A handler creates one, lets the steps below fill it in, and submits it; then it belongs to its
 * call, and `answer` writes the reply once every text has its logits. */
#pragma once

#include "answer.h"
#include "call.h"
#include "classify_lane.h"
#include "encode.h"
#include "registry.h"

struct sv_classification {
    struct sv_call *call;
    struct sv_served *served;     /* a reference */
    struct sv_document *document; /* what the request's strings belong to; owned */
    void *request;                /* the handler's struct of the request; owned, freed */
    enum sv_next (*answer)(struct sv_call *call, const struct sv_classification *c);

    struct sv_classify_task task; /* its items are in the order of the texts */
    struct sv_truncation *cuts;   /* of texts that were longer than the context */
    struct sv_usage usage;
    const char *const *labels;
    int classes;
    float *logits; /* of all items */
    int32_t **ids;
    int64_t characters;
};

/* Takes the request's struct, which is calloc'ed; NULL: no memory, and it is freed. */
struct sv_classification *sv_classification_create(
    struct sv_call *call, void *request,
    enum sv_next (*answer)(struct sv_call *call, const struct sv_classification *c));
void sv_classification_destroy(struct sv_classification *c); /* NULL is fine */

/* The classifier of that name, as sv_select_classifier finds it. */
bool sv_classification_find(struct sv_classification *c, const char *name,
                            struct sv_problem *problem);
/* Texts to tokens. `param` is what messages call them; several become param[0], param[1]... */
bool sv_classification_encode(struct sv_classification *c, const struct sv_texts *texts,
                              const struct sv_reading *reading, const char *param,
                              struct sv_problem *problem);
/* Admits all of it, and hands it over to its call; or none. */
bool sv_classification_submit(struct sv_classification *c, struct sv_problem *problem);
/* The end of every handler: waits when it was submitted, else destroys it and refuses. */
enum sv_next sv_classification_leave(struct sv_classification *c, struct sv_call *call,
                                     bool submitted, const struct sv_problem *problem);

/* Layers that a token of this text went through, the mean. */
double sv_classification_depth(const struct sv_classification *c, int index);

/* TEI's headers, and ours: depths, operations saved, texts cut, which model it was. */
void sv_classification_headers(struct sv_call *call, const struct sv_classification *c);
