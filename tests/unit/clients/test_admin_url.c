/* test_admin_url.c - which daemon sluicectl administers if nobody says so. */
#include "sluicectl/ctl_command.h"
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

Test(admin_url, the_service_is_meant_if_nobody_listens_at_the_users_own_address)
{
    char own[64], directory[PATH_MAX], path[PATH_MAX], service[PATH_MAX + 8];
    int fd = listen_somewhere(own);
    test_directory_create(directory);
    (void)snprintf(service, sizeof service, "unix:%s", test_path(path, directory, "admin.sock"));
    cr_assert_str_eq(ctl_admin_url(own, service), own, "the service is not installed");
    FILE *socket = fopen(path, "w"); /* only that it is there matters */
    cr_assert(socket);
    (void)fclose(socket);
    cr_assert_str_eq(ctl_admin_url(own, service), own);
    (void)close(fd);
    cr_assert_str_eq(ctl_admin_url(own, service), service);
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
