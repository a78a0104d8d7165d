/* job_event_stream.h - the events of a job as server-sent events: those so far, then new ones. */
#pragma once

#include "core/request.h"

/* Whether the client asks for it: ?stream=true, or it accepts text/event-stream. */
bool sv_job_events_are_streamed(const struct sv_request *request);
/* Responds for the job of the path, which exists. ?after=ID or Last-Event-ID begins after an event.
 * The stream ends with `data: [DONE]` once the job has ended. */
enum sv_progress sv_job_event_stream(struct sv_request *request);
