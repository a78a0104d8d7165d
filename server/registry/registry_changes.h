/* registry_changes.h - one change of models, made. */
#pragma once

#include "registry/registry_tables.h"

/* Makes a change. On the registry's thread. */
void sv_make_change(struct sv_registry *registry, const struct sv_change *change,
                    struct sv_change_result *result);
