/* print.c - the output of sluicectl, as text and as JSON, and the JSON of responses. */
#include "sluicectl/print.h"
#include "sluicectl/response_error.h"
#include "sluicectl/response_json.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static void print_json(const json_t *value)
{
    (void)json_dumpf(value, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
    (void)putchar('\n');
}

bool print_response(const struct sl_buffer *body, print_function *print,
                    struct client_error *failure)
{
    json_t *response = response_parse(body->data, body->bytes, failure);
    if (response)
        (print ? print : print_json)(response);
    json_decref(response);
    return response != NULL;
}

/* ---- models ---------------------------------------------------------------------------------- */

/* Word vectors have neither layers nor, by themselves, trained parameters. */
static const char *count_or_dash(long long count, char text[24])
{
    (void)snprintf(text, 24, "%lld", count);
    return count > 0 ? text : "-";
}

static void print_model(const json_t *model)
{
    const json_t *more = json_object_get(model, "sluice");
    char parameters[24], layers[24];
    (void)printf("%-24s %7s  %-14s  %-12s %12s %6s %8lld\n", response_text(model, "id"),
                 response_text(more, "version"), response_text(more, "task"),
                 response_text(more, "architecture"),
                 count_or_dash(response_int(more, "parameters"), parameters),
                 count_or_dash(response_int(more, "depth"), layers),
                 (long long)response_int(model, "max_model_len"));
}

void print_models(const json_t *response)
{
    const json_t *list = json_object_get(response, "data");
    (void)printf("%-24s %7s  %-14s  %-12s %12s %6s %8s\n", "MODEL", "VERSION", "TASK",
                 "ARCHITECTURE", "PARAMETERS", "LAYERS", "CONTEXT");
    if (!list)
        print_model(response);
    for (size_t i = 0; i < json_array_size(list); i++)
        print_model(json_array_get(list, i));
}

int print_model_ids(const struct sl_buffer *body, const char *task, char **ids, int max,
                    struct client_error *failure)
{
    json_t *response = response_parse(body->data, body->bytes, failure);
    if (!response)
        return -1;
    const json_t *list = json_object_get(response, "data"), *model;
    size_t i;
    int count = 0;
    json_array_foreach (list, i, model) {
        if (strcmp(response_text(json_object_get(model, "sluice"), "task"), task) != 0)
            continue;
        if (count < max)
            ids[count] = strdup(response_text(model, "id"));
        count++;
    }
    json_decref(response);
    return count;
}

/* ---- versions -------------------------------------------------------------------------------- */

/* "stable (pinned), canary 10 %"; "-": none. */
static void write_labels(const json_t *version, struct sl_buffer *out)
{
    const json_t *labels = json_object_get(version, "labels");
    for (size_t i = 0; i < json_array_size(labels); i++) {
        const char *label = json_string_value(json_array_get(labels, i));
        sl_buffer_printf(out, "%s%s", i ? ", " : "", label ? label : "");
        if (label && strcmp(label, "stable") == 0 &&
            json_is_true(json_object_get(version, "pinned")))
            sl_buffer_append_string(out, " (pinned)");
        if (label && strcmp(label, "canary") == 0)
            sl_buffer_printf(out, " %lld %%", (long long)response_int(version, "canary_weight"));
    }
    sl_buffer_append_string(out, json_array_size(labels) > 0 ? "" : "-");
}

/* Of the column: a version may be a Unix timestamp. */
static int version_width(const json_t *list)
{
    int width = (int)sizeof "VERSION" - 1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        int digits =
            snprintf(NULL, 0, "%lld", (long long)response_int(json_array_get(list, i), "version"));
        width = digits > width ? digits : width;
    }
    return width;
}

static void print_ignored(const json_t *response)
{
    const json_t *list = json_object_get(response, "ignored");
    for (size_t i = 0; i < json_array_size(list); i++)
        (void)printf("%s is ignored: %s\n", response_text(json_array_get(list, i), "directory"),
                     response_text(json_array_get(list, i), "reason"));
}

