/* print_metrics.c - the daemon's metrics, unchanged or as JSON. */
#include "base/comma_list.h"
#include "base/json_writer.h"
#include "common/metrics_text.h"
#include "sluicectl/print.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* JSON has no infinities and NaN: they become strings. */
static bool add_sample(struct sl_json_writer *json, const char *line, struct client_error *failure)
{
    struct metric_sample sample;
    if (!metric_parse(&sample, line))
        return client_error_set(failure, EXIT_FAILED, "malformed response: not a metric: %.200s",
                                line);
    sl_json_add(json, "{'name':%s,'labels':{", sample.name);
    for (int i = 0; i < sample.label_count; i++)
        sl_json_add_string(sl_json_key(json, sample.labels[i].name), sample.labels[i].value);
    sl_json_add(json, "},'value':");
    if (isfinite(sample.value))
        sl_json_add_real(json, sample.value);
    else
        sl_json_add_string(json, sample.text);
    sl_json_end_object(json);
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
    struct sl_buffer text = {0};
    struct sl_json_writer list = {.out = &text};
    char *line = body->data, *next;
    sl_json_begin_array(&list);
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
            good = add_sample(&list, line, failure);
    }
    if (good && !matches)
        good = fail_prefix(prefix, groups, failure);
    sl_json_end_array(&list);
    if (json && good && !text.failed)
        (void)puts(text.data);
    good = good && (!text.failed || client_error_no_memory(failure));
    sl_buffer_release(&text);
    return good;
}
