/* route_path.c - puts a name in the place of each parameter of a route. */
#include "support/route_path.h"

#include <string.h>

const char *route_path(const struct sv_route *route, char path[static SV_PATH_MAX])
{
    char *to = path;
    for (const char *c = route->path; *c; c += *c == '}' ? 1 : 0) {
        if (*c == '{') {
            to = stpcpy(to, "none");
            c += strcspn(c, "}");
        } else
            *to++ = *c++;
    }
    *to = '\0';
    return path;
}
