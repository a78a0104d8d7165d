/* test_openapi.c - the OpenAPI document: all routes, no loose ends, and the shipped
 * file. tests/third_party_clients/openapi.py checks it against the standard and the daemon. */
#include "api/endpoints.h"
#include "api/openapi.h"
#include "sluice/model.h"
#include "support/json_query.h"
#include "support/test.h"

static json_t *openapi_document(void)
{
    struct sl_buffer text = {0};
    sv_openapi_write(&text);
    cr_assert_not(text.failed);
    json_t *document = json_from_text(text.data);
    sl_buffer_release(&text);
    return document;
}

Test(openapi, the_shipped_file_is_what_the_daemon_prints)
{
    static char shipped[1 << 20];
    struct sl_buffer text = {0};
    sv_openapi_print(&text);
    FILE *file = fopen(SL_SOURCE_DIR "/docs/openapi.json", "r");
    cr_assert(file, "docs/openapi.json is missing");
    (void)!fread(shipped, 1, sizeof shipped - 1, file);
    (void)fclose(file);
    cr_assert(strcmp(shipped, text.data) == 0,
              "docs/openapi.json is out of date: sluiced --openapi >docs/openapi.json");
    sl_buffer_release(&text);
}

/* The operation of a route, or NULL. */
static const json_t *operation_of(const json_t *document, const struct sv_route *route)
{
    const json_t *path = json_object_get(json_at(document, "paths"), route->path);
    char method[8] = "";
    for (size_t i = 0; i + 1 < sizeof method && route->method[i]; i++)
        method[i] = (char)(route->method[i] | 0x20);
    return json_object_get(path, method);
}

Test(openapi, describes_every_route)
{
    json_t *document = openapi_document();
    for (int i = 0; i < sv_routes.count; i++)
        cr_assert(operation_of(document, &sv_routes.routes[i]), "%s %s", sv_routes.routes[i].method,
                  sv_routes.routes[i].path);
    json_decref(document);
}

Test(openapi, operating_points_have_the_threshold_of_every_architecture)
{
    json_t *document = openapi_document();
    const json_t *members = json_at(document, "components/schemas/OperatingPoint/properties");
    struct sl_threshold threshold;
    int count = 0;
    for (; sl_threshold_at(count, &threshold); count++)
        cr_expect(json_object_get(members, threshold.name), "%s of %s", threshold.name,
                  threshold.architecture);
    cr_assert_gt(count, 1);
    json_decref(document);
}

/* Whether the operation has a parameter of the path with this name, and says what it is. */
static bool has_parameter(const json_t *operation, const char *name, size_t length)
{
    size_t i;
    const json_t *parameter;
    json_array_foreach (json_object_get(operation, "parameters"), i, parameter) {
        const char *is = json_string_at(parameter, "name");
        if (strlen(is) == length && strncmp(is, name, length) == 0 &&
            strcmp(json_string_at(parameter, "in"), "path") == 0)
            return json_string_at(parameter, "description")[0] != '\0';
    }
    return false;
}

Test(openapi, every_part_of_a_path_is_a_parameter)
{
    json_t *document = openapi_document();
    for (int i = 0; i < sv_routes.count; i++) {
        const struct sv_route *route = &sv_routes.routes[i];
        for (const char *at = strchr(route->path, '{'); at; at = strchr(at, '{')) {
            size_t length = strcspn(++at, "}");
            cr_assert(has_parameter(operation_of(document, route), at, length), "%s", route->path);
        }
    }
    json_decref(document);
}

Test(openapi, operations_have_different_ids)
{
    json_t *document = openapi_document(), *seen = json_object();
    for (int i = 0; i < sv_routes.count; i++) {
        const char *id =
            json_string_at(operation_of(document, &sv_routes.routes[i]), "operationId");
        cr_assert_not(json_object_get(seen, id), "%s", id);
        cr_assert_eq(json_object_set_new(seen, id, json_true()), 0);
        cr_assert_eq(id[strspn(id, "abcdefghijklmnopqrstuvwxyz_0123456789")], '\0', "%s", id);
    }
    json_decref(seen);
    json_decref(document);
}

