/* state_directory.h - the state directory, and an index of its documents in SQLite.
 *
 *     <state>/sluice.db      this index
 *     <state>/audit.jsonl    the audit log
 *     <state>/files/<id>/    an uploaded file
 *     <state>/jobs/<id>/     a training job
 *     <state>/tmp/           what is being written; emptied at the start
 *
 * The directories are the truth. A database that is missing, damaged or of another schema is
 * replaced by an empty one, and the owners of the directories fill it again. A document is a
 * JSON object with an id; documents are listed in the order in which they were first put.
 *
 * Any thread. One daemon at a time has a state directory. */
#pragma once

#include "base/buffer.h"
#include "core/request_error.h"

#include <stdbool.h>

struct sv_state;

enum sv_collection {
    SV_FILES,
    SV_JOBS,
    SV_EVENTS,      /* of a job, their parent */
    SV_CHECKPOINTS, /* of a job, their parent */
    SV_AUDIT,
    SV_COLLECTIONS
};

/* Creates what is missing of the directory, locks it and opens the database. */
struct sv_state *sv_state_open(const char *directory, struct sl_err *err) SL_MUST_CHECK;
void sv_state_close(struct sv_state *state); /* NULL is fine */

/* Whether the database was made anew and must be filled from the directories. */
bool sv_state_is_new(const struct sv_state *state);
const char *sv_state_directory(const struct sv_state *state);

/* Logs what failed and why, and fails: with SV_STORAGE_FULL if the disk is full, else with
 * SV_INTERNAL. */
bool sv_state_fail_disk(const char *what, const struct sl_err *err, struct sv_error *error);

/* Several changes as one, before there are other threads: much faster than one by one. */
bool sv_state_begin(struct sv_state *state, struct sl_err *err) SL_MUST_CHECK;
/* Ends them: all count, or none if `good` is false or they cannot be written. */
bool sv_state_end(struct sv_state *state, bool good, struct sl_err *err) SL_MUST_CHECK;

/* Adds or replaces a document. parent: its job; NULL for documents that have none. */
bool sv_state_put(struct sv_state *state, enum sv_collection collection, const char *id,
                  const char *parent, const char *document, struct sl_err *err) SL_MUST_CHECK;
/* Appends the document; SL_NOT_FOUND if there is none. */
bool sv_state_get(struct sv_state *state, enum sv_collection collection, const char *id,
                  struct sl_buffer *document, struct sl_err *err) SL_MUST_CHECK;
/* A missing one is fine. Deleting a job deletes its events and checkpoints. */
bool sv_state_delete(struct sv_state *state, enum sv_collection collection, const char *id,
                     struct sl_err *err) SL_MUST_CHECK;

/* One page of a list. */
struct sv_page {
    const char *parent; /* only its documents; NULL: all */
    const char *after;  /* the id before the first; NULL or "": from the beginning */
    int limit;
    bool oldest_first;
    const char *member, *value; /* only documents with this member, a JSON path; NULL: all */
    /* Only documents whose `metadata` has all members of this JSON object, and none at all if it is
     * "null"; NULL: all. */
    const char *metadata;
    /* Called for each document, with the database locked. */
    void (*each)(void *context, const char *id, const char *document);
    void *context;
    bool has_more; /* set: there are documents after these */
};

/* SL_NOT_FOUND: there is no document `after`. */
bool sv_state_list(struct sv_state *state, enum sv_collection collection, struct sv_page *page,
                   struct sl_err *err) SL_MUST_CHECK;
