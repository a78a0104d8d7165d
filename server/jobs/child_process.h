/* child_process.h - a child process in the background: its own process group, a lower priority,
 * and a control group if the daemon has one for it. It dies with the thread that started it. */
#pragma once

#include "sluice/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    SV_PROCESS_WORDS_MAX = 192,
    SV_PROCESS_BYTES_MAX = 32768,
    SV_EXIT_NOT_STARTED = 127 /* of a child whose program cannot be started: it says why */
};

/* A command line, built word by word. */
struct sv_command_line {
    char *words[SV_PROCESS_WORDS_MAX + 1]; /* in `text`; NULL after the last */
    int count;
    char text[SV_PROCESS_BYTES_MAX];
    size_t bytes;
    bool failed; /* it is too long */
};

void sv_command_add(struct sv_command_line *line, const char *format, ...) SL_PRINTF(2, 3);

struct sv_child_process_options {
    const char *out, *err; /* files for its output and its errors, emptied; NULL: /dev/null */
    int out_fd;            /* takes its output instead of `out`; 0: none */
    int nice;              /* 0 to 19 */
    int cgroup_fd;         /* cgroup.procs to move it to; -1: none */
};

struct sv_child_process {
    pid_t pid;          /* 0: none runs */
    int64_t stopped_ns; /* since when a signal such as SIGSTOP has stopped it; 0: none has */
};

/* Starts a program. The same thread polls it, and lives as long. */
bool sv_child_process_start(struct sv_child_process *process, const struct sv_command_line *line,
                            const struct sv_child_process_options *options, struct sl_err *err)
    SL_MUST_CHECK;
/* True once it has ended: *status is as waitpid gives it. Also notices that it was stopped. */
bool sv_child_process_poll(struct sv_child_process *process, int *status);
/* Sends a signal to its process group. */
void sv_child_process_signal(const struct sv_child_process *process, int signal);
