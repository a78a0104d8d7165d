/* request_error.h - why a request did not get its answer, and how each family of endpoints says so.
 */
#pragma once

#include "base/buffer.h"

#include <stdbool.h>

enum sv_error_kind {
    SV_OK,

#define SV_ERROR(name, status, type, code, tei_status, tei_type, reason) SV_##name,
#include "core/request_error.def"
#undef SV_ERROR
};

enum { SV_ERROR_MESSAGE_MAX = 1536, SV_PARAM_MAX = 64 };

struct sv_error {
    enum sv_error_kind kind;
    int retry_ms;             /* OVERLOADED, DRAINING, NOT_READY: when to come again */
    bool permanent;           /* the same request would end so again: no client need try */
    int index;                /* of the text it is about, from 0; -1 when none */
    char param[SV_PARAM_MAX]; /* the field it is about; "" when none */
    char message[SV_ERROR_MESSAGE_MAX];
};

/* The paths of one protocol, which share how errors look. */
enum sv_api {
    SV_API_OPENAI, /* /v1: {"error":{message, type, param, code}} */
    SV_API_OIP,    /* /v2: {"error":"message"} */
    SV_API_TEI,    /* /predict, /models/ and their like: {"error":"message","error_type"} */
    SV_API_HF,     /* /hf: the same, but never with 503 */
    SV_API_PLAIN   /* the rest: RFC 9457 */
};

/* Fills the error and returns false, so that `return sv_fail(error, ...)` is the whole
 * path. */
bool sv_fail(struct sv_error *error, enum sv_error_kind kind, const char *param, const char *format,
             ...) SL_PRINTF(4, 5);

/* What messages request a thing: by its name alone, or as name[index] when it is one of several. */
void sv_param_name(const char *name, bool is_array, int index, char param[static SV_PARAM_MAX]);

bool sv_fail_no_memory(struct sv_error *error); /* one of them */

/* 200 for SV_OK */
int sv_error_status(enum sv_error_kind kind, enum sv_api api);
/* Any client can make it come, as often as it likes, though its status is that of a server's fault:
 * not done here, or by a model that did not load. It must not fill the log. */
bool sv_error_is_client_triggered(enum sv_error_kind kind);
const char *sv_error_reason(enum sv_error_kind kind); /* "ok" for SV_OK */
const char *sv_error_code(enum sv_error_kind kind);   /* not for SV_OK */

/* Writes the body in the family's shape; its content type is returned. */
const char *sv_error_write(const struct sv_error *error, enum sv_api api, struct sl_buffer *body);
