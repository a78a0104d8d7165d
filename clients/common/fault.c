/* fault.c - how the clients' functions fail. */
#include "common/fault.h"

#include <stdarg.h>
#include <stdio.h>

enum { DRAFT_BYTES = 2 * SL_ERR_TEXT_MAX };

bool fault_wrap(struct fault *fault, int exit_code, const struct sl_err *err)
{
    *fault = (struct fault){.err = *err, .exit_code = exit_code};
    return false;
}

bool fault_set(struct fault *fault, int exit_code, const char *format, ...)
{
    struct sl_err err;
    char draft[DRAFT_BYTES];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(draft, sizeof draft, format, list);
    va_end(list);
    sl_fail(&err, exit_code == EXIT_USAGE ? SL_BAD_INPUT : SL_IO, "%s", draft);
    return fault_wrap(fault, exit_code, &err);
}

bool fault_no_memory(struct fault *fault)
{
    struct sl_err err;
    sl_fail(&err, SL_NO_MEMORY, "out of memory");
    return fault_wrap(fault, EXIT_FAILED, &err);
}
