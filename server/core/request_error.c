/* request_error.c - why a request failed, in the format of each API. */
#include "core/request_error.h"
#include "base/json_writer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *type, *code, *tei_type, *reason;
    int status, tei_status;
};

static const struct row rows[] = {
    [SV_OK] = {.status = 200, .tei_status = 200, .reason = "ok"},
#define SV_ERROR(name, status, type, code, tei_status, tei_type, reason)                           \
    [SV_##name] = {type, code, tei_type, reason, status, tei_status},
#include "core/request_error.def"
#undef SV_ERROR
};

/* It ends by itself, soon. */
static bool passes(enum sv_error_kind kind)
{
    return kind == SV_OVERLOADED || kind == SV_NOT_READY || kind == SV_DRAINING;
}

/* OpenAI's clients retry after any 409 and 5xx. */
static bool stays(enum sv_error_kind kind)
{
    return kind == SV_CONFLICT || kind == SV_NOT_IMPLEMENTED || kind == SV_STORAGE_FULL;
}

bool sv_fail(struct sv_error *error, enum sv_error_kind kind, const char *param, const char *format,
             ...)
{
    assert(kind != SV_OK);
    error->kind = kind;
    error->retry_ms = passes(kind) ? SV_RETRY_MS : 0;
    error->index = -1;
    error->permanent = stays(kind);
    (void)snprintf(error->param, sizeof error->param, "%s", param ? param : "");
    va_list list;
    va_start(list, format);
    (void)vsnprintf(error->message, sizeof error->message, format, list);
    va_end(list);
    return false;
}

void sv_param_name(const char *name, bool is_array, int index, char param[static SV_PARAM_MAX])
{
    if (is_array)
        (void)snprintf(param, SV_PARAM_MAX, "%.48s[%d]", name, index);
    else
        (void)snprintf(param, SV_PARAM_MAX, "%s", name);
}

bool sv_fail_no_memory(struct sv_error *error)
{
    return sv_fail(error, SV_INTERNAL, NULL, "Out of memory.");
}

void *sv_new(size_t bytes, struct sv_error *error)
{
    void *memory = calloc(1, bytes);
    if (!memory)
        (void)sv_fail_no_memory(error);
    return memory;
}

bool sv_fail_draining(struct sv_error *error)
{
    return sv_fail(error, SV_DRAINING, NULL, "The daemon is shutting down.");
}

/* Hugging Face's client repeats a request at once and forever after 503, so it gets other errors.
 */
static const struct row *row_for(enum sv_error_kind kind, enum sv_api api)
{
    if (api == SV_API_HF && kind == SV_NOT_READY)
        kind = SV_INTERNAL;
    if (api == SV_API_HF && kind == SV_DRAINING)
        kind = SV_OVERLOADED;
    return &rows[kind];
}

int sv_error_status(enum sv_error_kind kind, enum sv_api api)
{
    bool is_tei = api == SV_API_TEI || api == SV_API_HF;
    const struct row *row = row_for(kind, api);
    return is_tei ? row->tei_status : row->status;
}

bool sv_error_is_client_triggered(enum sv_error_kind kind)
{
    return kind == SV_NOT_IMPLEMENTED || kind == SV_NOT_READY;
}

const char *sv_error_reason(enum sv_error_kind kind)
{
    return rows[kind].reason;
}

const char *sv_error_code(enum sv_error_kind kind)
{
    assert(kind != SV_OK);
    return rows[kind].code;
}

/* The index of the text at fault, for programs. */
static void write_index(const struct sv_error *error, struct sl_json_writer *json)
{
    if (error->index >= 0)
        sl_json_add(json, "'index':%d", error->index);
}

static void write_openai(const struct sv_error *error, enum sv_api api, struct sl_json_writer *json)
{
    const struct row *row = &rows[error->kind];
    sl_json_add(json, "{'error':{'message':%s,'type':%s,'param':%s,'code':%s", error->message,
                row->type, error->param[0] ? error->param : NULL, row->code);
    write_index(error, json);
    sl_json_add(json, "}");
    if (api == SV_API_JINA)
        sl_json_add(json, "'detail':%s", error->message);
    sl_json_end_object(json);
}

static void write_tei(const struct sv_error *error, enum sv_api api, struct sl_json_writer *json)
{
    sl_json_add(json, "{'error':%s", error->message);
    write_index(error, json);
    sl_json_add(json, "'error_type':%s}", row_for(error->kind, api)->tei_type);
}

static void write_plain(const struct sv_error *error, struct sl_json_writer *json)
{
    const struct row *row = &rows[error->kind];
    sl_json_add(json, "{'type':'about:blank','title':%s,'status':%d,'detail':%s}", row->code,
                row->status, error->message);
}

static void write_oip(const struct sv_error *error, struct sl_json_writer *json)
{
    sl_json_add(json, "{'error':%s", error->message);
    if (error->index >= 0)
        sl_json_add(json, "'param':%s", error->param);
    write_index(error, json);
    sl_json_end_object(json);
}

const char *sv_error_write(const struct sv_error *error, enum sv_api api, struct sl_buffer *body)
{
    struct sl_json_writer json = {.out = body};
    switch (api) {
    case SV_API_OPENAI:
    case SV_API_JINA: write_openai(error, api, &json); break;
    case SV_API_TEI:
    case SV_API_HF: write_tei(error, api, &json); break;
    case SV_API_PLAIN: write_plain(error, &json); return "application/problem+json";
    case SV_API_OIP: write_oip(error, &json); break;
    }
    return "application/json";
}
