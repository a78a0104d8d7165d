/* test_receiver.c - functions of the C library that libmicrohttpd gets from us instead. */
#include "http/receiver.h"
#include "support/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

/* As the daemon does, whose link takes receiver.o from its library for this before a sanitizer's
 * functions of the same names are found. */
static void use_the_receiver(void)
{
    sv_receiver_close(NULL);
}

/* The daemon leaves a socket that the service manager keeps: two threads take it out. */
Test(receiver, what_is_gone_may_be_removed_from_an_epoll_set_again, .init = use_the_receiver)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC), ends[2];
    struct epoll_event event = {.events = EPOLLIN};
    cr_assert_geq(epoll, 0);
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event), 0);
    cr_expect_eq(epoll_ctl(epoll, EPOLL_CTL_DEL, ends[0], NULL), 0);
    cr_expect_eq(epoll_ctl(epoll, EPOLL_CTL_DEL, ends[0], NULL), 0);
    cr_expect(epoll_ctl(epoll, EPOLL_CTL_MOD, ends[0], &event) == -1 && errno == ENOENT);
    cr_expect(epoll_ctl(epoll, EPOLL_CTL_DEL, -1, NULL) == -1 && errno == EBADF);
    (void)close(ends[0]);
    (void)close(ends[1]);
    (void)close(epoll);
}

/* A symbol of the program comes before one of the C library. */
Test(receiver, libraries_find_ours, .init = use_the_receiver)
{
    static const char *const names[] = {"recv", "gnutls_record_recv", "epoll_wait", "epoll_ctl"};
    Dl_info mine, found;
    cr_assert(dladdr((const void *)&names, &mine));
    for (size_t i = 0; i < COUNT(names); i++) {
        cr_assert(dladdr(dlsym(RTLD_DEFAULT, names[i]), &found), "%s", names[i]);
        cr_expect_eq(found.dli_fbase, mine.dli_fbase, "%s", names[i]);
    }
}
