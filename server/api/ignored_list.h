/* ignored_list.h - the directories of a model that are no versions, in responses. */
#pragma once

#include "base/json_writer.h"
#include "registry/registry.h"

/* The member "ignored" of an open object, unless there are none. A NULL snapshot has none. Returns
 * how many there are. */
int sv_ignored_write(struct sl_json_writer *json, const struct sv_snapshot *snapshot,
                     const char *model);
