/* version_loader.h - loads versions, and publishes them and their labels. On the thread that makes
 * changes. */
#pragma once

#include "registry/registry_tables.h"

/* Loads one version and publishes it in place of what was there. */
bool sv_load_version(struct sv_registry *registry, struct sv_model *model,
                     struct sv_version *version, struct sv_error *error);
/* Loads the highest version, or if the model has none that is ready the highest one that is good.
 * is_found: as in struct sv_change. `loaded`: which. */
bool sv_load_highest(struct sv_registry *registry, struct sv_model *model, bool is_found,
                     long *loaded, struct sv_error *error);
/* Publishes new labels, and unloads what they no longer name. */
void sv_set_labels(struct sv_registry *registry, struct sv_model *model,
                   const struct sv_labels *labels);