void print_versions(const json_t *response)
{
    const json_t *list = json_object_get(response, "data");
    const int width = version_width(list);
    (void)printf("%*s  %-8s  %-24s  %s\n", width, "VERSION", "STATE", "LABELS", "REASON");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *version = json_array_get(list, i);
        struct sl_buffer labels = {0};
        write_labels(version, &labels);
        (void)printf("%*lld  %-8s  %-24s  %s\n", width, (long long)response_int(version, "version"),
                     response_text(version, "state"), labels.failed ? "" : labels.data,
                     response_text(version, "reason"));
        sl_buffer_release(&labels);
    }
    print_ignored(response);
}

/* It left without being named. */
static void print_removed_canary(const json_t *response)
{
    if (json_is_true(json_object_get(response, "removed_canary")))
        (void)printf("%s",
                     "; the label canary, with its percentage, was on this version and is removed");
}

void print_loaded(const json_t *response)
{
    const char *version = response_text(response, "version");
    (void)printf("%s%s%s is %s", response_text(response, "name"), version[0] ? "@" : "", version,
                 strcmp(response_text(response, "state"), "READY") == 0 ? "ready" : "unloaded");
    print_removed_canary(response);
    (void)putchar('\n');
    print_ignored(response);
}

void print_label(const json_t *response)
{
    long long version = response_int(response, "version");
    long long before = response_int(response, "previous_version");
    (void)printf("%s:%s is version %lld", response_text(response, "model"),
                 response_text(response, "label"), version);
    if (before > 0 && before != version)
        (void)printf(", was %lld", before);
    else if (before > 0 && strcmp(response_text(response, "label"), "stable") == 0)
        (void)printf(" as before, and pinned to it");
    if (json_object_get(response, "weight"))
        (void)printf(", with %lld %% of the requests", (long long)response_int(response, "weight"));
    print_removed_canary(response);
    (void)putchar('\n');
}

void print_deleted(const json_t *response)
{
    (void)printf("%s is removed\n", response_text(response, "id"));
}

/* ---- completions ----------------------------------------------------------------------------- */

static void print_usage(const json_t *usage)
{
    const json_t *more = json_object_get(usage, "sluice");
    (void)fprintf(stderr, "[%lld prompt tokens, %lld completion tokens",
                  (long long)response_int(usage, "prompt_tokens"),
                  (long long)response_int(usage, "completion_tokens"));
    if (more)
        (void)fprintf(stderr, "; %.2f layers per token, %.1f %% of layer operations skipped",
                      json_number_value(json_object_get(more, "depth_mean")),
                      100 * json_number_value(json_object_get(more, "layer_ops_skipped")));
    (void)fprintf(stderr, "]\n");
}

/* Of a completion, of an answer, or of a piece of one; NULL: it has none. */
static const json_t *text_of(const json_t *choice)
{
    const json_t *text = json_object_get(choice, "text");
    if (!text)
        text = json_object_get(json_object_get(choice, "message"), "content");
    return text ? text : json_object_get(json_object_get(choice, "delta"), "content");
}

bool print_texts(const char *json, size_t count, struct text_style style,
                 struct client_error *failure)
{
    json_t *response = response_parse(json, count, failure);
    if (!response)
        return false;
    const json_t *choices = json_object_get(response, "choices");
    bool good = json_is_array(choices) || response_error_in_event(response, failure);
    for (size_t i = 0; i < json_array_size(choices); i++) {
        const json_t *text = text_of(json_array_get(choices, i));
        if (style.depths)
            print_depths(json_array_get(choices, i));
        else
            (void)fwrite(json_string_value(text), 1, json_string_length(text), stdout);
    }
    if (style.usage && json_is_object(json_object_get(response, "usage"))) {
        (void)fflush(stdout);
        print_usage(json_object_get(response, "usage"));
    }
    json_decref(response);
    return good;
}

bool print_event(const char *json, size_t count, struct client_error *failure)
{
    json_t *event = response_parse(json, count, failure);
    if (!event)
        return false;
    (void)printf("%.*s\n", (int)count, json);
    bool good =
        json_is_array(json_object_get(event, "choices")) || response_error_in_event(event, failure);
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
