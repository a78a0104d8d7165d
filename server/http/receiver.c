/* receiver.c - what libmicrohttpd receives: only requests that sv_framing accepts. */

/* Else <sys/socket.h> may define recv() as an inline function of its own. */
#undef _FORTIFY_SOURCE

#include "http/receiver.h"
#include "core/limits.h"
#include "http/request_framing.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { READ_MAX = SV_HEAD_BYTES_MAX + SV_CHUNK_HEAD_BYTES_MAX };

struct sv_receiver {
    int fd;
    struct sv_framing framing;
    bool has_tls;
    char *held;                  /* READ_MAX bytes and room for a substitute; or NULL: nothing */
    size_t count, passed, ready; /* bytes in there; passed on; that may be passed on */
    atomic_bool is_mid_request;
    bool has_ended; /* after an error: what is held stands for the rest */
};

/* A socket or a TLS session. */
struct source {
    ssize_t (*read)(void *from, char *bytes, size_t count); /* 0: the end; negative: an error */
    void *from;
    ssize_t would_block; /* the error that means: nothing yet */
};

/* By descriptor: recv has no other argument that could tell whose connection it is. */
static _Atomic(struct sv_receiver *) receivers[SV_DESCRIPTORS_MAX];

struct sv_receiver *sv_receiver_open(int fd, bool has_tls)
{
    struct sv_receiver *r = fd >= 0 && fd < SV_DESCRIPTORS_MAX ? calloc(1, sizeof *r) : NULL;
    if (!r)
        return NULL;
    r->fd = fd;
    r->has_tls = has_tls;
    atomic_store(&receivers[fd], r);
    return r;
}

void sv_receiver_close(struct sv_receiver *r)
{
    if (!r)
        return;
    atomic_store(&receivers[r->fd], NULL);
    free(r->held);
    free(r);
}

static struct sv_receiver *find(int fd)
{
    return fd >= 0 && fd < SV_DESCRIPTORS_MAX ? atomic_load(&receivers[fd]) : NULL;
}

bool sv_receiver_has_failed(const struct sv_receiver *r, int index, struct sv_error *error)
{
    if (r->framing.state != SV_FRAMING_FAILED || r->framing.heads != index)
        return false;
    return !sv_fail(error, r->framing.error, NULL, "%s", r->framing.message);
}

const atomic_bool *sv_receiver_is_mid_request(const struct sv_receiver *r)
{
    return r->has_tls ? NULL : &r->is_mid_request;
}

/* ---- bytes that are held back ---------------------------------------------------------------- */

static void release_held(struct sv_receiver *r)
{
    free(r->held);
    r->held = NULL;
    r->count = r->passed = r->ready = 0;
}

static bool hold(struct sv_receiver *r, const char *bytes, size_t count)
{
    assert(!r->held);
    r->held = malloc(READ_MAX + SV_FRAMING_SUBSTITUTE_MAX);
    if (!r->held)
        return false;
    memcpy(r->held, bytes, count);
    r->count = count;
    return true;
}

static size_t take(struct sv_receiver *r, char *bytes, size_t count)
{
    size_t taken = r->ready - r->passed < count ? r->ready - r->passed : count;
    if (taken > 0)
        memcpy(bytes, r->held + r->passed, taken);
    r->passed += taken;
    if (r->held && r->passed == r->count)
        release_held(r);
    return taken;
}

