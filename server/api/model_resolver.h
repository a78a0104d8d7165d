/* model_resolver.h - finds the model that a request means: the one it names, or the default. */
#pragma once

#include "core/request.h"
#include "registry/registry.h"

/* The name in the path, as name@version when the path has a version too; "": it has none. */
const char *sv_path_model_id(const struct sv_request *request, char name[static SV_PATH_MAX]);

/* What is found is borrowed, to be released; from then on the request counts as that model's. NULL:
 * see the error. */

/* The model called so, `name@version` included. */
struct sv_model_ref *sv_resolve_model(struct sv_request *request, const char *name,
                                      struct sv_error *error);
/* The classifier called so. "": what ?model= or X-Model says; when they do not, the option
 * default_classifier, or the only classifier there is. */
struct sv_model_ref *sv_resolve_classifier(struct sv_request *request, const char *name,
                                           struct sv_error *error);
/* The same for what every model can do: a model that completes is as good, if it is named or the
 * only one. */
struct sv_model_ref *sv_resolve_any_model(struct sv_request *request, const char *name,
                                          struct sv_error *error);
