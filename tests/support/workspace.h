/* workspace.h - the directory of a test that trains: a corpus, a run directory and an output.
 *
 * The test owns it, as a static variable that its setup and teardown share. */
#pragma once

#include <limits.h>

struct workspace {
    char top[PATH_MAX];
    char corpus[PATH_MAX]; /* top/corpus.txt, to be written */
    char run[PATH_MAX];    /* top/run, which does not exist yet */
    char output[PATH_MAX]; /* where the model goes; does not exist yet */
};

/* Makes the directory; `output` is a path below it. */
void workspace_create(struct workspace *w, const char *output);

/* Removes the directory and all that is in it. */
void workspace_remove(const struct workspace *w);
