/* entity_lines.h - what a token classifier finds in lines of text, for `sluice classify`. */
#pragma once

#include "cli/text_lines.h"
#include "sluice/entities.h"

/* The context of text_lines. */
struct entity_printer {
    enum sl_aggregation how;
    double min_score;
    bool json;
};

/* From the option's value; NULL: simple. */
bool read_aggregation(const char *name, enum sl_aggregation *how, struct sl_err *err);
/* The `print` of text_lines. */
bool print_entity_lines(struct text_lines *lines, struct text_line *line,
                        const struct sl_classifier_item *item, struct sl_err *err);
