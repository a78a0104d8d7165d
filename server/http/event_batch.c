/* event_batch.c - libmicrohttpd's epoll_wait, which must never fill the array it is given.
 *
 * libmicrohttpd (0.9.75 and 1.0.1) reads events into an array of 128, and when that was full it
 * waits for more before it looks at any of them, as long as no connection times out: with exactly
 * 128 events, until something else happens. So it gets one less than it asks for. The rest stay
 * ready in the kernel. Like recv in receiver.c, the linker prefers this function to the C
 * library's; the other callers in this program do not mind. */
#include <assert.h>
#include <stddef.h>
#include <sys/epoll.h>

__attribute__((visibility("default"))) int epoll_wait(int epoll, struct epoll_event *events,
                                                      int events_max, int timeout_ms)
{
    assert(events_max > 1);
    return epoll_pwait(epoll, events, events_max - 1, timeout_ms, NULL);
}
