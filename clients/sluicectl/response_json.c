/* response_json.c - reads the daemon's JSON. */
#include "sluicectl/response_json.h"

#include <jansson.h>

json_t *response_parse(const char *json, size_t bytes, struct client_error *failure)
{
    json_error_t error;
    json_t *value = json_loadb(json ? json : "", bytes, 0, &error);
    if (!value)
        (void)client_error_set(
            failure, EXIT_FAILED,
            "the response is not JSON, as sluiced's would be: %s; check the address", error.text);
    return value;
}

const char *response_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

int64_t response_int(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}
