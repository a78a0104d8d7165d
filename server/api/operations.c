/* operations.c - what each endpoint is asked and answers, a row for each handler. */
#include "api/operations.h"
#include "api/handlers.h"
#include "params/completion_params.h"
#include "params/decision_params.h"
#include "params/embed_params.h"
#include "params/infer_params.h"
#include "params/job_params.h"
#include "params/predict_params.h"
#include "params/registry_params.h"
#include "params/tokenize_params.h"

#include <stddef.h>

static const struct sv_parameter names_model[] = {
    {"query", "model", "string", "model, if the path names none: name, name@version or name:label"},
    {"header", "X-Model", "string", "the same"},
    {NULL, NULL, NULL, NULL},
};

static const struct sv_parameter may_be_async[] = {
    {"query", "async", "boolean", "respond 202 at once; the index says what became of it"},
    {NULL, NULL, NULL, NULL},
};

static const struct sv_parameter may_stream[] = {
    {"query", "stream", "boolean", "send server-sent events: those so far, then new ones"},
    {"header", "Last-Event-ID", "string", "id of the event to continue a stream after"},
    {NULL, NULL, NULL, NULL},
};

static const struct sv_parameter is_idempotent[] = {
    {"header", "Idempotency-Key", "string", "the same request with the same key makes one job"},
    {NULL, NULL, NULL, NULL},
};

static const struct sv_parameter may_be_binary[] = {
    {"header", "Inference-Header-Content-Length", "size",
     "length of the JSON, if binary tensors follow it"},
    {NULL, NULL, NULL, NULL},
};

enum {
    COMPUTES = SV_FAILS_MODEL | SV_FAILS_COMPUTE,
    NEEDS_FILE = SV_FAILS_STATE | SV_FAILS_FILE,
    NEEDS_JOB = SV_FAILS_STATE | SV_FAILS_JOB
};

static const char octets[] = "application/octet-stream";
static const char events[] = "text/event-stream";

