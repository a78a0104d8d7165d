/* audit_log.h - who changed what, when and from where.
 *
 * One line of JSON per change in <state>/audit.jsonl, synced, and its index. Any thread. */
#pragma once

#include "core/request.h"
#include "state/state_directory.h"

struct sv_audit_log;

/* Brings the index up to date with the file. The state must outlive it. */
struct sv_audit_log *sv_audit_open(struct sv_state *state, struct sl_err *err) SL_MUST_CHECK;
void sv_audit_close(struct sv_audit_log *log); /* NULL is fine */

/* Records that a request did what its action says. detail: a JSON value; NULL: none. error: the
 * code of why it failed; NULL: it did not. Without a state directory it goes to the daemon's log
 * alone. */
void sv_audit(struct sv_request *request, const char *target, const char *detail,
              const char *error);
/* Records that it failed, and why, unless there is an entry already. The disk thread writes it.
 * Of a flood only some are recorded, so that it cannot fill the disk; the next entry says how many
 * are missing. */
void sv_audit_failure(struct sv_request *request);
/* The same for what the daemon does by itself, such as a promotion by a job's rule. */
void sv_audit_daemon(struct sv_server *server, const char *action, const char *target,
                     const char *detail, const char *error);
