/* request_body.h - one request on one connection, and its body: counted, bounded, with
 * deadlines. */
#pragma once

#include "core/request.h"

struct MHD_Connection;
struct sv_watcher;
struct sv_watched_connection;
struct sv_router;
struct sv_body_decoder;

/* A listener; shared by its exchanges. */
struct sv_http_listener {
    enum sv_listener listener;
    bool has_tls;
    int64_t body_memory_limit;
    struct sv_server *server;
    const struct sv_router *router;
    struct sv_watcher *watcher;
    struct MHD_Daemon *daemon;
    bool has_left; /* it accepts no more; its socket, closed when it has stopped: */
    int left_socket;
};

struct sv_exchange {
    struct sv_http_listener *http;
    struct sv_request *request;
    struct MHD_Connection *connection;
    int socket;
    struct sv_watched_connection *watched_connection;
    int index;          /* of this request on its connection, from 1 */
    const char *method; /* libmicrohttpd's */
    bool dispatched;    /* received in full and passed to its handler */
    bool responded;
    bool responded_early;      /* responded before the body arrived */
    bool close_after_response; /* the end of the body is unknown or not awaited */
    int watch_index;
    size_t received, discarded;         /* bytes of the body, and those discarded */
    int64_t body_bytes, response_bytes; /* as counted in struct sv_server */
    struct sv_body_decoder *decoder;    /* NULL: the body is not packed */
    struct sv_error error;              /* found before the body was read */
};

/* Before the body: opens the route's sink, if it has one. A header is NULL if it is absent. */
void sv_body_begin(struct sv_exchange *x, const char *content_type, const char *content_encoding);
/* Receives part of a body. The rest of a rejected body is discarded up to a limit, because a client
 * that is still sending would lose the response. False: close the connection. */
bool sv_body_receive(struct sv_exchange *x, const char *bytes, size_t count);
/* The body has arrived: checks that a packed one was whole. A second call does nothing. */
void sv_body_end(struct sv_exchange *x);
/* Sets the deadline for the next part of the body, within the deadline of the whole request. */
void sv_body_set_deadline(struct sv_exchange *x);
/* Stops counting the body's memory. */
void sv_body_release_quota(struct sv_exchange *x);
void sv_body_discard(struct sv_exchange *x); /* and frees its bytes */
