/* caller.h - who sent a request, through which listener, and the scope that a route requires. */
#pragma once

#include "base/api_key.h"
#include "core/limits.h"

#include <stdbool.h>
#include <sys/types.h>

/* What a caller may do. A key has any number of scopes; none contains another. */
enum sv_scope {
    SV_SCOPE_NONE,    /* no route may have it; a test checks */
    SV_SCOPE_OPEN,    /* no key is needed */
    SV_SCOPE_METRICS, /* monitoring; from here on in the order of SL_SCOPES */
    SV_SCOPE_INFER,   /* use of the models */
    SV_SCOPE_TRAIN,   /* files and training jobs */
    SV_SCOPE_ADMIN    /* which models are served */
};

/* The listeners of the daemon. Both have all routes; see access/authorize.h. */
enum sv_listener {
    SV_ON_INFERENCE, /* the option listen */
    SV_ON_ADMIN      /* the option admin_listen; on threads of its own */
};

/* For the audit trail. */
struct sv_caller {
    char name[SV_CALLER_NAME_MAX];       /* key:NAME, unix:UID or anonymous */
    char address[SV_CALLER_ADDRESS_MAX]; /* 127.0.0.1:40000, [::1]:40000 or unix */
    bool is_unix;                        /* came through a UNIX socket, */
    uid_t uid;                           /* from a process of this user */
};
