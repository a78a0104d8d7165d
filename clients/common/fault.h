/* fault.h - how sluicectl's functions fail: the program's exit code and a sentence for a person.
 *
 * As in the engine, a function that can fail returns bool (or a pointer that may be NULL), is
 * marked MUST_CHECK and takes the fault last; it is written only on failure. sluicectl links
 * nothing of the engine, so it has an error type of its own. */
#pragma once

#include <stdbool.h>

#define MUST_CHECK __attribute__((warn_unused_result))

enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1, /* the daemon refused or could not be reached */
    EXIT_MISUSED = 2 /* the command line cannot be understood */
};

enum { FAULT_TEXT_MAX = 2048, FAULT_CODE_MAX = 64 };

struct fault {
    int exit_code;
    char text[FAULT_TEXT_MAX];
    char code[FAULT_CODE_MAX]; /* the daemon's for its refusal; "": it was none, or has none */
    int index;                 /* of the text that the daemon refuses, from 0; -1 */
    const char *hint;          /* what may help; NULL: who knows */
};

/* Sets the fault and returns false, so that `return fault_set(...)` is the whole error path. */
bool fault_set(struct fault *fault, int exit_code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool fault_no_memory(struct fault *fault);
