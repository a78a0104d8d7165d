/* sluicectl_cli.h - sluicectl as a child of a test, and daemons for it to talk to. */
#pragma once

#include "support/daemon.h"
#include "support/program.h"

/* A daemon, how sluicectl reaches it, and what the last run of sluicectl wrote. Large: make it
 * static. */
struct ctl_target {
    struct daemon daemon;
    char url[64];
    char input[PATH_MAX]; /* sluicectl's standard input, once the test has written it */
    struct program_result result;
};

/* Starts a daemon with the tiny model. */
void ctl_serve(struct ctl_target *t);

/* Starts a daemon with the tiny classifiers besides, whose requests may have this many texts and
 * bytes. */
void ctl_serve_classifiers_with(struct ctl_target *t, const char *texts, const char *bytes);

/* The same, with 256 texts and 2 MiB. */
void ctl_serve_classifiers(struct ctl_target *t);

/* Sets the target's url and input, after its daemon was started by other means. */
void ctl_reach(struct ctl_target *t);

/* Runs sluicectl --url URL and these arguments; NULL ends them. Its standard input is the file
 * `input`, or nothing where that is NULL or does not exist. Returns r. */
const struct program_result *ctl_run(struct program_result *r, const char *url, const char *input,
                                     ...);

/* Runs sluicectl on a target, a struct with url, input and result. */
#define CTL(t, ...) ctl_run(&(t)->result, (t)->url, (t)->input, __VA_ARGS__, NULL)
