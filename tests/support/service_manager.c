/* service_manager.c - what systemd does for the daemon. */
#include "support/service_manager.h"

#include "support/program.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { BACKLOG = 1024, FIRST_FD = 3 };

static int open_inference(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(bind(fd, (const struct sockaddr *)&address, size), 0);
    cr_assert_eq(listen(fd, BACKLOG), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static int open_unix(int type, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    cr_assert_geq(fd, 0);
    cr_assert_lt(snprintf(address.sun_path, sizeof address.sun_path, "%s", path),
                 (int)sizeof address.sun_path);
    cr_assert_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    if (type == SOCK_STREAM)
        cr_assert_eq(listen(fd, BACKLOG), 0);
    return fd;
}

void service_manager_open(struct service_manager *manager)
{
    char path[PATH_MAX];
    *manager = (struct service_manager){0};
    daemon_make_store(&manager->daemon);
    manager->inference = open_inference(&manager->daemon.port);
    manager->admin = open_unix(SOCK_STREAM, daemon_admin_socket(&manager->daemon, path));
    manager->notify = open_unix(SOCK_DGRAM, test_path(path, manager->daemon.directory, "notify"));
}

static void set(const char *name, const char *value)
{
    if (value)
        (void)setenv(name, value, 1);
    else
        (void)unsetenv(name);
}

/* In the child. Both sockets are above their new numbers, or at them. */
static void hand_over(const struct service_manager *manager, const struct service_start *start)
{
    char path[PATH_MAX], pid[16], count[16];
    int held[] = {fcntl(manager->inference, F_DUPFD, 100), fcntl(manager->admin, F_DUPFD, 100)};
    int wanted = 1 + (strchr(start->names, ':') != NULL);
    for (int i = 0; i < wanted; i++)
        (void)dup2(held[i], FIRST_FD + i);
    for (int fd = FIRST_FD + wanted; fd < 200; fd++)
        (void)close(fd);
    (void)snprintf(pid, sizeof pid, "%d", getpid());
    (void)snprintf(count, sizeof count, "%d", wanted);
    set("LISTEN_PID", pid);
    set("LISTEN_FDS", count);
    set("LISTEN_FDNAMES", start->names);
    set("NOTIFY_SOCKET", test_path(path, manager->daemon.directory, "notify"));
    set("WATCHDOG_PID", start->watchdog_usec ? pid : NULL);
    set("WATCHDOG_USEC", start->watchdog_usec);
    set("CREDENTIALS_DIRECTORY", start->keys);
}

void service_manager_spawn(struct service_manager *manager, const struct service_start *start)
{
    const char *args[PROGRAM_ARGS_MAX + 1] = {
        "--store", manager->daemon.store, "--threads",  "1", "--log-level",
        "warn",    "--allowed-hosts",     "x localhost"};
    int count = 8;
    for (const char *const *option = start->options; *option; option++) {
        cr_assert_lt(count, PROGRAM_ARGS_MAX);
        args[count++] = *option;
    }
    manager->heard[0] = '\0';
    (void)fflush(NULL);
    manager->daemon.pid = fork();
    cr_assert_geq(manager->daemon.pid, 0);
    if (manager->daemon.pid == 0) {
        hand_over(manager, start);
        program_exec("sluiced", args);
        _exit(127);
    }
}

void service_manager_hear(struct service_manager *manager, const char *text)
{
    while (!strstr(manager->heard, text)) {
        size_t used = strlen(manager->heard);
        struct pollfd ready = {.fd = manager->notify, .events = POLLIN};
        cr_assert_eq(poll(&ready, 1, DAEMON_WAIT_MS), 1, "'%s' was not heard, but: %s", text,
                     manager->heard);
        cr_assert_lt(used + 2, sizeof manager->heard, "too many notifications");
        ssize_t count =
            recv(manager->notify, manager->heard + used, sizeof manager->heard - used - 2, 0);
        cr_assert_geq(count, 0);
        memcpy(manager->heard + used + count, "\n", 2);
    }
}

void service_manager_start(struct service_manager *manager, const char *const *options)
{
    service_manager_spawn(manager,
                          &(struct service_start){.options = options, .names = "inference:admin"});
    service_manager_hear(manager, "READY=1");
}

void service_manager_stop(struct service_manager *manager)
{
    cr_assert_eq(kill(manager->daemon.pid, SIGTERM), 0);
    cr_assert_eq(program_wait(manager->daemon.pid), 0);
}

void service_manager_close(struct service_manager *manager)
{
    (void)close(manager->inference);
    (void)close(manager->admin);
    (void)close(manager->notify);
    test_directory_remove(manager->daemon.directory);
}
