/* problem_list.c - collects what is wrong with a file. */
#include "data/problem_list.h"

#include <stdlib.h>
#include <string.h>

bool sl_problem_is_of_file(const struct sl_err *err)
{
    return err->code == SL_BAD_INPUT || err->code == SL_CORRUPT;
}

void sl_problem_list_add(struct sl_problem_list *problems, int64_t line, const struct sl_err *err)
{
    problems->count++;
    if (problems->kept == SL_PROBLEMS_MAX)
        return;
    char *message = strdup(sl_err_reason(err));
    problems->no_memory = problems->no_memory || !message;
    if (message)
        problems->list[problems->kept++] = (struct sl_problem){.line = line, .message = message};
}

void sl_problem_list_release(struct sl_problem_list *problems)
{
    for (int i = 0; i < problems->kept; i++)
        free(problems->list[i].message);
    *problems = (struct sl_problem_list){0};
}
