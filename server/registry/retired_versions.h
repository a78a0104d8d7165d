/* retired_versions.h - versions that requests no longer get. On the registry's thread. */
#pragma once

#include "registry/registry_tables.h"

/* Frees those that are unused. */
void sv_free_retired(struct sv_registry *registry);
/* Ends the requests of those whose drain_seconds are over. */
void sv_expire_retired(struct sv_registry *registry);
