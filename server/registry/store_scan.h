/* store_scan.h - what the store's directories hold. On the thread that makes changes. */
#pragma once

#include "registry/registry_tables.h"

bool sv_is_directory(const char *path);
/* Adds the versions that a model's directory has, and forgets those that are gone; the number of
 * them. */
int sv_scan_model(struct sv_registry *registry, const char *name);
/* Calls `visit` for each entry of the store that has a model's name; directories with other names
 * are ignored (ignored_directories.h). The number of calls that returned true. */
int sv_scan_store(struct sv_registry *registry,
                  bool (*visit)(struct sv_registry *registry, const char *name));
/* Whether a version is whole: its manifest is there. */
bool sv_version_is_complete(const struct sv_registry *registry, const struct sv_model *model,
                            const struct sv_version *version);
/* Remembers which versions are complete. The highest of those that were not before; 0: there is
 * none that is higher than all that were. */
long sv_note_complete(const struct sv_registry *registry, struct sv_model *model);
/* Forgets the models whose directories are gone and of which nothing is in use: others need their
 * places. */
void sv_forget_models(struct sv_registry *registry);
