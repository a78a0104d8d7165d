/* ignored_list.c - [{"directory":"mood/01","reason":"..."}] */
#include "api/ignored_list.h"

#include <stdio.h>
#include <string.h>

int sv_ignored_write(struct sl_json_writer *json, const struct sv_snapshot *snapshot,
                     const char *model)
{
    char path[2 * NAME_MAX + 2];
    int written = 0;
    for (int i = 0; snapshot && i < snapshot->ignored_count; i++) {
        const struct sv_ignored *ignored = &snapshot->ignored[i];
        if (strcmp(ignored->model, model) != 0)
            continue;
        if (written++ == 0)
            sl_json_add(json, "'ignored':[");
        (void)snprintf(path, sizeof path, "%s%s%s", model, ignored->version[0] ? "/" : "",
                       ignored->version);
        sl_json_add(json, "{'directory':%s,'reason':%s}", path, ignored->reason);
    }
    if (written > 0)
        sl_json_end_array(json);
    return written;
}
