/* request_head.h - what a request says before its body. */
#pragma once

#include "call.h"

/* Fills in the call's family, id, time, route and arguments. False: its body is not wanted. */
bool sv_head_read(struct sv_call *call, const char *method, const char *path,
                  struct sv_problem *problem);
