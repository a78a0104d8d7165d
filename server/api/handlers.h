/* handlers.h - what each route does: a call in, its reply or the work it left behind out. */
#pragma once

#include "core/request.h"

enum sv_next sv_handle_completions(struct sv_call *call); /* POST /v1/completions */
enum sv_next sv_handle_decisions(struct sv_call *call);   /* POST /v1/decisions */
enum sv_next sv_handle_models(struct sv_call *call);      /* GET /v1/models */
enum sv_next sv_handle_model(struct sv_call *call);       /* GET /v1/models/{id} */
enum sv_next sv_handle_live(struct sv_call *call);        /* GET /v2/health/live */
enum sv_next sv_handle_ready(struct sv_call *call);       /* GET /v2/health/ready */
enum sv_next sv_handle_metrics(struct sv_call *call);     /* GET /metrics */
enum sv_next sv_handle_index(struct sv_call *call);       /* GET / */

/* Text Embeddings Inference: bare, and under /models/{name}. */
enum sv_next sv_handle_predict(struct sv_call *call);  /* POST /predict, /, /invocations */
enum sv_next sv_handle_hf(struct sv_call *call);       /* POST /hf/{name} */
enum sv_next sv_handle_tokenize(struct sv_call *call); /* POST /tokenize */
enum sv_next sv_handle_decode(struct sv_call *call);   /* POST /decode */
enum sv_next sv_handle_info(struct sv_call *call);     /* GET /info */
enum sv_next sv_handle_health(struct sv_call *call);   /* GET /health, /ping */

/* Open Inference Protocol. */
enum sv_next sv_handle_server(struct sv_call *call);      /* GET /v2 */
enum sv_next sv_handle_metadata(struct sv_call *call);    /* GET /v2/models/{name} */
enum sv_next sv_handle_model_ready(struct sv_call *call); /* GET /v2/models/{name}/ready */
enum sv_next sv_handle_infer(struct sv_call *call);       /* POST /v2/models/{name}/infer */
enum sv_next sv_handle_all_stats(struct sv_call *call);   /* GET /v2/models/stats */
enum sv_next sv_handle_stats(struct sv_call *call);       /* GET /v2/models/{name}/stats */
enum sv_next sv_handle_repository(struct sv_call *call);  /* POST /v2/repository/index */
enum sv_next sv_handle_load(struct sv_call *call); /* POST /v2/repository/.../load, /unload */
