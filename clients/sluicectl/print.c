/* print.c - the output of sluicectl, as text and as JSON, and the JSON of responses. */
#include "sluicectl/print.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *parse(const char *json, size_t count, struct client_error *failure)
{
    json_error_t error;
    json_t *value = json_loadb(json ? json : "", count, 0, &error);
    if (!value)
        (void)client_error_set(failure, EXIT_FAILED, "the response is not JSON: %s", error.text);
    return value;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static int64_t whole_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static void print_json(json_t *value)
{
    (void)json_dumpf(value, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
    (void)putchar('\n');
}

bool print_raw(const struct sl_buffer *body, struct client_error *failure)
{
    json_t *value = parse(body->data, body->bytes, failure);
    if (value)
        print_json(value);
    json_decref(value);
    return value != NULL;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* Which of several texts the error is about; -1: unknown. *skip: the bytes of the message that name
 * the text by its parameter, which the caller replaces by a line number. */
static int index_of(const json_t *rejection, const char *message, size_t *skip)
{
    const json_t *error = json_object_get(rejection, "error");
    const json_t *object = json_is_object(error) ? error : rejection;
    const json_t *index = json_object_get(object, "index");
    const char *param = text_of(object, "param");
    size_t length = strlen(param);
    bool begins = length > 0 && message[0] == '\'' && strncmp(message + 1, param, length) == 0 &&
                  strncmp(message + 1 + length, "' ", 2) == 0;
    *skip = json_is_integer(index) && begins ? length + 3 : 0;
    return json_is_integer(index) ? (int)json_integer_value(index) : -1;
}

/* The three error formats of the daemon's families of endpoints. */
static const char *message_of(const json_t *rejection)
{
    const json_t *error = json_object_get(rejection, "error");
    if (json_is_string(error))
        return json_string_value(error);
    return text_of(json_is_object(error) ? error : rejection,
                   json_is_object(error) ? "message" : "detail");
}

static bool set_from_error(const struct client_response *response, const json_t *rejection,
                           struct client_error *failure)
{
    const char *message = message_of(rejection);
    const char *own = text_of(json_object_get(rejection, "error"), "code");
    const char *code = own[0] ? own : response->code;
    char status[16] = "", id[CLIENT_ID_MAX + 16] = "";
    size_t skip;
    int index = index_of(rejection, message, &skip);
    message += skip;
    if (response->status != 200)
        (void)snprintf(status, sizeof status, "%d", response->status);
    if (response->request_id[0])
        (void)snprintf(id, sizeof id, ", %s", response->request_id);
    (void)client_error_set(failure, EXIT_FAILED, "%s (%s%s%s%s)",
                           message[0] ? message
                                      : "the daemon rejected the request without a message",
                           status, status[0] && code[0] ? " " : "", code, id);
    (void)snprintf(failure->code, sizeof failure->code, "%s", code);
    failure->err.index = index;
    return false;
}

/* An error inside a stream. */
static bool set_from_event(const json_t *rejection, struct client_error *failure)
{
    return set_from_error(&(struct client_response){.status = 200}, rejection, failure);
}

bool client_error_from_response(const struct client_response *response,
                                struct client_error *failure)
{
    struct client_error ignored;
    const char *data = response->body.data;
    json_t *rejection = parse(data, data ? response->body.bytes : 0, &ignored);
    (void)set_from_error(response, rejection, failure);
    json_decref(rejection);
    return false;
}

/* ---- models ---------------------------------------------------------------------------------- */

static void print_model(const json_t *model)
{
    const json_t *more = json_object_get(model, "sluice");
    (void)printf("%-24s %7s  %-14s  %-12s %12lld %6lld %8lld\n", text_of(model, "id"),
                 text_of(more, "version"), text_of(more, "task"), text_of(more, "architecture"),
                 (long long)whole_of(more, "parameters"), (long long)whole_of(more, "depth"),
                 (long long)whole_of(model, "max_model_len"));
}

bool print_models(const struct sl_buffer *body, struct client_error *failure)
{
    json_t *response = parse(body->data, body->bytes, failure);
    if (!response)
        return false;
    const json_t *list = json_object_get(response, "data");
    (void)printf("%-24s %7s  %-14s  %-12s %12s %6s %8s\n", "MODEL", "VERSION", "TASK",
                 "ARCHITECTURE", "PARAMETERS", "LAYERS", "CONTEXT");
    if (!list)
        print_model(response);
    for (size_t i = 0; i < json_array_size(list); i++)
        print_model(json_array_get(list, i));
    json_decref(response);
    return true;
}

int print_model_ids(const struct sl_buffer *body, const char *task, char **ids, int max,
                    struct client_error *failure)
{
    json_t *response = parse(body->data, body->bytes, failure);
    if (!response)
        return -1;
    const json_t *list = json_object_get(response, "data"), *model;
    size_t i;
    int count = 0;
    json_array_foreach (list, i, model) {
        if (strcmp(text_of(json_object_get(model, "sluice"), "task"), task) != 0)
            continue;
        if (count < max)
            ids[count] = strdup(text_of(model, "id"));
        count++;
    }
    json_decref(response);
    return count;
}

/* ---- versions -------------------------------------------------------------------------------- */

/* "stable, canary 10 %"; "-": none. */
static void write_labels(const json_t *version, struct sl_buffer *out)
{
    const json_t *labels = json_object_get(version, "labels");
    for (size_t i = 0; i < json_array_size(labels); i++) {
        const char *label = json_string_value(json_array_get(labels, i));
        sl_buffer_printf(out, "%s%s", i ? ", " : "", label ? label : "");
        if (label && strcmp(label, "canary") == 0)
            sl_buffer_printf(out, " %lld %%", (long long)whole_of(version, "canary_weight"));
    }
    sl_buffer_append_string(out, json_array_size(labels) > 0 ? "" : "-");
}

bool print_versions(const struct sl_buffer *body, struct client_error *failure)
{
    json_t *response = parse(body->data, body->bytes, failure);
    if (!response)
        return false;
    const json_t *list = json_object_get(response, "data");
    (void)printf("%7s  %-8s  %-24s  %s\n", "VERSION", "STATE", "LABELS", "REASON");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *version = json_array_get(list, i);
        struct sl_buffer labels = {0};
        write_labels(version, &labels);
        (void)printf("%7lld  %-8s  %-24s  %s\n", (long long)whole_of(version, "version"),
                     text_of(version, "state"), labels.failed ? "" : labels.data,
                     text_of(version, "reason"));
        sl_buffer_release(&labels);
    }
    json_decref(response);
    return true;
}

bool print_loaded(const struct sl_buffer *body, struct client_error *failure)
{
    json_t *response = parse(body->data, body->bytes, failure);
    if (!response)
        return false;
    const char *version = text_of(response, "version");
    (void)printf("%s%s%s is %s\n", text_of(response, "name"), version[0] ? "@" : "", version,
                 strcmp(text_of(response, "state"), "READY") == 0 ? "ready" : "unloaded");
    json_decref(response);
    return true;
}

bool print_label(const struct sl_buffer *body, struct client_error *failure)
{
    json_t *response = parse(body->data, body->bytes, failure);
    if (!response)
        return false;
    (void)printf("%s:%s is version %lld", text_of(response, "model"), text_of(response, "label"),
                 (long long)whole_of(response, "version"));
    if (whole_of(response, "previous_version") > 0)
        (void)printf(", was %lld", (long long)whole_of(response, "previous_version"));
    if (json_object_get(response, "weight"))
        (void)printf(", with %lld %% of the requests", (long long)whole_of(response, "weight"));
    (void)putchar('\n');
    json_decref(response);
    return true;
}

bool print_deleted(const struct sl_buffer *body, struct client_error *failure)
{
    json_t *response = parse(body->data, body->bytes, failure);
    if (!response)
        return false;
    (void)printf("%s is removed\n", text_of(response, "id"));
    json_decref(response);
    return true;
}

/* ---- completions ----------------------------------------------------------------------------- */

static void print_usage(const json_t *usage)
{
    const json_t *more = json_object_get(usage, "sluice");
    (void)fprintf(stderr, "[%lld prompt tokens, %lld completion tokens",
                  (long long)whole_of(usage, "prompt_tokens"),
                  (long long)whole_of(usage, "completion_tokens"));
    if (more)
        (void)fprintf(stderr, "; %.2f layers per token, %.1f %% of layer operations skipped",
                      json_number_value(json_object_get(more, "depth_mean")),
                      100 * json_number_value(json_object_get(more, "layer_ops_skipped")));
    (void)fprintf(stderr, "]\n");
}

bool print_texts(const char *json, size_t count, bool usage, struct client_error *failure)
{
    json_t *response = parse(json, count, failure);
    if (!response)
        return false;
    const json_t *choices = json_object_get(response, "choices");
    bool good = json_is_array(choices) || set_from_event(response, failure);
    for (size_t i = 0; i < json_array_size(choices); i++) {
        const json_t *choice = json_array_get(choices, i), *text = json_object_get(choice, "text");
        (void)fwrite(text_of(choice, "text"), 1, json_string_length(text), stdout);
    }
    if (usage && json_is_object(json_object_get(response, "usage"))) {
        (void)fflush(stdout);
        print_usage(json_object_get(response, "usage"));
    }
    json_decref(response);
    return good;
}

bool print_event(const char *json, size_t count, struct client_error *failure)
{
    json_t *event = parse(json, count, failure);
    if (!event)
        return false;
    (void)printf("%.*s\n", (int)count, json);
    bool good = json_is_array(json_object_get(event, "choices")) || set_from_event(event, failure);
    json_decref(event);
    return good;
}

/* ---- health ---------------------------------------------------------------------------------- */

void print_health(const struct print_health *health, const char *url, bool json)
{
    if (json) {
        json_t *object = json_pack("{s:b, s:b, s:s?}", "live", health->live, "ready", health->ready,
                                   "reason", health->reason[0] ? health->reason : NULL);
        print_json(object);
        json_decref(object);
        return;
    }
    (void)printf("%s is %s%s%s\n", url,
                 health->ready  ? "ready"
                 : health->live ? "alive but not ready"
                                : "not alive",
                 health->reason[0] ? ": " : "", health->reason);
}
