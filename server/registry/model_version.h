/* model_version.h - one version of a model, loaded. */
#pragma once

#include "registry/registry_tables.h"

/* Opens a version and has its executor made. NULL: see err, and reason, which is for clients. */
struct sv_model_ref *sv_version_open(struct sv_registry *registry, const char *name, long version,
                                     struct sl_err *err, char reason[static SV_REASON_MAX]);
/* Frees one that is not used. */
void sv_version_close(struct sv_model_ref *ref);
