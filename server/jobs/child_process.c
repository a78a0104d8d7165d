/* child_process.c - a child process in the background. */
#include "jobs/child_process.h"

#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void sv_command_add(struct sv_command_line *line, const char *format, ...)
{
    va_list list;
    size_t room = sizeof line->text - line->bytes;
    va_start(list, format);
    int length = vsnprintf(line->text + line->bytes, room, format, list);
    va_end(list);
    if (length < 0 || (size_t)length >= room || line->count == SV_PROCESS_WORDS_MAX) {
        line->failed = true;
        return;
    }
    line->words[line->count++] = line->text + line->bytes;
    line->words[line->count] = NULL;
    line->bytes += (size_t)length + 1;
}

static int open_output(const char *path, struct sl_err *err)
{
    const char *name = path ? path : "/dev/null";
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0)
        (void)sl_fail(err, sl_file_error_code(errno), "open '%s': %s", name,
                      strerrordesc_np(errno));
    return fd;
}

/* A descriptor that the caller closes: of the file, or a copy of the one that was given. */
static int find_output(const struct sv_child_process_options *options, struct sl_err *err)
{
    if (options->out_fd <= 0)
        return open_output(options->out, err);
    int fd = fcntl(options->out_fd, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        (void)sl_fail(err, SL_NO_MEMORY, "cannot copy a descriptor: %s", strerrordesc_np(errno));
    return fd;
}

/* If memory runs out, the kernel takes this process before any that serves requests. */
static void volunteer(void)
{
    static const char highest[] = "1000";
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!write(fd, highest, sizeof highest - 1);
    (void)close(fd);
}

/* Between fork and exec only calls that are safe after a fork of one thread among many. */
__attribute__((noreturn)) static void become(const struct sv_command_line *line,
                                             const struct sv_child_process_options *options,
                                             const int fds[static 3], pid_t parent)
{
    sigset_t none;
    const struct sched_param param = {0};
    (void)sigemptyset(&none);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died in between */
        _exit(SV_EXIT_NOT_STARTED);
    (void)setpriority(PRIO_PROCESS, 0, options->nice);
    (void)sched_setscheduler(0, SCHED_BATCH, &param);
    volunteer();
    if (options->cgroup_fd >= 0)
        (void)!write(options->cgroup_fd, "0", 1);
    for (int i = 0; i < 3; i++)
        if (dup2(fds[i], i) < 0)
            _exit(SV_EXIT_NOT_STARTED);
    (void)close_range(3, ~0U, 0);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
    (void)execv(line->words[0], line->words);
    (void)dprintf(STDERR_FILENO, "cannot start '%s': %s\n", line->words[0], strerrordesc_np(errno));
    _exit(SV_EXIT_NOT_STARTED);
}

bool sv_child_process_start(struct sv_child_process *process, const struct sv_command_line *line,
                            const struct sv_child_process_options *options, struct sl_err *err)
{
    int fds[3] = {-1, -1, -1};
    pid_t parent = getpid(), pid = -1;
    if (line->failed || line->count == 0)
        return sl_fail(err, SL_BAD_INPUT, "the command line is too long");
    fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fds[0] < 0)
        (void)sl_fail(err, SL_IO, "open '/dev/null': %s", strerrordesc_np(errno));
    bool ok = fds[0] >= 0 && (fds[1] = find_output(options, err)) >= 0 &&
              (fds[2] = open_output(options->err, err)) >= 0;
    if (ok) {
        pid = fork();
        if (pid == 0)
            become(line, options, fds, parent);
        ok = pid > 0 ||
             sl_fail(err, SL_NO_MEMORY, "cannot start a process: %s", strerrordesc_np(errno));
    }
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    *process = (struct sv_child_process){.pid = ok ? pid : 0};
    if (ok)
        (void)setpgid(pid, pid); /* both processes do this; the first one counts */
    return ok;
}

bool sv_child_process_poll(struct sv_child_process *process, int *status)
{
    if (process->pid <= 0)
        return false;
    pid_t changed = waitpid(process->pid, status, WNOHANG | WUNTRACED | WCONTINUED);
    if (changed == 0 || (changed < 0 && errno == EINTR))
        return false;
    if (changed > 0 && (WIFSTOPPED(*status) || WIFCONTINUED(*status))) {
        process->stopped_ns = WIFSTOPPED(*status) ? sl_now_ns() : 0;
        return false;
    }
    if (changed < 0)
        *status = SIGKILL; /* somebody else took the status */
    process->pid = 0;
    return true;
}

void sv_child_process_signal(const struct sv_child_process *process, int signal)
{
    if (process->pid > 0)
        (void)kill(-process->pid, signal);
}
