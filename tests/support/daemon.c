/* daemon.c - starts and stops a sluiced of this build. */
#include "support/daemon.h"
#include "base/clock.h"

#include "support/program.h"
#include "support/test.h"
#include "support/tiny_store.h"

#include <signal.h>
#include <sys/wait.h>

void sleep_ms(int ms)
{
    (void)usleep((useconds_t)ms * 1000);
}

pid_t daemon_spawn(const char *const *args)
{
    int log = getenv("SLUICE_TEST_LOG") ? STDERR_FILENO : -1;
    return program_start("sluiced", args, (const int[]){-1, -1, log});
}

const char *daemon_admin_socket(const struct daemon *daemon, char path[static PATH_MAX])
{
    return test_path(path, daemon->directory, "sluiced.sock");
}

const char *daemon_keep_log(const struct daemon *daemon, char path[static PATH_MAX])
{
    cr_assert(freopen(test_path(path, daemon->directory, "log"), "w", stderr));
    cr_assert_eq(setenv("SLUICE_TEST_LOG", "1", 1), 0);
    return path;
}

static void wait_for_port(struct daemon *daemon, const char *port_file)
{
    int64_t until = sl_now_ns() + (int64_t)DAEMON_WAIT_MS * 1000000;
    while (sl_now_ns() < until) {
        FILE *file = fopen(port_file, "r");
        char line[16] = "";
        if (file && fgets(line, sizeof line, file) && strchr(line, '\n'))
            daemon->port = (int)strtol(line, NULL, 10);
        daemon->admin_port =
            daemon->port > 0 && fgets(line, sizeof line, file) ? (int)strtol(line, NULL, 10) : 0;
        if (file)
            (void)fclose(file);
        if (daemon->port > 0)
            return;
        cr_assert_eq(waitpid(daemon->pid, NULL, WNOHANG), 0, "sluiced ended at once");
        sleep_ms(5);
    }
    cr_assert(false, "sluiced did not come up");
}

void daemon_make_store(struct daemon *daemon)
{
    *daemon = (struct daemon){0};
    test_directory_create(daemon->directory);
    (void)test_path(daemon->store, daemon->directory, "store");
    cr_assert_eq(mkdir(daemon->store, 0700), 0);
    tiny_store_make(daemon->store);
}

void daemon_serve(struct daemon *daemon, const char *const *options)
{
    char port_file[PATH_MAX];
    const char *args[PROGRAM_ARGS_MAX + 1] = {"--listen",
                                              "127.0.0.1:0",
                                              "--store",
                                              daemon->store,
                                              "--port-file",
                                              test_path(port_file, daemon->directory, "port"),
                                              "--max-admitted-tokens",
                                              "1000000000",
                                              "--log-level",
                                              "warn",
                                              "--threads",
                                              "1",
                                              "--allowed-hosts",
                                              "x localhost"};
    int count = 14;
    for (; *options; options++) {
        cr_assert_lt(count, PROGRAM_ARGS_MAX);
        args[count++] = *options;
    }
    (void)unlink(port_file); /* of a daemon that was killed */
    daemon->port = 0;
    daemon->pid = daemon_spawn(args);
    wait_for_port(daemon, port_file);
}

void daemon_stop(struct daemon *daemon)
{
    cr_assert_eq(kill(daemon->pid, SIGTERM), 0);
    cr_assert_eq(program_wait(daemon->pid), 0);
    test_directory_remove(daemon->directory);
}
