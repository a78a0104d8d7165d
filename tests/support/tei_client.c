/* tei_client.c - posts to and reads errors of the endpoints of Text Embeddings Inference. */
#include "support/tei_client.h"

#include "support/test.h"

json_t *tei_post(const struct daemon *daemon, const char *path, const char *body)
{
    struct http_response response = http_request(daemon, "POST", path, body);
    cr_assert_eq(response.status, 200, "%.400s: %.400s", body, response.body.data);
    cr_assert_str_eq(http_response_header(&response, "content-type"), "application/json");
    json_t *root = json_from_response(&response);
    http_response_release(&response);
    return root;
}

void tei_expect_error(struct http_response *response, long status, const char *type,
                      const char *part)
{
    json_t *root = json_from_response(response);
    cr_assert_eq(response->status, status, "%ld: %.400s", response->status, response->body.data);
    cr_assert_eq(json_object_size(root), json_object_get(root, "index") ? 3 : 2);
    cr_assert_str_eq(json_string_at(root, "error_type"), type);
    cr_assert(strstr(json_string_at(root, "error"), part), "'%s' lacks '%s'",
              json_string_at(root, "error"), part);
    cr_assert(http_response_header(response, "x-request-id"));
    json_decref(root);
    http_response_release(response);
}

double tei_texts_by_outcome(const struct daemon *daemon, const char *model, const char *outcome)
{
    char series[128];
    (void)snprintf(series, sizeof series,
                   "sluice_classified_texts_total{model=\"%s\",version=\"4\",outcome=\"%s\"}",
                   model, outcome);
    return metric_value(daemon, series);
}
