/* connection_watcher.c - notices clients that left or stalled. */
#include "http/connection_watcher.h"
#include "base/allocate.h"
#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 64 };

static const uint64_t wake_tag = UINT64_MAX; /* a tag that no watch has */

struct watch {
    struct sv_request *request; /* a reference; NULL: free */
    int fd;
    uint32_t generation; /* distinguishes this watch's events from those of an earlier one */
    int next_free;
};

/* A socket that is read and discarded before it is closed, as nginx's lingering_close does. */
struct lingering {
    int fd; /* ours; -1: free */
    int64_t deadline_ns, remaining;
};

struct sv_watcher {
    int epoll, wake; /* the second is an eventfd that wakes the thread */
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards the rest */
    struct watch *watches;
    int count, free, used;
    struct sv_watched_connection *watched_list;
    int watched_count;
    struct lingering lingering[SV_LINGERING_MAX];
    bool stop;
};

static uint64_t tag_of(int index, uint32_t generation)
{
    return (uint64_t)generation << 32 | (uint32_t)index;
}

/* A reference to the watched request, or NULL if the slot was reused. Generation 0 matches any. */
static struct sv_request *call_of(struct sv_watcher *watcher, int index, uint32_t generation)
{
    pthread_mutex_lock(&watcher->lock);
    const struct watch *watch = &watcher->watches[index];
    bool same = watch->request && (generation == 0 || watch->generation == generation);
    struct sv_request *request = same ? sv_request_acquire(watch->request) : NULL;
    pthread_mutex_unlock(&watcher->lock);
    return request;
}

static void wake(struct sv_watcher *watcher)
{
    (void)eventfd_write(watcher->wake, 1);
}

/* How long the thread may sleep; -1: it must end. */
static int sleep_ms(struct sv_watcher *watcher)
{
    pthread_mutex_lock(&watcher->lock);
    int ms = watcher->stop ? -1 : watcher->used > 0 ? SV_SWEEP_MS : SV_IDLE_MS;
    pthread_mutex_unlock(&watcher->lock);
    return ms;
}

static void tick_requests(struct sv_watcher *watcher)
{
    int64_t now = sl_now_ns();
    for (int i = 0; i < watcher->count; i++) {
        struct sv_request *request = call_of(watcher, i, 0);
        if (!request)
            continue;
        if (request->async->tick && request->async->tick(request, now))
            sv_request_wake(request);
        sv_request_release(request);
    }
}

static bool is_mid_request(const struct sv_watched_connection *watched)
{
    return watched->is_receiving && watched->is_mid_request && atomic_load(watched->is_mid_request);
}

