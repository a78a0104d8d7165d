/* pagination.h - lists in OpenAI's format: pages of documents after an id. */
#pragma once

#include "core/request.h"
#include "state/state_directory.h"

/* The query parameters that a list accepts. */
struct sv_page_rules {
    int limit_max, limit_default;
    bool has_metadata;                  /* ?metadata[name]=value, and ?metadata=null for none */
    const char *filter, *filter_member; /* ?filter=value, and the member it must equal; or NULL */
};

const struct sv_page_rules *sv_page_rules(enum sv_collection collection);

/* Reads after, limit, order and the filter from the query, and responds with the page, or with the
 * error. parent: whose documents; NULL: all. */
enum sv_progress sv_page_respond(struct sv_request *request, enum sv_collection collection,
                                 const char *parent);
/* False, with the error, if files and jobs are off or the server is draining. */
bool sv_has_state(const struct sv_request *request, struct sv_error *error);
