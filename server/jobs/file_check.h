/* file_check.h - `sluice check` of an uploaded file, for a request that waits for its result.
 *
 * A child process reads the file. A thread of its own starts the child, takes what it prints, and
 * kills it when the client leaves or the time is over. */
#pragma once

#include "core/request.h"
#include "jobs/job.h"

/* NULL: not given. */
struct sv_file_check_options {
    const char *label, *text, *label_separator;
    int records;
};

struct sv_file_check {
    struct sv_jobs *jobs;
    struct sv_request *request;
    struct sv_file_info file;
    struct sv_command_line line; /* empty at first */
    struct sl_buffer *output;    /* the result, JSON; */
    struct sv_error *error;      /* or why there is none */
    void (*done)(void *context);
    void *context;
};

/* Starts the thread, which calls `done` at its end. The command line is made of the options. */
bool sv_file_check_start(struct sv_file_check *check, const struct sv_file_check_options *options,
                         struct sv_error *error) SL_MUST_CHECK;
