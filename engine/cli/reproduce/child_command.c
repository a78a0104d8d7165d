/* child_command.c - runs commands of this program. */
#include "cli/reproduce/child_command.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 256, NOT_STARTED = 127 };

static volatile sig_atomic_t child, stopped;

static void on_signal(int number)
{
    const int before = errno;
    stopped = number;
    if (child > 0)
        (void)kill((pid_t)child, number);
    errno = before;
}

static void watch(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

/* In the child. It ends with its parent. */
static void become(char **words, int out, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == parent && (out < 0 || dup2(out, STDOUT_FILENO) >= 0))
        (void)execv("/proc/self/exe", words);
    _exit(NOT_STARTED);
}

static bool fail_stopped(struct sl_err *err)
{
    return sl_fail(err, SL_BUSY, "stopped by a signal; repeat the command to continue");
}

/* A signal before the child is known would miss it, so they wait until then. */
static pid_t start(char **words, int out)
{
    sigset_t signals, before;
    pid_t parent = getpid();
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &signals, &before);
    (void)fflush(stdout);
    pid_t pid = stopped ? 0 : fork();
    if (pid == 0 && !stopped) {
        watch(SIG_DFL);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        become(words, out, parent);
    }
    child = pid;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* The codes are those of sluice.c. */
static bool check_status(int status, const char *command, struct sl_err *err)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (stopped)
        return fail_stopped(err);
    if (code == 0)
        return true;
    if (code < 0)
        return sl_fail(err, SL_IO, "`sluice %s` was ended by signal %d", command, WTERMSIG(status));
    return sl_fail(err,
                   code == 2   ? SL_BAD_INPUT
                   : code == 3 ? SL_NO_SPACE
                               : SL_IO,
                   "`sluice %s` failed with exit code %d", command, code);
}

static bool run(char **words, int out, struct sl_err *err)
{
    int status = 0;
    watch(on_signal);
    pid_t pid = start(words, out);
    if (pid == 0)
        return fail_stopped(err);
    if (pid < 0)
        return sl_fail(err, SL_NO_MEMORY, "cannot start a process: %s", strerrordesc_np(errno));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    return check_status(status, words[1], err);
}

bool child_command_run(const json_t *words, const char *path, struct sl_err *err)
{
    char *arguments[WORDS_MAX + 2] = {(char *)(uintptr_t) "sluice"};
    size_t count = json_array_size(words);
    int out = -1;
    if (count > WORDS_MAX)
        return sl_fail(err, SL_BAD_INPUT, "a command has more than %d words", WORDS_MAX);
    for (size_t i = 0; i < count; i++)
        arguments[i + 1] = (char *)(uintptr_t)json_string_value(json_array_get(words, i));
    if (path && (out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) < 0)
        return sl_fail(err, sl_file_error_code(errno), "cannot write '%s': %s", path,
                       strerrordesc_np(errno));
    bool ok = run(arguments, out, err);
    if (out >= 0)
        (void)close(out);
    return ok;
}
