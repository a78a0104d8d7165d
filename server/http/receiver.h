/* receiver.h - what libmicrohttpd receives: only requests that sv_framing accepts.
 *
 * libmicrohttpd calls recv() of the C library, and gnutls_record_recv() for TLS. This program has
 * functions of these names, which the linker prefers. For connections that are opened here they
 * pass on complete heads and bodies. After an error they pass on what makes libmicrohttpd ask for a
 * response; the connection is to be closed after it. epoll_wait() is replaced, too: it never gives
 * libmicrohttpd as many events as it has room for, after which that would wait for more.
 *
 * One thread per connection. */
#pragma once

#include "core/request_error.h"

#include <stdatomic.h>
#include <stdbool.h>

struct sv_receiver;

/* For a connection with this descriptor, until it is closed. NULL: no memory, or the descriptor is
 * not below SV_DESCRIPTORS_MAX; then the connection must not be used. */
struct sv_receiver *sv_receiver_open(int fd, bool has_tls);
/* Before the descriptor is closed. NULL is fine. */
void sv_receiver_close(struct sv_receiver *receiver);

/* Whether a part of a request has arrived and the rest not. To be read by any thread while the
 * receiver is open. NULL: a TLS connection. */
const atomic_bool *sv_receiver_is_mid_request(const struct sv_receiver *receiver);

/* Whether request number `index` of the connection, from 1, is one that was not accepted. */
bool sv_receiver_has_failed(const struct sv_receiver *receiver, int index, struct sv_error *error);
