/* print_metrics.c - the daemon's metrics, unchanged or as JSON. */
#include "sluicectl/print.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One label, name="value" with \\, \" and \n in the value; moves *at past it and its comma. */
static bool add_label(json_t *labels, const char **at)
{
    char value[512];
    size_t used = 0, length = strcspn(*at, "=");
    const char *name = *at, *c = *at + length;
    if (c[0] != '=' || c[1] != '"')
        return false;
    for (c += 2; *c && *c != '"' && used < sizeof value; c++) {
        bool escaped = *c == '\\' && c[1];
        c += escaped;
        value[used] = *c;
        if (escaped && *c == 'n')
            value[used] = '\n';
        used++;
    }
    json_t *text = json_stringn(value, used);
    char key[128];
    (void)snprintf(key, sizeof key, "%.*s", (int)length, name);
    if (*c != '"' || !text || json_object_set_new(labels, key, text) != 0)
        return false;
    c++;
    *at = c + (*c == ',');
    return true;
}

/* JSON has no infinities and NaN: they become strings. */
static json_t *value_of(const char *text)
{
    double value = strtod(text, NULL);
    return isfinite(value) ? json_real(value) : json_string(text);
}

/* `name{label="value"} number` as an object; NULL when the line is not of that form. */
static json_t *sample_of(const char *line)
{
    size_t length = strcspn(line, "{ ");
    const char *at = line + length;
    json_t *labels = json_object();
    bool good = labels != NULL;
    if (*at == '{') {
        for (at++; good && *at != '}';)
            good = add_label(labels, &at);
        at += good;
    }
    if (!good || *at != ' ') {
        json_decref(labels);
        return NULL;
    }
    return json_pack("{s:s%, s:o, s:o}", "name", line, length, "labels", labels, "value",
                     value_of(at + 1));
}

static bool add_sample(json_t *list, const char *line, struct fault *fault)
{
    json_t *sample = sample_of(line);
    if (!sample || json_array_append_new(list, sample) != 0)
        return fault_set(fault, EXIT_FAILED, "malformed response: not a metric: %.200s", line);
    return true;
}

/* The metric of a line: "# HELP name text" and "# TYPE name kind" begin with 7 other bytes. */
static const char *subject_of(const char *line)
{
    return line[0] == '#' && strlen(line) > 7 ? line + 7 : line;
}

bool print_metrics(const struct sl_buffer *body, const char *prefix, bool json, struct fault *fault)
{
    bool good = true;
    json_t *list = json ? json_array() : NULL;
    char *line = body->data, *next;
    for (; good && line && *line; line = next) {
        char *end = line + strcspn(line, "\n");
        next = *end ? end + 1 : end;
        *end = '\0';
        if (strncmp(subject_of(line), prefix, strlen(prefix)) != 0)
            continue;
        if (!json)
            (void)puts(line);
        else if (line[0] != '#' && line[0] != '\0')
            good = add_sample(list, line, fault);
    }
    if (json && good)
        (void)json_dumpf(list, stdout, JSON_COMPACT | JSON_REAL_PRECISION(12));
    if (json && good)
        (void)putchar('\n');
    json_decref(list);
    return good;
}
