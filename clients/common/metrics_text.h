/* metrics_text.h - reads samples of Prometheus's text format, a line at a time. */
#pragma once

#include <stdbool.h>

enum { METRIC_LABELS_MAX = 8, METRIC_NAME_BYTES = 128, METRIC_VALUE_BYTES = 512 };

struct metric_label {
    char name[METRIC_NAME_BYTES], value[METRIC_VALUE_BYTES]; /* without escapes */
};

struct metric_sample {
    char name[METRIC_NAME_BYTES];
    struct metric_label labels[METRIC_LABELS_MAX];
    int label_count;
    const char *text; /* of the value: in the line */
    double value;
};

/* `name{label="value",...} number`. False if the line is not of that form, or longer than fits; a
 * comment or an empty line is none either. */
bool metric_parse(struct metric_sample *sample, const char *line);
/* The value of a label, or "". */
const char *metric_label(const struct metric_sample *sample, const char *name);
