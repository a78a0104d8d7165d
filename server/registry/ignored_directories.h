/* ignored_directories.h - the registry's list of directories in the store that are no models, or no
 * versions. On the thread that makes changes. */
#pragma once

#include "registry/registry_tables.h"

/* Adds a directory, <store>/<model> or <store>/<model>/<version>, unless it is listed, with a
 * warning in the log. `version`: "" for the former. `reason` is not copied. */
void sv_ignored_add(struct sv_registry *registry, const char *model, const char *version,
                    const char *reason);
/* Removes what is gone from the store, and what is a model by now. */
void sv_ignored_refresh(struct sv_registry *registry);
/* One of a model; NULL: there is none. */
const struct sv_ignored *sv_ignored_find(const struct sv_registry *registry, const char *model);
