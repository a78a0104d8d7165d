/* pagination.h - lists in OpenAI's format: pages of documents after an id. */
#pragma once

#include "core/request.h"
#include "state/state_directory.h"

/* What a list accepts. */
struct sv_page_rules {
    enum sv_collection collection;
    const char *parent; /* NULL: all documents */
    int limit_max, limit_default;
    bool has_order;                     /* ?order=asc or desc; else newest first */
    const char *filter, *filter_member; /* ?filter=value, and the member it must equal; or NULL */
};

/* Reads after, limit and order from the query, and writes the page as the response's body. */
bool sv_page_respond(struct sv_request *request, const struct sv_page_rules *rules,
                     struct sv_error *error);
/* False, with the error, if files and jobs are off or the server is draining. */
bool sv_has_state(const struct sv_request *request, struct sv_error *error);
