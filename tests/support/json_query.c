/* json_query.c - parses JSON for a test and finds members in it. */
#include "support/json_query.h"

#include "support/test.h"

json_t *json_from_text(const char *text)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    cr_assert(root, "%s: %s", error.text, text);
    return root;
}

json_t *json_from_response(const struct http_response *response)
{
    return json_from_text(response->body.data);
}

json_t *json_request(const struct daemon *daemon, const char *method, const char *path,
                     const char *body)
{
    struct http_response response = http_request(daemon, method, path, body);
    cr_assert_eq(response.status, 200, "%s %s %s: %ld %s", method, path, body ? body : "",
                 response.status, response.body.data);
    json_t *root = json_from_response(&response);
    http_response_release(&response);
    return root;
}

const json_t *json_at(const json_t *value, const char *path)
{
    char name[32];
    for (const char *p = path; *p && value; p += strcspn(p, "/"), p += *p == '/') {
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(p, "/"), p);
        value = json_is_array(value) ? json_array_get(value, (size_t)(int)strtol(name, NULL, 10))
                                     : json_object_get(value, name);
    }
    return value;
}

const char *json_string_at(const json_t *value, const char *path)
{
    const char *text = json_string_value(json_at(value, path));
    cr_assert(text, "there is no text at %s", path);
    return text;
}

double json_number_at(const json_t *value, const char *path)
{
    const json_t *number = json_at(value, path); /* json_is_number looks at it several times */
    cr_assert(json_is_number(number), "there is no number at %s", path);
    return json_number_value(number);
}

int64_t json_integer_at(const json_t *value, const char *path)
{
    const json_t *number = json_at(value, path);
    cr_assert(json_is_integer(number), "there is no whole number at %s", path);
    return json_integer_value(number);
}
