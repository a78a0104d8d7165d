/* request_error.c - why a call did not get its answer, and how each family of endpoints says so. */
#include "core/request_error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct row {
    const char *type, *code, *tei_type, *reason;
    int status, tei_status;
};

static const struct row rows[] = {
    [SV_FINE] = {.status = 200, .tei_status = 200, .reason = "ok"},
#define SV_PROBLEM(name, status, type, code, tei_status, tei_type, reason)                         \
    [SV_##name] = {type, code, tei_type, reason, status, tei_status},
#include "core/request_error.def"
#undef SV_PROBLEM
};

bool sv_refuse(struct sv_problem *problem, enum sv_problem_kind kind, const char *param,
               const char *format, ...)
{
    assert(kind != SV_FINE);
    problem->kind = kind;
    problem->retry_ms = 0;
    problem->recurs = false;
    (void)snprintf(problem->param, sizeof problem->param, "%s", param ? param : "");
    va_list list;
    va_start(list, format);
    (void)vsnprintf(problem->message, sizeof problem->message, format, list);
    va_end(list);
    return false;
}

void sv_param(const char *name, bool several, int index, char param[static SV_PARAM_MAX])
{
    if (several)
        (void)snprintf(param, SV_PARAM_MAX, "%.48s[%d]", name, index);
    else
        (void)snprintf(param, SV_PARAM_MAX, "%s", name);
}

bool sv_out_of_memory(struct sv_problem *problem)
{
    return sv_refuse(problem, SV_INTERNAL, NULL, "Out of memory.");
}

/* Hugging Face's client answers a 503 with the same request, at once and for ever: it is told by
 * other words what other clients may wait for. */
static const struct row *row_for(enum sv_problem_kind kind, enum sv_family family)
{
    if (family == SV_FAMILY_HF && kind == SV_NOT_READY)
        kind = SV_INTERNAL;
    if (family == SV_FAMILY_HF && kind == SV_DRAINING)
        kind = SV_OVERLOADED;
    return &rows[kind];
}

int sv_problem_status(enum sv_problem_kind kind, enum sv_family family)
{
    bool is_tei = family == SV_FAMILY_TEI || family == SV_FAMILY_HF;
    const struct row *row = row_for(kind, family);
    return is_tei ? row->tei_status : row->status;
}

bool sv_problem_is_asked_for(enum sv_problem_kind kind)
{
    return kind == SV_NOT_DONE_HERE || kind == SV_NOT_READY;
}

const char *sv_problem_reason(enum sv_problem_kind kind)
{
    return rows[kind].reason;
}

const char *sv_problem_code(enum sv_problem_kind kind)
{
    assert(kind != SV_FINE);
    return rows[kind].code;
}

static void write_openai(const struct sv_problem *problem, struct sv_text *body)
{
    const struct row *row = &rows[problem->kind];
    sv_text_adds(body, "{\"error\":{\"message\":");
    sv_text_jsons(body, problem->message);
    sv_text_print(body, ",\"type\":\"%s\",\"param\":", row->type);
    sv_text_jsons(body, problem->param[0] ? problem->param : NULL);
    sv_text_print(body, ",\"code\":\"%s\"}}", row->code);
}

static void write_tei(const struct sv_problem *problem, enum sv_family family, struct sv_text *body)
{
    sv_text_adds(body, "{\"error\":");
    sv_text_jsons(body, problem->message);
    sv_text_print(body, ",\"error_type\":\"%s\"}", row_for(problem->kind, family)->tei_type);
}

static void write_plain(const struct sv_problem *problem, struct sv_text *body)
{
    const struct row *row = &rows[problem->kind];
    sv_text_print(body,
                  "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"detail\":", row->code,
                  row->status);
    sv_text_jsons(body, problem->message);
    sv_text_adds(body, "}");
}

const char *sv_problem_write(const struct sv_problem *problem, enum sv_family family,
                             struct sv_text *body)
{
    switch (family) {
    case SV_FAMILY_OPENAI: write_openai(problem, body); break;
    case SV_FAMILY_TEI:
    case SV_FAMILY_HF: write_tei(problem, family, body); break;
    case SV_FAMILY_PLAIN: write_plain(problem, body); return "application/problem+json";
    case SV_FAMILY_OIP:
        sv_text_adds(body, "{\"error\":");
        sv_text_jsons(body, problem->message);
        sv_text_adds(body, "}");
        break;
    }
    return "application/json";
}
