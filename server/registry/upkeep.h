/* upkeep.h - what the registry's thread does by itself. */
#pragma once

#include "registry/registry_tables.h"

/* Looks for new versions and unloads idle ones, when it is time. On the registry's thread. */
void sv_upkeep(struct sv_registry *registry);
