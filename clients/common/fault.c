/* fault.c - how sluicectl's functions fail. */
#include "common/fault.h"

#include <stdarg.h>
#include <stdio.h>

bool fault_set(struct fault *fault, int exit_code, const char *format, ...)
{
    va_list list;
    fault->exit_code = exit_code;
    fault->code[0] = '\0';
    fault->hint = NULL;
    fault->index = -1;
    va_start(list, format);
    (void)vsnprintf(fault->text, sizeof fault->text, format, list);
    va_end(list);
    return false;
}

bool fault_no_memory(struct fault *fault)
{
    return fault_set(fault, EXIT_FAILED, "no memory");
}
