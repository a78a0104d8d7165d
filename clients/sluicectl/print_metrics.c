/* print_metrics.c - the daemon's metrics, unchanged or as JSON. */
#include "base/comma_list.h"
#include "common/metrics_text.h"
#include "sluicectl/print.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* JSON has no infinities and NaN: they become strings. */
static json_t *value_of(const struct metric_sample *sample)
{
    return isfinite(sample->value) ? json_real(sample->value) : json_string(sample->text);
}

/* A sample as an object; NULL when the line is none. */
static json_t *sample_of(const char *line)
{
    struct metric_sample sample;
    if (!metric_parse(&sample, line))
        return NULL;
    json_t *labels = json_object();
    for (int i = 0; i < sample.label_count; i++)
        (void)json_object_set_new(labels, sample.labels[i].name,
                                  json_string(sample.labels[i].value));
    return json_pack("{s:s, s:o, s:o}", "name", sample.name, "labels", labels, "value",
                     value_of(&sample));
}

static bool add_sample(json_t *list, const char *line, struct client_error *failure)
{
    json_t *sample = sample_of(line);
    if (!sample || json_array_append_new(list, sample) != 0)
        return client_error_set(failure, EXIT_FAILED, "malformed response: not a metric: %.200s",
                                line);
    return true;
}

/* The metric of a line: "# HELP name text" and "# TYPE name kind" begin with 7 other bytes. */
static const char *subject_of(const char *line)
{
    return line[0] == '#' && strlen(line) > 7 ? line + 7 : line;
}

/* ---- a prefix that matches nothing ----------------------------------------------------------- */

enum { GROUP_BYTES = METRIC_NAME_BYTES, GROUPS_BYTES = 768 };

/* The first two words of a metric's name, such as sluice_batch: what the user may have meant. */
static void add_group(char list[static GROUPS_BYTES], const char *name)
{
    char group[GROUP_BYTES], found[GROUP_BYTES + 4], known[GROUPS_BYTES + 4];
    size_t bytes = strcspn(name, "_ ");
    bytes += name[bytes] == '_' ? 1 + strcspn(name + bytes + 1, "_ ") : 0;
    (void)snprintf(group, sizeof group, "%.*s", (int)bytes, name);
    (void)snprintf(found, sizeof found, " %s,", group);
    (void)snprintf(known, sizeof known, " %s,", list);
    if (!strstr(known, found))
        sl_list_add(list, GROUPS_BYTES, group);
}

static bool fail_prefix(const char *prefix, const char *groups, struct client_error *failure)
{
    return client_error_set(failure, EXIT_BAD_INPUT,
                            "no metric's name begins with '%.64s'; the names begin with: %s",
                            prefix, groups);
}

/* ---- all ------------------------------------------------------------------------------------- */

bool print_metrics(const struct sl_buffer *body, const char *prefix, bool json,
                   struct client_error *failure)
{
    bool good = true, matches = false;
    char groups[GROUPS_BYTES] = "";
    json_t *list = json ? json_array() : NULL;
    char *line = body->data, *next;
    for (; good && line && *line; line = next) {
        char *end = line + strcspn(line, "\n");
        next = *end ? end + 1 : end;
        *end = '\0';
        if (strncmp(line, "# TYPE ", 7) == 0)
            add_group(groups, subject_of(line));
        if (strncmp(subject_of(line), prefix, strlen(prefix)) != 0)
            continue;
        matches = true;
        if (!json)
            (void)puts(line);
        else if (line[0] != '#' && line[0] != '\0')
            good = add_sample(list, line, failure);
    }
    if (good && !matches)
        good = fail_prefix(prefix, groups, failure);
    if (json && good)
        (void)json_dumpf(list, stdout, JSON_COMPACT | JSON_REAL_PRECISION(12));
    if (json && good)
        (void)putchar('\n');
    json_decref(list);
    return good;
}
