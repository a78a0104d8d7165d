/* handlers.h - what each route does: a call in, its reply or the work it left behind out. */
#pragma once

#include "call.h"

enum sv_next sv_handle_completions(struct sv_call *call); /* POST /v1/completions */
enum sv_next sv_handle_models(struct sv_call *call);      /* GET /v1/models */
enum sv_next sv_handle_model(struct sv_call *call);       /* GET /v1/models/{} */
enum sv_next sv_handle_live(struct sv_call *call);        /* GET /v2/health/live */
enum sv_next sv_handle_ready(struct sv_call *call);       /* GET /v2/health/ready */
enum sv_next sv_handle_metrics(struct sv_call *call);     /* GET /metrics */
enum sv_next sv_handle_index(struct sv_call *call);       /* GET / */
