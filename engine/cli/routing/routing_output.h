/* routing_output.h - shows routing: as text, as JSON and as a page. */
#pragma once

#include "cli/routing/routing_sums.h"
#include "cli/routing/routing_text.h"

struct routing_output {
    const char *model_path, *text_path;
    const struct sl_model *model;
    const struct routing_text *text;
    const struct routing_sums *sums;
};

/* What tokens are routed to: "block", "step", "expert". */
static inline const char *routing_part(const struct routing_output *output)
{
    return output->model->arch->routes_to;
}

void routing_print(const struct routing_output *output);
void routing_print_json(const struct routing_output *output);
/* Writes DIR/index.html; routing: to run the beginning of the text again, which the page shows. */
bool routing_write_page(const struct routing_output *output, struct sl_routing *routing,
                        const char *directory, struct sl_err *err) SL_MUST_CHECK;
