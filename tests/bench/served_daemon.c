/* served_daemon.c - a sluiced for one benchmark, and requests to control it. */
#include "bench/served_daemon.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 32 };

void bench_fail(const char *what)
{
    (void)fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
                  strerrordesc_np(errno));
    exit(EXIT_FAILURE); // NOLINT(concurrency-mt-unsafe)
}

void bench_sleep(double seconds)
{
    (void)usleep((useconds_t)(seconds * 1e6));
}

/* ---- requests -------------------------------------------------------------------------------- */

int bench_connect(int port, int flags)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || (connect(fd, (const void *)&to, sizeof to) != 0 && errno != EINPROGRESS))
        bench_fail("connect");
    return fd;
}

static void receive_all(int fd, struct sl_buffer *out)
{
    char bytes[65536];
    for (ssize_t count; (count = recv(fd, bytes, sizeof bytes, 0)) > 0;)
        sl_buffer_append(out, bytes, (size_t)count);
}

int bench_request(int port, const char *method, const char *path, const char *body,
                  struct sl_buffer *response)
{
    struct sl_buffer text = {0}, received = {0};
    int fd = bench_connect(port, 0), status = 0;
    sl_buffer_printf(&text,
                     "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     method, path, strlen(body), body);
    if (!text.failed && send(fd, text.data, text.bytes, MSG_NOSIGNAL) == (ssize_t)text.bytes)
        receive_all(fd, &received);
    const char *begin = received.bytes > 0 ? strstr(received.data, "\r\n\r\n") : NULL;
    if (begin && strncmp(received.data, "HTTP/1.1 ", 9) == 0)
        status = (int)strtol(received.data + 9, NULL, 10);
    if (begin && response)
        sl_buffer_append_string(response, begin + 4);
    sl_buffer_release(&text);
    sl_buffer_release(&received);
    (void)close(fd);
    return status;
}

/* ---- life ------------------------------------------------------------------------------------ */

void served_daemon_init(struct served_daemon *d)
{
    *d = (struct served_daemon){.directory = "/tmp/sluice-bench.XXXXXX"};
    if (!mkdtemp(d->directory))
        bench_fail(d->directory);
}

static void wait_for_ports(struct served_daemon *d, const char *ports)
{
    for (int i = 0; i < 1000 && d->admin_port == 0; i++) {
        FILE *file = fopen(ports, "re");
        if (file && fscanf(file, "%d\n%d\n", &d->port, &d->admin_port) != 2)
            d->admin_port = 0;
        if (file)
            (void)fclose(file);
        bench_sleep(0.01);
    }
    if (d->admin_port == 0)
        bench_fail("sluiced does not come up");
}

void served_daemon_start(struct served_daemon *d, const char *store, const char *const *options)
{
    char ports[PATH_MAX];
    (void)snprintf(ports, sizeof ports, "%s/ports", d->directory);
    const char *arguments[ARGUMENTS_MAX] = {SL_BUILD_DIR "/sluiced",
                                            "--listen",
                                            "127.0.0.1:0",
                                            "--admin-listen",
                                            "127.0.0.1:0",
                                            "--store",
                                            store,
                                            "--port-file",
                                            ports,
                                            "--log-level",
                                            "error"};
    for (int count = 11; *options && count < ARGUMENTS_MAX - 1; options++)
        arguments[count++] = *options;
    if (posix_spawn(&d->pid, arguments[0], NULL, NULL, (char *const *)(uintptr_t)arguments,
                    environ) != 0)
        bench_fail(arguments[0]);
    wait_for_ports(d, ports);
}

// NOLINTNEXTLINE(readability-non-const-parameter): the parameters are nftw's choice
static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

void served_daemon_stop(struct served_daemon *d)
{
    enum { DESCRIPTORS = 8 };

    (void)kill(d->pid, SIGTERM);
    (void)waitpid(d->pid, NULL, 0);
    (void)nftw(d->directory, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}

double served_daemon_resident_mib(const struct served_daemon *d)
{
    char path[64];
    long pages = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)d->pid);
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1)
        bench_fail(path);
    (void)fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}
