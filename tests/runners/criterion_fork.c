/* criterion_fork.c - runs Criterion tests where Criterion itself cannot: under the sanitizers, and
 * for another processor, for which it is not installed.
 *
 * Criterion starts its test processes through a memory area at an address that the thread
 * sanitizer keeps for itself (Criterion issue 274), and it counts a test as passed whose process
 * the address sanitizer ended for a leak. Its tests are plain functions listed in a section of the
 * program, though, and its macros call few others: this file has those few and a main of its own,
 * and forks once for each test. It takes no options. */
#include "base/clock.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PASSED = 0, FAILED = 1, SKIPPED = 77 };

enum { TEST_SECONDS_MAX = 150 };

/* The linker's names for the ends of Criterion's two lists; without suites there is no second. */
/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

/* Of the one test this process runs. */
static const struct criterion_test *test;
static const struct criterion_suite *suite;
static bool has_failed;

static const struct criterion_suite *suite_of(const struct criterion_test *t)
{
    for (struct criterion_suite **s = __start_cr_sts; s != __stop_cr_sts; s++)
        if (*s && strcmp((*s)->name, t->category) == 0)
            return *s;
    return NULL;
}

/* ---- what the macros call ------------------------------------------------------------------- */

void criterion_internal_test_setup(void)
{
    if (suite && suite->data->init)
        suite->data->init();
    if (test->data->init)
        test->data->init();
}

void criterion_internal_test_main(void (*fn)(void))
{
    fn();
}

void criterion_internal_test_teardown(void)
{
    if (test->data->fini)
        test->data->fini();
    if (suite && suite->data->fini)
        suite->data->fini();
}

void criterion_send_assert(struct criterion_assert_stats *stats)
{
    if (stats->passed)
        return;
    has_failed = true;
    (void)fprintf(stderr, "%s:%u: %s\n", stats->file, stats->line, stats->message);
}

#ifdef SL_WITHOUT_CRITERION
struct criterion_options criterion_options;

void cri_asserts_passed_incr(void)
{
}

int cr_asprintf(char **text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int bytes = vasprintf(text, format, args);
    va_end(args);
    return bytes;
}

void cr_asprintf_free(char *text)
{
    free(text);
}

/* Only the source of the condition: file and line say the rest. */
char *cr_translate_assert_msg(int index, ...)
{
    va_list args;
    va_start(args, index);
    const char *condition = va_arg(args, const char *);
    va_end(args);
    return strdup(condition);
}
#endif

void criterion_abort_test(void)
{
    criterion_internal_test_teardown();
    exit(FAILED);
}

void criterion_continue_test(void)
{
}

void criterion_skip_test(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    criterion_internal_test_teardown();
    exit(SKIPPED);
}

/* ---- running -------------------------------------------------------------------------------- */

static int run_here(const struct criterion_test *t)
{
    test = t;
    suite = suite_of(t);
    t->test();
    return has_failed ? FAILED : PASSED;
}

/* exit and not _exit: sanitizers report at exit. */
static int run_apart(const struct criterion_test *t)
{
    int status;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(TEST_SECONDS_MAX); /* SIGALRM ends one that hangs, so that it is named */
        exit(run_here(t));
    }
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

/* A test may announce how it ends: by a signal, or with an exit code. */
static bool is_as_announced(const struct criterion_test *t, int status)
{
    if (t->data->signal != 0)
        return WIFSIGNALED(status) && WTERMSIG(status) == t->data->signal;
    if (!WIFEXITED(status))
        return false;
    return WEXITSTATUS(status) == t->data->exit_code || WEXITSTATUS(status) == SKIPPED;
}

/* Of the processes that have ended. */
static double cpu_seconds(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main(void)
{
    int count = 0, failures = 0;
    for (struct criterion_test **t = __start_cr_tst; t != __stop_cr_tst; t++) {
        if (!*t || (*t)->data->disabled)
            continue;
        if ((*t)->data->kind_ != CR_TEST_NORMAL) {
            (void)fprintf(stderr, "%s: only plain tests run here\n", (*t)->data->identifier_);
            return FAILED;
        }
        double start_s = sl_now_seconds(), start_cpu_s = cpu_seconds();
        int status = run_apart(*t);
        double seconds = sl_now_seconds() - start_s;
        count++;
        if (seconds > 3.0)
            (void)printf("[SLOW] %s: %.1f s, %.1f s of CPU time\n", (*t)->data->identifier_,
                         seconds, cpu_seconds() - start_cpu_s);
        if (is_as_announced(*t, status))
            continue;
        failures++;
        (void)printf("[FAIL] %s (status 0x%x)\n", (*t)->data->identifier_, (unsigned)status);
    }
    (void)printf("Tested: %d | Failing: %d\n", count, failures);
    return failures == 0 && count > 0 ? PASSED : FAILED;
}
