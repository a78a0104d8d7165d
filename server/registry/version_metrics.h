/* version_metrics.h - what the registry counts about versions. A daemon that loads a version a day
 * does not keep the metrics of all. */
#pragma once

#include "registry/registry.h"

/* The state of a version, and whether requests get it. */
void sv_record_state(struct sv_metrics *metrics, const char *model, long version,
                     enum sv_version_state state, bool is_ready);
/* Removes the metrics of a version, except its state if it is still in the store. */
void sv_record_unloaded(struct sv_metrics *metrics, const char *model, long version);
void sv_record_forgotten(struct sv_metrics *metrics, const char *model, long version);
void sv_record_model_forgotten(struct sv_metrics *metrics, const char *model);
void sv_record_loaded(struct sv_metrics *metrics, const char *model, const char *version,
                      const char *sha256, double seconds);
void sv_record_load_failed(struct sv_metrics *metrics, const char *model);
