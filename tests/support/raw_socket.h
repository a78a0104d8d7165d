/* raw_socket.h - connections to a test's daemon by hand: half requests, slow readers, bad bytes. */
#pragma once

#include "base/buffer.h"
#include "support/daemon.h"

#include <stdbool.h>

int raw_connect(const struct daemon *daemon);

/* A connection that buffers about this many bytes before it is read; 0: as usual. With less than
 * 8192, reading does not open its window again: the sender finds out by probes, whose intervals
 * grow with the time it has waited. */
int raw_connect_holding(const struct daemon *daemon, int bytes);

void raw_send(int fd, const char *text);
void raw_send_bytes(int fd, const char *bytes, size_t count);

/* Sends a completion request with this JSON; does not read. */
void raw_send_completion(int fd, const char *json);

/* The same, on a new connection, which it returns. */
int raw_complete(const struct daemon *daemon, const char *json);

/* Reads until the text is there; false when the other end closed before, or after
 * DAEMON_WAIT_MS. */
bool raw_read_until(int fd, struct sl_buffer *got, const char *text);

/* The same, without keeping what was read; fails instead of returning false. */
void raw_expect(int fd, const char *text);
