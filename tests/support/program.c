/* program.c - starts the programs of this build, waits for them and reads what they wrote. */
#include "support/program.h"
#include "base/clock.h"

#include "support/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* Where the programs of this build are; the build says it. */
#ifndef SL_BUILD_DIR
#define SL_BUILD_DIR "."
#endif

enum { CANNOT_START = 127 };

const char *program_path(char *path, const char *name)
{
    int length = snprintf(path, PATH_MAX, "%s%s", strchr(name, '/') ? "" : SL_BUILD_DIR "/", name);
    cr_assert(length > 0 && length < PATH_MAX, "the path of %s is too long", name);
    return path;
}

void program_exec(const char *name, const char *const *args)
{
    char path[PATH_MAX], *argv[PROGRAM_ARGS_MAX + 2] = {(char *)(uintptr_t)name};
    for (int i = 0; args[i]; i++) {
        cr_assert_lt(i, PROGRAM_ARGS_MAX);
        argv[i + 1] = (char *)(uintptr_t)args[i];
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)execv(program_path(path, name), argv);
}

/* In the child. */
static void redirect(const int streams[static 3])
{
    for (int i = 0; i < 3; i++) {
        int fd = streams[i] < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : streams[i];
        if (fd != i)
            (void)dup2(fd, i);
    }
}

pid_t program_start(const char *name, const char *const *args, const int streams[static 3])
{
    (void)fflush(NULL);
    pid_t pid = fork();
    cr_assert_geq(pid, 0, "cannot start %s", name);
    if (pid == 0) {
        redirect(streams);
        program_exec(name, args);
        _exit(CANNOT_START);
    }
    return pid;
}

/* What each thread of a program that hangs waits for, in the log of the tests. */
static void print_threads(pid_t pid)
{
    char script[96];
    (void)snprintf(script, sizeof script, "cd /proc/%d/task && grep -s . */comm */wchan */syscall",
                   (int)pid);
    pid_t shell = program_start("/bin/sh", (const char *const[]){"-c", script, NULL},
                                (const int[]){-1, STDERR_FILENO, STDERR_FILENO});
    (void)waitpid(shell, NULL, 0);
}

int program_wait(pid_t pid)
{
    int status = 0;
    int64_t until = sl_now_ns() + (int64_t)PROGRAM_WAIT_MS * 1000000;
    while (sl_now_ns() < until) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        (void)usleep(1000);
    }
    print_threads(pid);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
    cr_assert(false, "a program did not end in %d s", PROGRAM_WAIT_MS / 1000);
    return -1;
}

static void read_back(char text[static PROGRAM_OUTPUT_MAX], FILE *file)
{
    rewind(file);
    text[fread(text, 1, PROGRAM_OUTPUT_MAX - 1, file)] = '\0';
    cr_assert_eq(fclose(file), 0);
}

void program_run(struct program_result *r, const char *name, const char *input,
                 const char *const *args)
{
    FILE *out = tmpfile(), *err = tmpfile();
    int in = input ? open(input, O_RDONLY | O_CLOEXEC) : -1;
    cr_assert(out && err);
    cr_assert(in >= 0 || !input, "cannot read %s", input);
    pid_t pid = program_start(name, args, (const int[]){in, fileno(out), fileno(err)});
    r->exit_code = program_wait(pid);
    read_back(r->out, out);
    read_back(r->err, err);
    if (in >= 0)
        (void)close(in);
}
