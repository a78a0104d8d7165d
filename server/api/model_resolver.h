/* model_resolver.h - finds the model that a request means: the one it names, or the default. */
#pragma once

#include "core/request.h"
#include "registry/registry.h"

/* The name in the path, as name@version when the path has a version too; "": it has none. */
const char *sv_versioned_name(const struct sv_call *call, char name[static SV_PATH_MAX]);

/* What is found is borrowed, to be released; from then on the call counts as that model's. NULL:
 * see the problem. */

/* The model called so, `name@version` included. */
struct sv_served *sv_select(struct sv_call *call, const char *name, struct sv_problem *problem);
/* The classifier called so. "": what ?model= or X-Model says; when they do not, the option
 * default_classifier, or the only classifier there is. */
struct sv_served *sv_select_classifier(struct sv_call *call, const char *name,
                                       struct sv_problem *problem);
/* The same for what every model can do: a model that completes is as good, if it is named or the
 * only one. */
struct sv_served *sv_select_any(struct sv_call *call, const char *name, struct sv_problem *problem);
