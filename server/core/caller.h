/* caller.h - what a route asks of its caller: a scope, and the listener to come through. */
#pragma once

/* What a caller may do. A key has any number of scopes; none contains another. */
enum sv_scope {
    SV_SCOPE_NONE,    /* no route has it; a test checks */
    SV_SCOPE_OPEN,    /* everybody, without a key */
    SV_SCOPE_METRICS, /* monitoring */
    SV_SCOPE_INFER,   /* use of the models */
    SV_SCOPE_TRAIN,   /* files and training jobs */
    SV_SCOPE_ADMIN    /* which models are served */
};

/* The listeners of the daemon; a route has one or both. */
enum sv_listener {
    SV_ON_INFERENCE = 1, /* the option listen */
    SV_ON_ADMIN = 2,     /* the option admin_listen; on threads of its own */
    SV_ON_BOTH = SV_ON_INFERENCE | SV_ON_ADMIN
};