/* Every $ref leads somewhere. Returns how many there are. */
// NOLINTNEXTLINE(misc-no-recursion): as deep as the document
static int check_references(const json_t *document, json_t *value)
{
    static const char start[] = "#/";
    size_t i;
    const char *key;
    json_t *member;
    int count = 0;
    json_array_foreach (value, i, member)
        count += check_references(document, member);
    json_object_foreach (value, key, member) {
        count += check_references(document, member);
        if (strcmp(key, "$ref") != 0)
            continue;
        const char *to = json_string_value(member);
        cr_assert_eq(strncmp(to, start, strlen(start)), 0, "%s", to);
        cr_assert(json_at(document, to + strlen(start)), "%s", to);
        count++;
    }
    return count;
}

Test(openapi, references_lead_somewhere)
{
    json_t *document = openapi_document();
    cr_assert_gt(check_references(document, document), 100);
    json_decref(document);
}

Test(openapi, fields_have_the_types_bounds_and_defaults_that_are_read)
{
    json_t *document = openapi_document();
    const json_t *schemas = json_at(document, "components/schemas");
    const json_t *fields = json_at(schemas, "CompletionRequest/properties");
    cr_assert_str_eq(json_string_at(fields, "max_tokens/type/0"), "integer");
    cr_assert_str_eq(json_string_at(fields, "max_tokens/type/1"), "null");
    cr_assert_eq(json_integer_at(fields, "max_tokens/default"), 16);
    cr_assert_eq(json_integer_at(fields, "n/maximum"), SV_N_MAX);
    cr_assert_eq(json_integer_at(fields, "seed/minimum"), INT64_MIN);
    cr_assert_eq(json_integer_at(fields, "seed/maximum"), INT64_MAX);
    cr_assert_str_eq(json_string_at(fields, "model/type"), "string");
    cr_assert_eq(json_integer_at(fields, "model/maxLength"), SV_NAME_BYTES_MAX);
    cr_assert_str_eq(json_string_at(fields, "prompt/anyOf/3/items/items/type"), "integer");
    cr_assert_eq(json_integer_at(fields, "prompt/anyOf/1/maxItems"), SV_PROMPTS_MAX);
    cr_assert_eq(json_integer_at(fields, "logit_bias/additionalProperties/minimum"), -100);
    cr_assert_str_eq(json_string_at(fields, "unknown_characters/enum/1"), "replace");
    cr_assert_not(json_at(fields, "tools")); /* it is known, but not supported */
    const json_t *input = json_at(schemas, "InferRequest/properties/inputs");
    cr_assert_eq(json_integer_at(input, "maxItems"), 1);
    cr_assert_str_eq(json_string_at(input, "items/required/0"), "name");
    cr_assert_str_eq(json_string_at(input, "items/properties/datatype/enum/0"), "BYTES");
    cr_assert_eq(json_array_size(json_at(input, "items/properties/datatype/enum")), 1);
    json_decref(document);
}

Test(openapi, errors_have_the_statuses_and_bodies_of_their_api)
{
    static const char reference[] = "#/components/responses/";

    static const struct {
        const char *path, *status, *schema, *code;
    } cases[] = {
        {"/v1/completions", "400", "OpenAIError", "context_length_exceeded"},
        {"/v1/completions", "504", "OpenAIError", "deadline_exceeded"},
        {"/predict", "422", "TextError", "unknown_parameter"},
        {"/hf/{name}", "424", "TextError", "not_ready"}, /* never 503 */
        {"/v2/models/{name}/infer", "404", "InferenceProtocolError", "model_not_found"},
        {"/v1/files", "507", "OpenAIError", "storage_full"},
        {"/v2/repository/models/{name}/load", "409", "InferenceProtocolError", "conflict"},
    };

    json_t *document = openapi_document();
    for (size_t i = 0; i < COUNT(cases); i++) {
        const json_t *path = json_object_get(json_at(document, "paths"), cases[i].path);
        const json_t *response = json_object_get(json_at(path, "post/responses"), cases[i].status);
        cr_assert(response, "%s %s", cases[i].path, cases[i].status);
        cr_assert_str_eq(json_string_at(response, "$ref") + strlen(reference), cases[i].schema);
        cr_assert(strstr(json_string_at(response, "description"), cases[i].code), "%s",
                  cases[i].path);
    }
    cr_assert_not(
        json_at(json_object_get(json_at(document, "paths"), "/hf/{name}"), "post/responses/503"));
    json_decref(document);
}
