/* client_error.c - how the clients' functions fail. */
#include "common/client_error.h"

#include <stdarg.h>
#include <stdio.h>

enum { DRAFT_BYTES = 2 * SL_ERR_TEXT_MAX };

bool client_error_wrap(struct client_error *failure, int exit_code, const struct sl_err *err)
{
    *failure = (struct client_error){.err = *err, .exit_code = exit_code};
    return false;
}

bool client_error_set(struct client_error *failure, int exit_code, const char *format, ...)
{
    struct sl_err err;
    char draft[DRAFT_BYTES];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(draft, sizeof draft, format, list);
    va_end(list);
    sl_fail(&err, exit_code == EXIT_BAD_INPUT ? SL_BAD_INPUT : SL_IO, "%s", draft);
    return client_error_wrap(failure, exit_code, &err);
}

bool client_error_no_memory(struct client_error *failure)
{
    struct sl_err err;
    sl_fail(&err, SL_NO_MEMORY, "out of memory");
    return client_error_wrap(failure, EXIT_FAILED, &err);
}
