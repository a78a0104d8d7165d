/* request_error.h - why a request failed, in the format of each API. */
#pragma once

#include "base/buffer.h"

#include <stdbool.h>

enum sv_error_kind {
    SV_OK,

#define SV_ERROR(name, status, type, code, tei_status, tei_type, reason) SV_##name,
#include "core/request_error.def"
#undef SV_ERROR
    SV_ERROR_KINDS
};

enum {
    SV_ERROR_MESSAGE_MAX = 1536,
    SV_PARAM_MAX = 128,
    SV_RETRY_MS = 1000 /* of what ends by itself, when nobody knows better */
};

struct sv_error {
    enum sv_error_kind kind;
    int retry_ms;             /* when to retry; 0: not said */
    bool permanent;           /* the same request would fail again, so clients should not retry */
    int index;                /* of the text it is about, from 0; -1 when none */
    char param[SV_PARAM_MAX]; /* the field it is about; "" when none */
    char message[SV_ERROR_MESSAGE_MAX];
};

/* The API that a path belongs to. Each has its own format of errors. */
enum sv_api {
    SV_API_OPENAI, /* /v1: {"error":{message, type, param, code}} */
    SV_API_JINA,   /* /v1/rerank: the same, and "detail":"message" */
    SV_API_OIP,    /* /v2: {"error":"message"} */
    SV_API_TEI,    /* /predict, /models/ and their like: {"error":"message","error_type"} */
    SV_API_HF,     /* /hf: as TEI, but never 503 */
    SV_API_PLAIN   /* other paths: RFC 9457 */
};

/* Fills the error, with what its kind says of retries, and returns false, so that
 * `return sv_fail(error, ...)` is the whole path. */
bool sv_fail(struct sv_error *error, enum sv_error_kind kind, const char *param, const char *format,
             ...) SL_PRINTF(4, 5);

/* Writes the name of a field for messages: `name`, or `name[index]` for an element of an array. */
void sv_param_name(const char *name, bool is_array, int index, char param[static SV_PARAM_MAX]);

bool sv_fail_no_memory(struct sv_error *error); /* fails with SV_INTERNAL */
/* Zeroed memory, to be freed; NULL: fails so. */
void *sv_new(size_t bytes, struct sv_error *error);
bool sv_fail_draining(struct sv_error *error); /* the daemon shuts down */

/* 200 for SV_OK */
int sv_error_status(enum sv_error_kind kind, enum sv_api api);
/* An error with a 5xx status that any client can trigger at will. It must not fill the log. */
bool sv_error_is_client_triggered(enum sv_error_kind kind);
const char *sv_error_reason(enum sv_error_kind kind); /* "ok" for SV_OK */
const char *sv_error_code(enum sv_error_kind kind);   /* not for SV_OK */

/* Writes the body in the API's format and returns its content type. */
const char *sv_error_write(const struct sv_error *error, enum sv_api api, struct sl_buffer *body);
