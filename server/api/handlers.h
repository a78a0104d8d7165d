/* handlers.h - one function per route: it responds, or starts asynchronous work. */
#pragma once

#include "core/request.h"

enum sv_progress sv_handle_completions(struct sv_request *request);  /* POST /v1/completions */
enum sv_progress sv_handle_decisions(struct sv_request *request);    /* POST /v1/decisions */
enum sv_progress sv_handle_embeddings(struct sv_request *request);   /* POST /v1/embeddings */
enum sv_progress sv_handle_models(struct sv_request *request);       /* GET /v1/models */
enum sv_progress sv_handle_model(struct sv_request *request);        /* GET /v1/models/{id} */
enum sv_progress sv_handle_versions(struct sv_request *request);     /* GET .../versions */
enum sv_progress sv_handle_model_delete(struct sv_request *request); /* DELETE /v1/models/{id} */
enum sv_progress sv_handle_label_set(struct sv_request *request);    /* PUT .../labels/{label} */
enum sv_progress sv_handle_label_delete(struct sv_request *request); /* DELETE the same */
enum sv_progress sv_handle_rollback(struct sv_request *request);     /* POST .../rollback */
enum sv_progress sv_handle_live(struct sv_request *request);         /* GET /v2/health/live */
enum sv_progress sv_handle_ready(struct sv_request *request);        /* GET /v2/health/ready */
enum sv_progress sv_handle_metrics(struct sv_request *request);      /* GET /metrics */
enum sv_progress sv_handle_root(struct sv_request *request);         /* GET / */
enum sv_progress sv_handle_openapi(struct sv_request *request);      /* GET /openapi.json */

/* Files of clients, in OpenAI's format. */
extern const struct sv_body_sink sv_file_sink;
enum sv_progress sv_handle_file_upload(struct sv_request *request);  /* POST /v1/files */
enum sv_progress sv_handle_files(struct sv_request *request);        /* GET /v1/files */
enum sv_progress sv_handle_file(struct sv_request *request);         /* GET /v1/files/{id} */
enum sv_progress sv_handle_file_content(struct sv_request *request); /* .../content */
enum sv_progress sv_handle_file_delete(struct sv_request *request);  /* DELETE /v1/files/{id} */
enum sv_progress sv_handle_audit(struct sv_request *request);        /* GET /v1/audit */

/* Training jobs, in the format of OpenAI's fine-tuning API. */
enum sv_progress sv_handle_job_create(struct sv_request *request); /* POST /v1/fine_tuning/jobs */
enum sv_progress sv_handle_jobs(struct sv_request *request);       /* GET /v1/fine_tuning/jobs */
enum sv_progress sv_handle_job(struct sv_request *request);        /* GET .../{id} */
enum sv_progress sv_handle_job_cancel(struct sv_request *request); /* POST .../{id}/cancel */
enum sv_progress sv_handle_job_pause(struct sv_request *request);  /* POST .../{id}/pause */
enum sv_progress sv_handle_job_resume(struct sv_request *request); /* POST .../{id}/resume */
enum sv_progress sv_handle_job_events(struct sv_request *request); /* GET .../{id}/events */
enum sv_progress sv_handle_job_checkpoints(
    struct sv_request *request); /* GET .../{id}/checkpoints */

/* Text Embeddings Inference: bare, and under /models/{name}. */
enum sv_progress sv_handle_predict(struct sv_request *request); /* POST /predict, /, /invocations */
enum sv_progress sv_handle_hf(struct sv_request *request);      /* POST /hf/{name} */
enum sv_progress sv_handle_embed(struct sv_request *request);   /* POST /embed */
enum sv_progress sv_handle_tokenize(struct sv_request *request); /* POST /tokenize */
enum sv_progress sv_handle_decode(struct sv_request *request);   /* POST /decode */
enum sv_progress sv_handle_info(struct sv_request *request);     /* GET /info */
enum sv_progress sv_handle_health(struct sv_request *request);   /* GET /health, /ping */

/* Open Inference Protocol. */
enum sv_progress sv_handle_server_metadata(struct sv_request *request); /* GET /v2 */
enum sv_progress sv_handle_model_metadata(struct sv_request *request);  /* GET /v2/models/{name} */
enum sv_progress sv_handle_model_ready(
    struct sv_request *request);                                  /* GET /v2/models/{name}/ready */
enum sv_progress sv_handle_infer(struct sv_request *request);     /* POST /v2/models/{name}/infer */
enum sv_progress sv_handle_all_stats(struct sv_request *request); /* GET /v2/models/stats */
enum sv_progress sv_handle_stats(struct sv_request *request);     /* GET /v2/models/{name}/stats */
enum sv_progress sv_handle_repository_index(
    struct sv_request *request); /* POST /v2/repository/index */
enum sv_progress sv_handle_repository_load(struct sv_request *request);   /* .../load */
enum sv_progress sv_handle_repository_unload(struct sv_request *request); /* .../unload */
