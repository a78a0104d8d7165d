/* request_body.h - one request on one connection, and its body: counted, bounded, waited for. */
#pragma once

#include "core/request.h"

struct MHD_Connection;
struct sv_watcher;
struct sv_watched_connection;
struct sv_router;

/* What all of them share. */
struct sv_http {
    struct sv_server *server;
    const struct sv_router *router;
    struct sv_watcher *watcher;
    struct MHD_Daemon *daemon;
};

struct sv_exchange {
    struct sv_http *http;
    struct sv_request *request;
    struct MHD_Connection *connection;
    int socket;
    struct sv_watched_connection *watched; /* the connection's, to the watcher */
    const char *method;                    /* libmicrohttpd's */
    bool dispatched;                       /* received whole and handed to its handler */
    bool responded;
    bool lingers; /* answered before its body had come */
    bool closes;  /* where its body ends is not known, or not waited for */
    int watch;
    size_t received, discarded;         /* bytes of the body, and those of them that nobody wants */
    int64_t body_bytes, response_bytes; /* as they are counted for the whole server */
    struct sv_error error;              /* found before the body was read */
};

/* Takes what came of a body. One that was refused is read to its end, within reason: a client that
 * still sends would lose the answer. False: the connection is to end. */
bool sv_body_receive(struct sv_exchange *x, const char *bytes, size_t count);
/* A step of the body, which has its time, is waited for; and all of the request has its time. */
void sv_body_set_deadline(struct sv_exchange *x);
/* What was made of the body may live as long as the request waits; then it counts no more. */
void sv_body_uncount(struct sv_exchange *x);
void sv_body_discard(struct sv_exchange *x); /* its bytes, too */
