/* sluicectl_cli.c - runs sluicectl and starts daemons for it. */
#include "support/sluicectl_cli.h"

#include "support/test.h"
#include "support/tiny_classifiers.h"

#include <stdarg.h>

void ctl_reach(struct ctl_target *t)
{
    (void)snprintf(t->url, sizeof t->url, "http://127.0.0.1:%d", t->daemon.port);
    (void)test_path(t->input, t->daemon.directory, "in");
}

void ctl_serve(struct ctl_target *t)
{
    DAEMON_START(&t->daemon, "--max-sequences", "4");
    ctl_reach(t);
}

void ctl_serve_classifiers_with(struct ctl_target *t, const char *texts, const char *bytes)
{
    daemon_make_store(&t->daemon);
    tiny_classifiers_make(t->daemon.store);
    daemon_serve(&t->daemon,
                 (const char *const[]){"--default-classifier", MOOD, "--max-client-batch-size",
                                       texts, "--max-body-bytes", bytes, NULL});
    ctl_reach(t);
}

void ctl_serve_classifiers(struct ctl_target *t)
{
    ctl_serve_classifiers_with(t, "256", "2097152");
}

const struct program_result *ctl_run(struct program_result *r, const char *url, const char *input,
                                     ...)
{
    const char *args[PROGRAM_ARGS_MAX] = {"--url", url};
    int count = 2;
    va_list list;
    va_start(list, input);
    while ((args[count] = va_arg(list, const char *)))
        cr_assert_lt(++count, PROGRAM_ARGS_MAX);
    va_end(list);
    program_run(r, "sluicectl", input && access(input, F_OK) == 0 ? input : NULL, args);
    return r;
}