const struct sv_operation sv_operations[] = {
    /* ---- OpenAI ---- */
    {sv_handle_completions, "create_completion", "Complete a text", COMPUTES, .takes_budget = true,
     .body = "CompletionRequest", .fields = sv_completion_fields, .response = "Completion",
     .media = events},
    {sv_handle_decisions, "create_decision", "Answer typed questions with a classifier", COMPUTES,
     .takes_budget = true, .body = "DecisionRequest", .fields = sv_decision_fields,
     .response = "Decisions"},
    {sv_handle_embeddings, "create_embedding", "Embed texts", COMPUTES, .body = "EmbeddingRequest",
     .fields = sv_embedding_fields, .response = "EmbeddingList"},
    {sv_handle_models, "list_models", "List the served models", .response = "ModelList"},
    {sv_handle_model, "get_model", "Describe a model", SV_FAILS_MODEL, .response = "Model"},
    {sv_handle_model_delete, "delete_model", "Unload a model or a version", SV_FAILS_CHANGE,
     .response = "DeletedModel"},
    {sv_handle_versions, "list_versions", "List the versions of a model", SV_FAILS_MODEL,
     .response = "VersionList"},
    {sv_handle_label_set, "set_label", "Move a label, or change the weight of the canary",
     SV_FAILS_CHANGE, .body = "LabelRequest", .fields = sv_label_fields, .response = "Label"},
    {sv_handle_label_delete, "delete_label", "Remove a label", SV_FAILS_CHANGE,
     .response = "DeletedLabel"},
    {sv_handle_rollback, "rollback_model", "Move the label stable back", SV_FAILS_CHANGE,
     .response = "Label"},
    {sv_handle_file_upload, "create_file", "Upload a file to train on",
     SV_FAILS_STATE | SV_FAILS_STORAGE, .body = "FileUpload", .body_media = "multipart/form-data",
     .response = "File"},
    {sv_handle_files, "list_files", "List files", SV_FAILS_STATE, .response = "FileList",
     .is_page = true, .collection = SV_FILES},
    {sv_handle_file, "get_file", "Describe a file", NEEDS_FILE, .response = "File"},
    {sv_handle_file_content, "get_file_content", "Download a file", NEEDS_FILE, .media = octets},
    {sv_handle_file_delete, "delete_file", "Delete a file", NEEDS_FILE, .response = "DeletedFile"},
    {sv_handle_audit, "list_audit_events", "List who changed what", SV_FAILS_STATE,
     .response = "AuditLog", .is_page = true, .collection = SV_AUDIT},
    {sv_handle_job_create, "create_job", "Train a model",
     NEEDS_FILE | SV_FAILS_JOB | SV_FAILS_STORAGE, .body = "JobRequest", .fields = sv_job_fields,
     .response = "Job", .parameters = is_idempotent},
    {sv_handle_jobs, "list_jobs", "List training jobs", SV_FAILS_STATE, .response = "JobList",
     .is_page = true, .collection = SV_JOBS},
    {sv_handle_job, "get_job", "Describe a training job", NEEDS_JOB, .response = "Job"},
    {sv_handle_job_cancel, "cancel_job", "Cancel a training job", NEEDS_JOB, .response = "Job"},
    {sv_handle_job_pause, "pause_job", "Pause a training job", NEEDS_JOB, .response = "Job"},
    {sv_handle_job_resume, "resume_job", "Resume a training job", NEEDS_JOB, .response = "Job"},
    {sv_handle_job_events, "list_job_events", "List or stream the events of a job", NEEDS_JOB,
     .response = "JobEventList", .media = events, .is_page = true, .collection = SV_EVENTS,
     .parameters = may_stream},
    {sv_handle_job_checkpoints, "list_job_checkpoints", "List the saved states of a job", NEEDS_JOB,
     .response = "CheckpointList", .is_page = true, .collection = SV_CHECKPOINTS},

    /* ---- Text Embeddings Inference, Hugging Face ---- */
    {sv_handle_predict, "predict", "Classify texts", COMPUTES, .takes_budget = true,
     .body = "PredictRequest", .fields = sv_predict_fields, .response = "Predictions",
     .parameters = names_model},
    {sv_handle_embed, "embed", "Embed texts", COMPUTES, .body = "EmbedRequest",
     .fields = sv_embed_fields, .response = "Embeddings", .parameters = names_model},
    {sv_handle_tokenize, "tokenize", "Split texts into tokens", COMPUTES, .body = "TokenizeRequest",
     .fields = sv_tokenize_fields, .response = "Tokens", .parameters = names_model},
    {sv_handle_decode, "decode", "Join tokens into texts", COMPUTES, .body = "DecodeRequest",
     .fields = sv_decode_fields, .response = "Texts", .parameters = names_model},
    {sv_handle_info, "get_info", "Describe a model and its limits", SV_FAILS_MODEL,
     .response = "Info", .parameters = names_model},
    {sv_handle_hf, "classify", "Classify texts as Hugging Face's pipeline does", COMPUTES,
     .takes_budget = true, .body = "TextClassificationRequest", .fields = sv_hf_fields,
     .response = "Rankings"},

    /* ---- Open Inference Protocol ---- */
    {sv_handle_server_metadata, "get_server_metadata", "Describe the server",
     .response = "ServerMetadata"},
    {sv_handle_live, "get_live", "Whether the scheduler makes progress", SV_FAILS_HEALTH,
     .response = "Live"},
    {sv_handle_ready, "get_ready", "Whether every model is loaded and no shutdown has begun",
     SV_FAILS_HEALTH, .response = "Ready"},
    {sv_handle_model_metadata, "get_model_metadata", "Describe the tensors of a model",
     SV_FAILS_MODEL, .response = "ModelMetadata"},
    {sv_handle_model_ready, "get_model_ready", "Whether a model is ready",
     SV_FAILS_MODEL | SV_FAILS_HEALTH, .response = "ModelReady"},
    {sv_handle_infer, "infer", "Classify texts, or compute their embeddings", COMPUTES,
     .takes_budget = true, .body = "InferRequest", .fields = sv_infer_fields, .body_media = octets,
     .response = "Inference", .media = octets, .parameters = may_be_binary},
    {sv_handle_all_stats, "get_all_statistics", "Statistics of all models that read texts",
     .response = "Statistics"},
    {sv_handle_stats, "get_statistics", "Statistics of a model that reads texts",
     SV_FAILS_MODEL | SV_FAILS_COMPUTE, .response = "Statistics"},
    {sv_handle_repository_index, "get_repository_index", "List all versions with their state",
     .body = "RepositoryIndexRequest", .fields = sv_index_fields, .response = "RepositoryIndex"},
    {sv_handle_repository_load, "load_model", "Load a model or a version", SV_FAILS_CHANGE,
     .body = "RepositoryLoadRequest", .fields = sv_repository_fields,
     .response = "RepositoryChange", .may_be_accepted = true, .parameters = may_be_async},
    {sv_handle_repository_unload, "unload_model", "Unload a model or a version", SV_FAILS_CHANGE,
     .body = "RepositoryUnloadRequest", .fields = sv_repository_fields,
     .response = "RepositoryChange", .may_be_accepted = true, .parameters = may_be_async},

    /* ---- the daemon ---- */
    {sv_handle_root, "get_index", "Name, version and endpoints", SV_FAILS_HEALTH,
     .response = "Index"},
    {sv_handle_openapi, "get_openapi", "This document", .response = "object"},
    {sv_handle_health, "get_health", "Whether load balancers should send requests", SV_FAILS_HEALTH,
     .body = NULL},
    {sv_handle_metrics, "get_metrics", "Metrics for Prometheus", .media = "text/plain"},
    {.handle = NULL},
};

const struct sv_operation *sv_operation_find(enum sv_progress (*handle)(struct sv_request *))
{
    for (const struct sv_operation *o = sv_operations; o->handle; o++)
        if (o->handle == handle)
            return o;
    return NULL;
}
