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

enum sv_wanted_model {
    SV_WANTS_CLASSIFIER,
    SV_WANTS_EMBEDDINGS,
    SV_WANTS_EITHER,   /* of the two; the request names it */
    SV_WANTS_RERANKER, /* sv_is_reranker */
    SV_WANTS_ANY
};

/* The same, of a kind. If `name` is "": that of ?model= or X-Model, else the default_classifier if
 * a classifier is wanted or any model, else the only such model. */
struct sv_model_ref *sv_resolve_wanted(struct sv_request *request, enum sv_wanted_model wanted,
                                       const char *name, struct sv_error *error);

/* Whether a model ranks texts by a query: a classifier of pairs with a single label. */
bool sv_is_reranker(const struct sv_model_ref *ref);

/* Responds with the JSON that `write` makes of the model in the path, or with the error. */
enum sv_progress sv_respond_about_model(struct sv_request *request, enum sv_wanted_model wanted,
                                        void (*write)(struct sl_json_writer *json,
                                                      const struct sv_request *request,
                                                      const struct sv_model_ref *ref));
