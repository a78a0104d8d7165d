/* response_error.c - an error response as the failure of a command. */
#include "sluicectl/response_error.h"
#include "sluicectl/response_json.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* Which of several texts the error is about; -1: unknown. *skip: the bytes of the message that name
 * the text by its parameter, which the caller replaces by a line number. */
static int index_of(const json_t *rejection, const char *message, size_t *skip)
{
    const json_t *error = json_object_get(rejection, "error");
    const json_t *object = json_is_object(error) ? error : rejection;
    const json_t *index = json_object_get(object, "index");
    const char *param = response_text(object, "param");
    size_t length = strlen(param);
    bool begins = length > 0 && message[0] == '\'' && strncmp(message + 1, param, length) == 0 &&
                  strncmp(message + 1 + length, "' ", 2) == 0;
    *skip = json_is_integer(index) && begins ? length + 3 : 0;
    return json_is_integer(index) ? (int)json_integer_value(index) : -1;
}

/* The three error formats of the daemon's families of endpoints. */
static const char *message_of(const json_t *rejection)
{
    const json_t *error = json_object_get(rejection, "error");
    if (json_is_string(error))
        return json_string_value(error);
    return response_text(json_is_object(error) ? error : rejection,
                         json_is_object(error) ? "message" : "detail");
}

/* The request is at fault, and not the daemon's state at the moment. */
static bool is_rejection(int status)
{
    return status / 100 == 4 && status != 408 && status != 429;
}

static bool set_failure(const struct client_response *response, const json_t *rejection,
                        struct client_error *failure)
{
    const char *message = message_of(rejection);
    const char *own = response_text(json_object_get(rejection, "error"), "code");
    const char *code = own[0] ? own : response->code;
    char status[16] = "", id[CLIENT_ID_MAX + 16] = "";
    size_t skip;
    int index = index_of(rejection, message, &skip);
    message += skip;
    if (response->status != 200)
        (void)snprintf(status, sizeof status, "%d", response->status);
    if (response->request_id[0])
        (void)snprintf(id, sizeof id, ", %s", response->request_id);
    (void)client_error_set(
        failure, is_rejection(response->status) ? EXIT_BAD_INPUT : EXIT_FAILED, "%s (%s%s%s%s)",
        message[0] ? message : "the response is not sluiced's; check the address", status,
        status[0] && code[0] ? " " : "", code, id);
    (void)snprintf(failure->code, sizeof failure->code, "%s", code);
    failure->err.index = index;
    return false;
}

bool response_error_in_event(const json_t *rejection, struct client_error *failure)
{
    return set_failure(&(struct client_response){.status = 200}, rejection, failure);
}

bool response_error(const struct client_response *response, struct client_error *failure)
{
    struct client_error ignored;
    const char *data = response->body.data;
    json_t *rejection = response_parse(data, data ? response->body.bytes : 0, &ignored);
    (void)set_failure(response, rejection, failure);
    json_decref(rejection);
    return false;
}
