/* sluice_cli.h - the sluice program as a child of a test: its answers, its JSON and what it says of
 * wrong arguments. */
#pragma once

#include "support/program.h"
#include "support/workspace.h"

#include <jansson.h>

/* A workspace with a corpus of bottles, and output in store/bottles/1. Also ends the test after
 * 100 seconds, in case a child hangs. */
void sluice_setup(struct workspace *w);

/* Starts it without standard input or errors; *out reads its output. */
pid_t sluice_start(const char *const *args, FILE **out);

/* Runs it to its end. */
void sluice_run(struct program_result *r, const char *const *args);

/* The same; it must succeed. */
void sluice_expect_success(struct program_result *r, const char *const *args);

/* The same; its output must be JSON, which the caller releases. */
json_t *sluice_expect_json(struct program_result *r, const char *const *args);

/* Arguments that are refused, and how. */
struct usage_error {
    const char *args[12];
    int exit_code;
    const char *named, *accepted; /* both must be in the message, which has one line */
};

void sluice_expect_usage_errors(const struct usage_error *errors, size_t count);

/* Makes a small untrained model from the workspace's corpus in its output. */
void sluice_make_model(const struct workspace *w);
