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
/* The classifier `name`. If "": that of ?model= or X-Model, else default_classifier, else the only
 * classifier. */
struct sv_model_ref *sv_resolve_classifier(struct sv_request *request, const char *name,
                                           struct sv_error *error);
/* The model that gives embeddings. If "": that of ?model= or X-Model, else the only such model. */
struct sv_model_ref *sv_resolve_embedder(struct sv_request *request, const char *name,
                                         struct sv_error *error);
/* Whether a model ranks texts by a query: a classifier of pairs with a single label. */
bool sv_is_reranker(const struct sv_model_ref *ref);
/* The model that ranks texts. If "": that of ?model= or X-Model, else the only such model. */
struct sv_model_ref *sv_resolve_reranker(struct sv_request *request, const char *name,
                                         struct sv_error *error);
/* A classifier or a model that gives embeddings; `name` is not "". */
struct sv_model_ref *sv_resolve_classifier_or_embedder(struct sv_request *request, const char *name,
                                                       struct sv_error *error);
/* As sv_resolve_classifier, but other models are accepted too, if named or the only model. */
struct sv_model_ref *sv_resolve_any_model(struct sv_request *request, const char *name,
                                          struct sv_error *error);

/* One of those above. */
typedef struct sv_model_ref *sv_resolve_function(struct sv_request *request, const char *name,
                                                 struct sv_error *error);
/* Responds with the JSON that `write` makes of the model in the path, or with the error. */
enum sv_progress sv_respond_about_model(struct sv_request *request, sv_resolve_function *resolve,
                                        void (*write)(struct sl_json_writer *json,
                                                      const struct sv_request *request,
                                                      const struct sv_model_ref *ref));