/* The rest of the stream is replaced. False: no memory. */
static bool end_stream(struct sv_receiver *r)
{
    char substitute[SV_FRAMING_SUBSTITUTE_MAX];
    size_t count = sv_framing_substitute(&r->framing, substitute);
    size_t ready = r->ready - r->passed;
    r->has_ended = true;
    if (!r->held && !hold(r, "", 0))
        return false;
    memmove(r->held, r->held + r->passed, ready);
    memcpy(r->held + ready, substitute, count);
    r->passed = 0;
    r->count = r->ready = ready + count;
    return true;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* After new bytes were read: what is held back, and after an error what stands for the rest. */
static bool settle(struct sv_receiver *r, const char *rest, size_t count)
{
    bool ok =
        r->framing.state == SV_FRAMING_FAILED ? end_stream(r) : count == 0 || hold(r, rest, count);
    if (!ok)
        errno = ENOMEM;
    return ok;
}

/* Reads into the caller's buffer while nothing is held. Returns how many bytes are passed on;
 * negative: an error, or the end. *is_empty: there is nothing more to read now. */
static ssize_t read_through(struct sv_receiver *r, const struct source *source, char *bytes,
                            size_t count, bool *is_empty)
{
    ssize_t got = source->read(source->from, bytes, count);
    *is_empty = got <= 0;
    if (got <= 0)
        return got;
    size_t passed = sv_framing_read(&r->framing, bytes, (size_t)got);
    bool ok = settle(r, bytes + passed, (size_t)got - passed);
    *is_empty = !ok || (!r->held && got < (ssize_t)count);
    return ok ? (ssize_t)passed : -1;
}

/* Reads on behind what is held back. A request that ends in the middle of its head is answered. */
static ssize_t read_behind(struct sv_receiver *r, const struct source *source, bool *is_empty)
{
    size_t room = READ_MAX - r->count;
    ssize_t got = source->read(source->from, r->held + r->count, room);
    *is_empty = got <= 0;
    if (got < 0)
        return got;
    if (got == 0)
        sv_framing_end(&r->framing);
    r->count += (size_t)got;
    r->ready = sv_framing_read(&r->framing, r->held, r->count);
    return r->framing.state != SV_FRAMING_FAILED || end_stream(r) ? got : -1;
}

static void move_to_front(struct sv_receiver *r)
{
    memmove(r->held, r->held + r->passed, r->count - r->passed);
    r->count -= r->passed;
    r->passed = r->ready = 0;
}

/* As much as there is: libmicrohttpd takes it that a socket which gave less than was asked for is
 * empty. */
static ssize_t receive(struct sv_receiver *r, const struct source *source, char *bytes,
                       size_t count)
{
    size_t filled = 0;
    ssize_t got = source->would_block;
    for (bool is_empty = false; !is_empty || r->ready > r->passed;) {
        filled += take(r, bytes + filled, count - filled);
        if (filled == count || r->has_ended || is_empty)
            break;
        if (r->held && r->passed > 0)
            move_to_front(r);
        bool behind = r->held;
        got = behind ? read_behind(r, source, &is_empty)
                     : read_through(r, source, bytes + filled, count - filled, &is_empty);
        filled += !behind && got > 0 ? (size_t)got : 0;
    }
    atomic_store(&r->is_mid_request, r->held || r->framing.state != SV_FRAMING_START);
    if (filled > 0)
        return (ssize_t)filled;
    return got > 0 || r->held ? source->would_block : got;
}

static ssize_t read_socket(void *from, char *bytes, size_t count)
{
    return recvfrom(*(const int *)from, bytes, count, 0, NULL, NULL);
}

__attribute__((visibility("default"))) ssize_t recv(int fd, void *buf, size_t n, int flags)
{
    struct sv_receiver *r = find(fd);
    if (!r || r->has_tls || flags != 0)
        return recvfrom(fd, buf, n, flags, NULL, NULL);
    const struct source source = {.read = read_socket, .from = &fd, .would_block = -1};
    errno = EAGAIN;
    return receive(r, &source, buf, n);
}

/* ---- TLS ------------------------------------------------------------------------------------- */

typedef ssize_t read_session(gnutls_session_t session, void *bytes, size_t count);

static read_session *find_library_function(void)
{
    /* POSIX converts the pointer so. */
    union {
        void *object;
        read_session *function;
    } found = {.object = dlsym(RTLD_NEXT, "gnutls_record_recv")};

    return found.function;
}

static ssize_t read_tls(void *from, char *bytes, size_t count)
{
    read_session *read = find_library_function();
    return read ? read(from, bytes, count) : GNUTLS_E_INTERNAL_ERROR;
}

__attribute__((visibility("default"))) ssize_t gnutls_record_recv(gnutls_session_t session,
                                                                  void *data, size_t data_size)
{
    struct sv_receiver *r = find(gnutls_transport_get_int(session));
    if (!r || !r->has_tls)
        return read_tls(session, data, data_size);
    const struct source source = {.read = read_tls, .from = session, .would_block = GNUTLS_E_AGAIN};
    return receive(r, &source, data, data_size);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* libmicrohttpd (0.9.75 and 1.0.1) reads events into an array of 128, and when that was full it
 * waits for more before it looks at any of them, as long as no connection times out: with exactly
 * 128 events, until something else happens. So it gets one less than it asks for, and the rest stay
 * ready in the kernel. Other callers in this program do not mind. */
__attribute__((visibility("default"))) int epoll_wait(int epfd, struct epoll_event *events,
                                                      int maxevents, int timeout)
{
    assert(maxevents > 1);
    return epoll_pwait(epfd, events, maxevents - 1, timeout, NULL);
}

/* To stop accepting, libmicrohttpd (0.9.75 and 1.0.1) takes the listening socket out of the epoll
 * set of each of its threads, and a thread that sees this begin does so, too. It ends the process
 * if the socket is gone already; here that is success. */
__attribute__((visibility("default"))) int epoll_ctl(int epfd, int op, int fd,
                                                     struct epoll_event *event)
{
    long result = syscall(SYS_epoll_ctl, epfd, op, fd, event);
    bool is_gone = result != 0 && op == EPOLL_CTL_DEL && errno == ENOENT;
    return is_gone ? 0 : (int)result;
}
