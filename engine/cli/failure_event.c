/* failure_event.c - a failure as JSON. */
#include "cli/failure_event.h"

#include "formats/json_io.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

json_t *failure_event(const struct sl_err *err)
{
    json_t *o = json_pack("{s:s, s:s, s:o, s:o}", "event", "failed", "code",
                          sl_code_name(err->code), "message", sl_json_string(err->text), "reason",
                          sl_json_string(sl_err_reason(err)));
    if (err->path[0])
        (void)json_object_set_new(o, "path", sl_json_string(err->path));
    if (err->line > 0)
        (void)json_object_set_new(o, "line", json_integer(err->line));
    if (err->field[0])
        (void)json_object_set_new(o, "field", sl_json_string(err->field));
    return o;
}

void failure_event_print(const struct sl_err *err)
{
    json_t *o = failure_event(err);
    char *text = json_dumps(o, JSON_COMPACT);
    if (text)
        (void)printf("%s\n", text);
    free(text);
    json_decref(o);
}
