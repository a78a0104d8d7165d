/* test_admin_url.c - which daemon sluicectl administers if nobody says so. */
#include "sluicectl/ctl_connection.h"
#include "support/test.h"

#include <netinet/in.h>
#include <sys/socket.h>

/* A socket that listens on a free port, or -1, and its URL. */
static int listen_somewhere(char url[static 64])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(fd, 1), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    (void)snprintf(url, 64, "http://127.0.0.1:%d", ntohs(address.sin_port));
    return fd;
}

Test(admin_url, the_first_place_where_somebody_listens)
{
    char first[64], second[64];
    int one = listen_somewhere(first), other = listen_somewhere(second);
    const char *const places[] = {first, second, NULL};
    cr_assert_str_eq(ctl_admin_url(places), first);
    (void)close(one);
    cr_assert_str_eq(ctl_admin_url(places), second);
    (void)close(other);
    cr_assert_null(ctl_admin_url(places));
}

Test(admin_url, the_socket_is_that_of_the_unit)
{
    static const char key[] = "ListenStream=";
    char line[256], unit[256] = "";
    FILE *file = fopen(SL_SOURCE_DIR "/systemd/sluiced-admin.socket", "r");
    cr_assert(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            (void)snprintf(unit, sizeof unit, "unix:%.*s", (int)strcspn(line + strlen(key), "\n"),
                           line + strlen(key));
    (void)fclose(file);
    cr_assert_str_eq(CTL_SERVICE_ADMIN_URL, unit);
}
