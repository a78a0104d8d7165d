/* registry_thread.h - the thread that makes all changes. */
#pragma once

#include "registry/registry_tables.h"

bool sv_registry_thread_start(struct sv_registry *registry, struct sl_err *err) SL_MUST_CHECK;
/* Ends it. Changes that wait fail. */
void sv_registry_thread_stop(struct sv_registry *registry);
