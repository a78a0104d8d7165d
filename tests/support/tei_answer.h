/* tei_answer.h - good and bad answers of a daemon as Text Embeddings Inference shapes them. */
#pragma once

#include "support/json_answer.h"

/* Posts well; the parsed answer. */
static inline json_t *posted_to(const struct daemon *daemon, const char *path, const char *body)
{
    struct answer answer = ask(daemon, "POST", path, body);
    cr_assert_eq(answer.status, 200, "%.400s: %.400s", body, answer.body.data);
    cr_assert_str_eq(answer_header(&answer, "content-type"), "application/json");
    json_t *root = answer_parse(&answer);
    answer_release(&answer);
    return root;
}

static inline void expect_error(struct answer *answer, long status, const char *type,
                                const char *part)
{
    json_t *root = answer_parse(answer);
    cr_assert_eq(answer->status, status, "%ld: %.400s", answer->status, answer->body.data);
    cr_assert_eq(json_object_size(root), 2);
    cr_assert_str_eq(text_at(root, "error_type"), type);
    cr_assert(strstr(text_at(root, "error"), part), "'%s' lacks '%s'", text_at(root, "error"),
              part);
    cr_assert(answer_header(answer, "x-request-id"));
    json_decref(root);
    answer_release(answer);
}
