/* manifest.h - a directory of files that is written and replaced atomically.
 *
 * manifest.json is written last and names every other file with its size and SHA-256. Reading maps
 * the files and checks all of it; files that are missing or in surplus are named. */
#pragma once

#include "base/file.h"

#include <stdint.h>

enum { SL_PATH_MAX = 4096 };

/* directory/name */
bool sl_path_join(char path[SL_PATH_MAX], const char *directory, const char *name,
                  struct sl_err *err) SL_MUST_CHECK;

/* directory/manifest.json: where it is, there is a model or another whole directory of ours. */
bool sl_manifest_path(char path[SL_PATH_MAX], const char *directory, struct sl_err *err)
    SL_MUST_CHECK;

/* One file of such a directory. The caller gives the name, opening fills in the rest. */
struct sl_manifest_file {
    const char *name;
    struct sl_map map;
    char sha256[65];
};

struct sl_manifest {
    struct sl_manifest_file *members;
    int count;
    int64_t created; /* seconds since 1970 */
};

/* Whether a new directory may take the place of this one: it is missing, empty, or a whole one of
 * ours. */
bool sl_manifest_may_replace(const char *directory, struct sl_err *err) SL_MUST_CHECK;

/* Makes an empty directory beside `directory`, if that may be replaced, under the name that commit
 * expects. What a writer that died left there is removed; so one writer at a time for one
 * directory. */
bool sl_manifest_begin(char tmp[SL_PATH_MAX], const char *directory, struct sl_err *err)
    SL_MUST_CHECK;
/* Adds a file of text, which is freed; NULL fails, with err as its maker set it. */
bool sl_manifest_add(const char *tmp, const char *name, char *text, struct sl_err *err)
    SL_MUST_CHECK;
/* Writes the manifest over the files there and puts all of it in place of `directory`. */
bool sl_manifest_commit(const char *tmp, const char *directory, const struct sl_manifest *manifest,
                        struct sl_err *err) SL_MUST_CHECK;

/* Gives up: removes what begin made. Says nothing, for the failure before it is the one to tell. */
void sl_manifest_abandon(const char *tmp);

/* Maps and verifies; exactly these members must be there. Sets created. */
bool sl_manifest_open(const char *directory, struct sl_manifest *manifest, struct sl_err *err)
    SL_MUST_CHECK;
void sl_manifest_close(struct sl_manifest *manifest);
