/* registry_fixture.h - a registry over a store with mood 4 and plain 4, run by a scheduler. */
#pragma once

#include "support/scheduler_fixture.h"
#include "support/tiny_classifiers.h"

/* Makes the store, adds what `more` adds to fixture->store, and loads it. more: NULL, nothing. */
void registry_fixture_open(struct scheduler_fixture *fixture, void (*more)(void));
/* Stops it, and loads what the store holds now. */
void registry_fixture_restart(struct scheduler_fixture *fixture);

/* Make a change and wait for its result. */
struct sv_change_result registry_make_change(struct scheduler_fixture *fixture,
                                             const struct sv_change *change);
struct sv_change_result registry_change(struct scheduler_fixture *fixture, enum sv_change_kind kind,
                                        const char *model, long version);
struct sv_change_result registry_label(struct scheduler_fixture *fixture, const char *model,
                                       const char *label, long version, int weight);

/* A name means that version; id NULL: it is not served. */
void registry_expect_served(const struct scheduler_fixture *fixture, const char *name,
                            const char *id);
/* A name must mean a version. */
struct sv_version_info registry_info_of(const struct scheduler_fixture *fixture, const char *name);
enum sv_version_state registry_state_of(const struct scheduler_fixture *fixture, const char *name);
void registry_wait_for_state(const struct scheduler_fixture *fixture, const char *name,
                             enum sv_version_state state);
