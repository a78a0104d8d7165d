/* workspace.c - makes and removes the directory of a test that trains. */
#include "support/workspace.h"

#include "support/test.h"

void workspace_create(struct workspace *w, const char *output)
{
    test_directory_create(w->top);
    (void)test_path(w->corpus, w->top, "corpus.txt");
    (void)test_path(w->run, w->top, "run");
    (void)test_path(w->output, w->top, output);
}

void workspace_remove(const struct workspace *w)
{
    test_directory_remove(w->top);
}
