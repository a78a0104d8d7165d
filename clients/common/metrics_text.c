/* metrics_text.c - reads samples of Prometheus's text format. */
#include "common/metrics_text.h"

#include <stdlib.h>
#include <string.h>

/* Copies what comes before one of these characters. False if that is nothing, or does not fit. */
static bool take_name(char out[static METRIC_NAME_BYTES], const char **at, const char *ends)
{
    size_t length = strcspn(*at, ends);
    if (length == 0 || length >= METRIC_NAME_BYTES)
        return false;
    memcpy(out, *at, length);
    out[length] = '\0';
    *at += length;
    return true;
}

/* A value with \\, \" and \n, up to its closing quote. */
static bool take_value(char out[static METRIC_VALUE_BYTES], const char **at)
{
    const char *c = *at;
    size_t used = 0;
    for (; *c && *c != '"' && used + 1 < METRIC_VALUE_BYTES; c++) {
        bool is_escaped = *c == '\\' && c[1];
        c += is_escaped;
        if (is_escaped && *c == 'n')
            out[used++] = '\n';
        else
            out[used++] = *c;
    }
    out[used] = '\0';
    *at = c + 1;
    return *c == '"';
}

/* name="value", and a comma if there is one. */
static bool take_label(struct metric_sample *sample, const char **at)
{
    if (sample->label_count == METRIC_LABELS_MAX)
        return false;
    struct metric_label *label = &sample->labels[sample->label_count++];
    if (!take_name(label->name, at, "=\"},") || strncmp(*at, "=\"", 2) != 0)
        return false;
    *at += 2;
    if (!take_value(label->value, at))
        return false;
    *at += **at == ',';
    return true;
}

bool metric_parse(struct metric_sample *sample, const char *line)
{
    const char *at = line;
    char *end;
    sample->label_count = 0;
    if (line[0] == '#' || !take_name(sample->name, &at, "{ "))
        return false;
    if (*at == '{') {
        at++;
        while (*at && *at != '}')
            if (!take_label(sample, &at))
                return false;
        at += *at == '}';
    }
    if (*at != ' ')
        return false;
    sample->text = at + 1;
    sample->value = strtod(sample->text, &end);
    return end > sample->text;
}

const char *metric_label(const struct metric_sample *sample, const char *name)
{
    for (int i = 0; i < sample->label_count; i++)
        if (strcmp(sample->labels[i].name, name) == 0)
            return sample->labels[i].value;
    return "";
}
