/* model_resolver.h - finds the model of a request: the one that it names, or the default. */
#pragma once

#include "base/json_writer.h"
#include "core/request.h"
#include "registry/registry.h"

/* The model in the path, as name, name@version or name:label; "" if it has none. */
const char *sv_path_model_id(const struct sv_request *request, char name[static SV_PATH_MAX]);

/* These return a reference to be released, count the request for that version, and name it in the
 * response header x-sluice-model. NULL: see error. */

/* The model `name`, `name@version` or `name:label`. */
struct sv_model_ref *sv_resolve_model(struct sv_request *request, const char *name,
                                      struct sv_error *error);

/* What a request needs of its model. */
enum sv_wanted_model {
    SV_WANTS_CLASSIFIER,
    SV_WANTS_EMBEDDINGS,
    SV_WANTS_RERANKER,
    SV_WANTS_SPARSE_EMBEDDINGS,
    SV_WANTS_TOKEN_EMBEDDINGS,
    SV_WANTS_TEI_MODEL, /* a reranker, a classifier or a model that gives embeddings */
    SV_WANTS_READER,    /* any but those that only complete texts */
    SV_WANTS_ANY,
    SV_WANTED_MODELS
};

/* The model `name`, if it is of that kind. If "": that of ?model= or X-Model, else
 * default_classifier if a classifier is of the kind, else the only classifier or else the only
 * model of the kind. */
struct sv_model_ref *sv_resolve(struct sv_request *request, const char *name,
                                enum sv_wanted_model wants, struct sv_error *error);

/* Responds with the JSON that `write` makes of the model in the path, or with the error. */
enum sv_progress sv_respond_about_model(struct sv_request *request, enum sv_wanted_model wants,
                                        void (*write)(struct sl_json_writer *json,
                                                      const struct sv_request *request,
                                                      const struct sv_model_ref *ref));