/* libmicrohttpd does not know about the deadline, and does not send while it receives. */
static void send_timeout_response(const struct sv_watched_connection *watched)
{
    static const char text[] =
        "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: "
        "application/problem+json\r\nContent-Length: 110\r\n\r\n"
        "{\"type\":\"about:blank\",\"title\":\"Request Timeout\",\"status\":408,"
        "\"detail\":\"The request was not received in time.\"}";
    if (is_mid_request(watched))
        (void)send(watched->fd, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Whether the client has closed the connection in the middle of a request. libmicrohttpd takes a
 * read that gives less than there is room for as the last one, and so misses an end that came with
 * the last bytes. */
static bool has_left(const struct sv_watched_connection *watched)
{
    char byte;
    return is_mid_request(watched) && recv(watched->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Shut down, not closed: libmicrohttpd sees the end of its socket and closes it itself. */
static void shut_expired(struct sv_watcher *watcher)
{
    int64_t now = sl_now_ns();
    pthread_mutex_lock(&watcher->lock);
    bool busy = watcher->watched_count >= watcher->count - watcher->count / 4;
    for (struct sv_watched_connection *watched = watcher->watched_list; watched;
         watched = watched->next) {
        bool is_late = now > (busy ? watched->busy_deadline_ns : watched->deadline_ns);
        if (!is_late && !has_left(watched))
            continue;
        if (is_late)
            send_timeout_response(watched);
        (void)shutdown(watched->fd, SHUT_RDWR);
        watched->deadline_ns = watched->busy_deadline_ns = INT64_MAX; /* once is enough */
    }
    pthread_mutex_unlock(&watcher->lock);
}

static void cancel_disconnected(struct sv_watcher *watcher, const struct epoll_event *event)
{
    struct sv_request *request =
        call_of(watcher, (int)(event->data.u64 & UINT32_MAX), (uint32_t)(event->data.u64 >> 32));
    if (!request)
        return;
    sv_request_cancel(request);
    sv_request_release(request);
}

static void stop_lingering(struct lingering *one)
{
    (void)close(one->fd); /* also removes it from the epoll */
    one->fd = -1;
}

/* One read at a time, so that no client delays the others. */
static void discard(struct sv_watcher *watcher, struct lingering *one)
{
    char bytes[16384];
    pthread_mutex_lock(&watcher->lock);
    ssize_t count = one->fd >= 0 ? recv(one->fd, bytes, sizeof bytes, MSG_DONTWAIT) : -1;
    one->remaining -= count > 0 ? count : 0;
    if (one->fd >= 0 && (count == 0 || one->remaining < 0 || (count < 0 && errno != EAGAIN)))
        stop_lingering(one);
    pthread_mutex_unlock(&watcher->lock);
}

static void end_lingering(struct sv_watcher *watcher, int64_t now)
{
    pthread_mutex_lock(&watcher->lock);
    for (int i = 0; i < SV_LINGERING_MAX; i++)
        if (watcher->lingering[i].fd >= 0 && now > watcher->lingering[i].deadline_ns)
            stop_lingering(&watcher->lingering[i]);
    pthread_mutex_unlock(&watcher->lock);
}

static void take_event(struct sv_watcher *watcher, const struct epoll_event *event)
{
    eventfd_t wakes;
    if (event->data.u64 == wake_tag)
        (void)eventfd_read(watcher->wake, &wakes);
    else if (event->data.u64 < SV_LINGERING_MAX) /* no watch has generation 0 */
        discard(watcher, &watcher->lingering[event->data.u64]);
    else
        cancel_disconnected(watcher, event);
}

static void *run(void *argument)
{
    struct sv_watcher *watcher = argument;
    struct epoll_event events[EVENTS];
    int64_t ticked = sl_now_ns(), shut = ticked;
    (void)pthread_setname_np(pthread_self(), "watcher");
    for (int ms; (ms = sleep_ms(watcher)) >= 0;) {
        int count = epoll_wait(watcher->epoll, events, EVENTS, ms);
        for (int i = 0; i < count; i++)
            take_event(watcher, &events[i]);
        if (sl_now_ns() - ticked < (int64_t)SV_SWEEP_MS * 1000000)
            continue;
        tick_requests(watcher);
        ticked = sl_now_ns();
        if (ticked - shut < (int64_t)SV_IDLE_MS * 1000000)
            continue;
        shut_expired(watcher);
        end_lingering(watcher, ticked);
        shut = ticked;
    }
    return NULL;
}

/* ---- making and unmaking --------------------------------------------------------------------- */

static bool open_events(struct sv_watcher *watcher)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = wake_tag};
    watcher->epoll = epoll_create1(EPOLL_CLOEXEC);
    watcher->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return watcher->epoll >= 0 && watcher->wake >= 0 &&
           epoll_ctl(watcher->epoll, EPOLL_CTL_ADD, watcher->wake, &event) == 0;
}

/* pthread_create returns its error; the caller reads errno. */
static bool start(struct sv_watcher *watcher)
{
    int failure = pthread_create(&watcher->thread, NULL, run, watcher);
    if (failure)
        errno = failure;
    return failure == 0;
}

struct sv_watcher *sv_watcher_create(int requests_max, struct sl_err *err)
{
    assert(requests_max > 0);
    struct sv_watcher *watcher = sl_new(sizeof *watcher, "a watcher", err);
    if (!watcher)
        return NULL;
    pthread_mutex_init(&watcher->lock, NULL);
    watcher->epoll = watcher->wake = -1;
    watcher->count = requests_max;
    for (int i = 0; i < SV_LINGERING_MAX; i++)
        watcher->lingering[i].fd = -1;
    watcher->watches = calloc((size_t)requests_max, sizeof *watcher->watches);
    for (int i = 0; watcher->watches && i < requests_max; i++)
        watcher->watches[i].next_free = i + 1;
    watcher->started = watcher->watches && open_events(watcher) && start(watcher);
    if (!watcher->started) {
        (void)sl_fail(err, SL_IO, "watcher: %s", strerrordesc_np(errno));
        sv_watcher_destroy(watcher);
        return NULL;
    }
    return watcher;
}

void sv_watcher_destroy(struct sv_watcher *watcher)
{
    if (!watcher)
        return;
    if (watcher->started) {
        pthread_mutex_lock(&watcher->lock);
        watcher->stop = true;
        pthread_mutex_unlock(&watcher->lock);
        wake(watcher);
        (void)pthread_join(watcher->thread, NULL);
    }
    for (int i = 0; watcher->watches && i < watcher->count; i++)
        assert(!watcher->watches[i].request);
    assert(!watcher->watched_list);
    end_lingering(watcher, INT64_MAX);
    if (watcher->epoll >= 0)
        (void)close(watcher->epoll);
    if (watcher->wake >= 0)
        (void)close(watcher->wake);
    free(watcher->watches);
    pthread_mutex_destroy(&watcher->lock);
    free(watcher);
}

/* ---- for other threads ----------------------------------------------------------------------- */

int sv_watcher_add(struct sv_watcher *watcher, int fd, struct sv_request *request)
{
    assert(request->async);
    pthread_mutex_lock(&watcher->lock);
    int index = watcher->free < watcher->count ? watcher->free : SV_NOT_WATCHED;
    uint32_t generation = 0;
    bool first = false;
    if (index != SV_NOT_WATCHED) {
        struct watch *fresh = &watcher->watches[index];
        watcher->free = fresh->next_free;
        first = watcher->used++ == 0;
        fresh->request = sv_request_acquire(request);
        fresh->fd = fd;
        fresh->generation += fresh->generation == UINT32_MAX ? 2 : 1; /* 0 stands for any */
        generation = fresh->generation;
    }
    pthread_mutex_unlock(&watcher->lock);
    /* One event is enough. Only hang-ups are requested: data must not wake the thread. */
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT,
                                .data.u64 = tag_of(index, generation)};
    if (index != SV_NOT_WATCHED && epoll_ctl(watcher->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        sv_watcher_remove(watcher, index);
        return SV_NOT_WATCHED;
    }
    if (first)
        wake(watcher); /* the thread sleeps longer while it watches nothing */
    return index;
}

void sv_watcher_remove(struct sv_watcher *watcher, int watch)
{
    if (watch == SV_NOT_WATCHED)
        return;
    pthread_mutex_lock(&watcher->lock);
    struct watch *old = &watcher->watches[watch];
    struct sv_request *request = old->request;
    assert(request);
    (void)epoll_ctl(watcher->epoll, EPOLL_CTL_DEL, old->fd, NULL);
    old->request = NULL;
    old->next_free = watcher->free;
    watcher->free = watch;
    watcher->used--;
    pthread_mutex_unlock(&watcher->lock);
    sv_request_release(request);
}

void sv_watcher_cancel_all(struct sv_watcher *watcher)
{
    for (int i = 0; i < watcher->count; i++) {
        struct sv_request *request = call_of(watcher, i, 0);
        if (!request)
            continue;
        sv_request_cancel(request);
        sv_request_release(request);
    }
}

/* ---- connections ----------------------------------------------------------------------------- */

static void set_deadlines(struct sv_watcher *watcher, struct sv_watched_connection *watched,
                          bool is_receiving, int64_t deadline_ns, int64_t busy_deadline_ns)
{
    pthread_mutex_lock(&watcher->lock);
    watched->is_receiving = is_receiving;
    watched->deadline_ns = deadline_ns;
    watched->busy_deadline_ns = busy_deadline_ns < deadline_ns ? busy_deadline_ns : deadline_ns;
    pthread_mutex_unlock(&watcher->lock);
}

void sv_watcher_set_deadline(struct sv_watcher *watcher, struct sv_watched_connection *watched,
                             bool is_receiving, int64_t ns, int64_t more_ns)
{
    int64_t now = sl_now_ns();
    assert(ns != INT64_MAX);
    set_deadlines(watcher, watched, is_receiving, now + ns,
                  now + (int64_t)SV_BUSY_TIMEOUT_MS * 1000000 + more_ns);
}

void sv_watcher_open_connection(struct sv_watcher *watcher, struct sv_watched_connection *watched,
                                int fd, const atomic_bool *is_mid_request)
{
    assert(fd >= 0);
    watched->fd = fd;
    watched->is_mid_request = is_mid_request;
    sv_watcher_set_deadline(watcher, watched, true, (int64_t)SV_FIRST_REQUEST_SECONDS * 1000000000,
                            0);
    pthread_mutex_lock(&watcher->lock);
    watched->next = watcher->watched_list;
    watched->link = &watcher->watched_list;
    if (watched->next)
        watched->next->link = &watched->next;
    watcher->watched_list = watched;
    watcher->watched_count++;
    pthread_mutex_unlock(&watcher->lock);
}

void sv_watcher_close_connection(struct sv_watcher *watcher, struct sv_watched_connection *watched)
{
    pthread_mutex_lock(&watcher->lock);
    *watched->link = watched->next;
    if (watched->next)
        watched->next->link = watched->link;
    watcher->watched_count--;
    pthread_mutex_unlock(&watcher->lock);
}

void sv_watcher_linger(struct sv_watcher *watcher, int fd)
{
    int i = 0;
    pthread_mutex_lock(&watcher->lock);
    while (i < SV_LINGERING_MAX && watcher->lingering[i].fd >= 0)
        i++;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)i};
    int ours = i < SV_LINGERING_MAX ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (ours >= 0) {
        struct lingering *one = &watcher->lingering[i];
        *one =
            (struct lingering){.fd = ours,
                               .deadline_ns = sl_now_ns() + (int64_t)SV_LINGER_SECONDS * 1000000000,
                               .remaining = SV_LINGER_BYTES_MAX};
        (void)shutdown(ours, SHUT_WR);
        if (epoll_ctl(watcher->epoll, EPOLL_CTL_ADD, ours, &event) != 0)
            stop_lingering(one);
    }
    pthread_mutex_unlock(&watcher->lock);
}

void sv_watcher_clear_deadline(struct sv_watcher *watcher, struct sv_watched_connection *watched)
{
    set_deadlines(watcher, watched, false, INT64_MAX, INT64_MAX);
}
