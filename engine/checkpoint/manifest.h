/* manifest.h - a directory of files that is written and replaced atomically.
 *
 * manifest.json is written last and names every other file with its size and SHA-256. Reading
 * copies the files and checks all of it; errors name files that are missing or not listed. */
#pragma once

#include "base/file.h"

#include <stdint.h>

/* directory/manifest.json. It exists in every complete directory that Sluice wrote, such as a
 * model's. */
bool sl_manifest_path(char path[SL_PATH_MAX], const char *directory, struct sl_err *err)
    SL_MUST_CHECK;

/* One file of such a directory. The caller sets the name; opening sets the rest. */
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

/* Whether a new directory may replace this one: it does not exist, is empty, or is complete and
 * written by Sluice. */
bool sl_manifest_may_replace(const char *directory, struct sl_err *err) SL_MUST_CHECK;

/* A directory that is being written. */
struct sl_manifest_writer {
    char tmp[SL_PATH_MAX]; /* where its files go until they are complete */
    int lock;              /* of tmp; -1 if the file system has no locks */
};

/* Makes an empty directory beside `directory`, if that may be replaced. Removes what an interrupted
 * writer left there. While another is writing, it fails with SL_BUSY. */
bool sl_manifest_begin(struct sl_manifest_writer *writer, const char *directory, struct sl_err *err)
    SL_MUST_CHECK;
/* Adds a file of text, which is freed; NULL fails and keeps err. */
bool sl_manifest_add(const char *tmp, const char *name, char *text, struct sl_err *err)
    SL_MUST_CHECK;
/* Writes the manifest of the files in `tmp`, which then replaces `directory`. On success the writer
 * is done. */
bool sl_manifest_commit(struct sl_manifest_writer *writer, const char *directory,
                        const struct sl_manifest *manifest, struct sl_err *err) SL_MUST_CHECK;

/* Removes what begin created. Reports no error, because an earlier one is being reported. */
void sl_manifest_abandon(struct sl_manifest_writer *writer);

/* Maps and verifies; exactly these members must be there. Sets created. */
bool sl_manifest_open(const char *directory, struct sl_manifest *manifest, struct sl_err *err)
    SL_MUST_CHECK;
void sl_manifest_close(struct sl_manifest *manifest);
