/* request_error.h - why a call did not get its answer, and how each family of endpoints says so. */
#pragma once

#include "core/text.h"

#include <stdbool.h>

enum sv_problem_kind {
    SV_FINE,

#define SV_PROBLEM(name, status, type, code, tei_status, tei_type, reason) SV_##name,
#include "core/request_error.def"
#undef SV_PROBLEM
};

enum { SV_PROBLEM_TEXT_MAX = 1536, SV_PARAM_MAX = 64 };

struct sv_problem {
    enum sv_problem_kind kind;
    int retry_ms;             /* OVERLOADED, DRAINING, NOT_READY: when to come again */
    bool recurs;              /* the same request would end so again: no client need try */
    char param[SV_PARAM_MAX]; /* the field it is about; "" when none */
    char message[SV_PROBLEM_TEXT_MAX];
};

/* The paths of one protocol, which share how errors look. */
enum sv_family {
    SV_FAMILY_OPENAI, /* /v1: {"error":{message, type, param, code}} */
    SV_FAMILY_OIP,    /* /v2: {"error":"message"} */
    SV_FAMILY_TEI,    /* /predict, /models/ and their like: {"error":"message","error_type"} */
    SV_FAMILY_HF,     /* /hf: the same, but never with 503 */
    SV_FAMILY_PLAIN   /* the rest: RFC 9457 */
};

/* Fills the problem and returns false, so that `return sv_refuse(problem, ...)` is the whole
 * path. */
bool sv_refuse(struct sv_problem *problem, enum sv_problem_kind kind, const char *param,
               const char *format, ...) SL_PRINTF(4, 5);

/* What messages call a thing: by its name alone, or as name[index] when it is one of several. */
void sv_param(const char *name, bool several, int index, char param[static SV_PARAM_MAX]);

bool sv_out_of_memory(struct sv_problem *problem); /* one of them */

/* 200 for SV_FINE */
int sv_problem_status(enum sv_problem_kind kind, enum sv_family family);
/* Any client can make it come, as often as it likes, though its status is that of a server's fault:
 * not done here, or by a model that did not load. It must not fill the log. */
bool sv_problem_is_asked_for(enum sv_problem_kind kind);
const char *sv_problem_reason(enum sv_problem_kind kind); /* "ok" for SV_FINE */
const char *sv_problem_code(enum sv_problem_kind kind);   /* not for SV_FINE */

/* Writes the body in the family's shape; its content type is returned. */
const char *sv_problem_write(const struct sv_problem *problem, enum sv_family family,
                             struct sv_text *body);
