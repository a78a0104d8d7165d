/* pagination.c - lists in OpenAI's format: pages of documents after an id. */
#include "api/pagination.h"
#include "base/json_writer.h"
#include "core/percent_encoding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_MAX = 128 };

static const struct sv_page_rules all_rules[SV_COLLECTIONS] = {
    [SV_FILES] = {10000, 10000, false, "purpose", "$.purpose"},
    [SV_JOBS] = {1000, 20, true, "status", "$.status"},
    [SV_EVENTS] = {1000, 20, false, NULL, NULL},
    [SV_CHECKPOINTS] = {1000, 10, false, NULL, NULL},
    [SV_AUDIT] = {1000, 100, false, "action", "$.action"},
};

const struct sv_page_rules *sv_page_rules(enum sv_collection collection)
{
    return &all_rules[collection];
}

/* The documents of a page, and the first and the last id. */
struct listing {
    struct sl_json_writer json;
    char first[VALUE_MAX], last[VALUE_MAX];
};

static void add_document(void *context, const char *id, const char *document)
{
    struct listing *listing = context;
    sl_json_add_raw(&listing->json, document, strlen(document));
    if (!listing->first[0])
        (void)snprintf(listing->first, sizeof listing->first, "%s", id);
    (void)snprintf(listing->last, sizeof listing->last, "%s", id);
}

static const char *query(const struct sv_request *request, const char *name)
{
    const char *value = request->transport->query(request->connection, name);
    return value && value[0] ? value : NULL;
}

static bool read_limit(const struct sv_request *request, const struct sv_page_rules *rules,
                       int *limit, struct sv_error *error)
{
    enum { DIGITS_MAX = 6 };

    const char *given = query(request, "limit");
    *limit = rules->limit_default;
    if (!given)
        return true;
    size_t digits = strspn(given, "0123456789");
    *limit = digits <= DIGITS_MAX && !given[digits] ? (int)strtol(given, NULL, 10) : 0;
    return (*limit >= 1 && *limit <= rules->limit_max) ||
           sv_fail(error, SV_INVALID_VALUE, "limit",
                   "'limit' must be an integer from 1 to %d, not \"%.32s\".", rules->limit_max,
                   given);
}

static bool read_order(const struct sv_request *request, bool *oldest_first, struct sv_error *error)
{
    const char *order = query(request, "order");
    if (!order)
        return true;
    *oldest_first = strcmp(order, "asc") == 0;
    return *oldest_first || strcmp(order, "desc") == 0 ||
           sv_fail(error, SV_INVALID_VALUE, "order",
                   "'order' must be \"asc\" or \"desc\", not \"%.32s\".", order);
}

/* ---- metadata -------------------------------------------------------------------------------- */

/* ?metadata[name]=value, any number of times, as a JSON object. */
struct metadata {
    struct sl_buffer text;
    struct sl_json_writer json;
    bool is_given, is_invalid;
};

/* Names and values come as they were sent. */
static void add_metadata(void *context, const char *name, const char *value)
{
    enum { NAME_MAX_BYTES = 128, VALUE_MAX_BYTES = 1024 };

    static const char prefix[] = "metadata[";

    struct metadata *m = context;
    char key[NAME_MAX_BYTES], text[VALUE_MAX_BYTES];
    size_t skipped = sizeof prefix - 1;
    if (!sv_percent_decode(name, strlen(name), key, sizeof key) ||
        strncmp(key, prefix, skipped) != 0)
        return;
    size_t length = strlen(key);
    if (length <= skipped + 1 || key[length - 1] != ']' ||
        (value[0] && !sv_percent_decode(value, strlen(value), text, sizeof text))) {
        m->is_invalid = true;
        return;
    }
    key[length - 1] = '\0';
    if (!m->is_given)
        sl_json_begin_object(&m->json);
    m->is_given = true;
    sl_json_add_string(sl_json_key(&m->json, key + skipped), value[0] ? text : "");
}

/* page->metadata points into `m`. */
static bool read_metadata(const struct sv_request *request, struct metadata *m,
                          struct sv_page *page, struct sv_error *error)
{
    const char *none = query(request, "metadata");
    *m = (struct metadata){.json.out = &m->text};
    request->transport->each_query(request->connection, add_metadata, m);
    if (m->is_given)
        sl_json_end_object(&m->json);
    if (m->is_invalid || (none && (m->is_given || strcmp(none, "null") != 0)))
        return sv_fail(error, SV_INVALID_VALUE, "metadata",
                       "'metadata' must be given as metadata[NAME]=VALUE, or as null for jobs "
                       "without.");
    page->metadata = m->is_given ? m->text.data : none;
    return !m->text.failed || sv_fail_no_memory(error);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static bool fail_list(const struct sl_err *err, const char *after, struct sv_error *error)
{
    if (err->code == SL_NOT_FOUND)
        return sv_fail(error, SV_INVALID_VALUE, "after",
                       "'after' is not an id of this list: \"%s\".", after);
    return sv_fail(error, SV_INTERNAL, NULL, "The list could not be read: %s.", err->text);
}

bool sv_has_state(const struct sv_request *request, struct sv_error *error)
{
    if (request->server->state)
        return sv_request_is_accepted(request, error);
    return sv_fail(error, SV_NOT_IMPLEMENTED, NULL,
                   "Files and jobs are off: the daemon has no directory for them; start it with "
                   "--state DIRECTORY.");
}

static bool write_page(struct sv_request *request, enum sv_collection collection,
                       const char *parent, struct metadata *metadata, struct sv_error *error)
{
    const struct sv_page_rules *rules = sv_page_rules(collection);
    struct listing listing = {.json = {.out = &request->response.body}};
    struct sl_err err;
    char after[VALUE_MAX] = "";
    const char *given = query(request, "after");
    if (given)
        (void)snprintf(after, sizeof after, "%s", given);
    struct sv_page page = {
        .parent = parent, .after = after, .each = add_document, .context = &listing};
    if (rules->filter && query(request, rules->filter)) {
        page.member = rules->filter_member;
        page.value = query(request, rules->filter);
    }
    if (!read_limit(request, rules, &page.limit, error) ||
        !read_order(request, &page.oldest_first, error) ||
        (rules->has_metadata && !read_metadata(request, metadata, &page, error)))
        return false;
    struct sl_json_writer *json = &listing.json;
    sl_json_add(json, "{'object':'list','data':[");
    if (!sv_state_list(request->server->state, collection, &page, &err))
        return fail_list(&err, after, error);
    sl_json_add(json, "],'first_id':%s,'last_id':%s,'has_more':%i}",
                listing.first[0] ? listing.first : NULL, listing.last[0] ? listing.last : NULL,
                page.has_more);
    return true;
}

enum sv_progress sv_page_respond(struct sv_request *request, enum sv_collection collection,
                                 const char *parent)
{
    struct sv_error error = {0};
    struct metadata metadata = {0};
    bool ok =
        sv_has_state(request, &error) && write_page(request, collection, parent, &metadata, &error);
    sl_buffer_release(&metadata.text);
    return ok ? sv_request_respond(request, 200, "application/json")
              : sv_request_fail(request, &error);
}
