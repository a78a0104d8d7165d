/* route_path.h - paths that belong to a route, for tests that walk the table of routes. */
#pragma once

#include "http/request_router.h"

/* The route's path, with the name `none` in the place of each {}; returns path. */
const char *route_path(const struct sv_route *route, char path[static SV_PATH_MAX]);
