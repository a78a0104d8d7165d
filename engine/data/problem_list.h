/* problem_list.h - what is wrong with a file, for who wants to know all of it at once. */
#pragma once

#include "sluice/err.h"

enum { SL_PROBLEMS_MAX = 100 };

struct sl_problem {
    int64_t line; /* of the file; 0: it concerns the whole file */
    char *message;
};

struct sl_problem_list {
    int count;      /* of all; the first ones are kept: */
    int kept;       /* up to SL_PROBLEMS_MAX */
    bool no_memory; /* some are missing */
    struct sl_problem list[SL_PROBLEMS_MAX];
};

/* Whether an error is about the file, and not about this machine or the path. */
bool sl_problem_is_of_file(const struct sl_err *err);
void sl_problem_list_add(struct sl_problem_list *problems, int64_t line, const struct sl_err *err);
void sl_problem_list_release(struct sl_problem_list *problems); /* a zeroed one is fine */
