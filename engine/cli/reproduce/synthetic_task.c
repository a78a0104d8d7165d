/* synthetic_task.c - writes the data of synthetic tasks. */
#include "cli/reproduce/synthetic_task.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

static const char symbols[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZab";

static int compare(const void *a, const void *b)
{
    return *(const char *)a - *(const char *)b;
}

static void sort(char *completion, size_t length)
{
    qsort(completion, length, 1, compare);
}

enum { COPY, SORT };

/* By name, what makes the completion of a copy of the prompt; NULL: it is one. */
const char *const synthetic_task_names[] = {[COPY] = "copy", [SORT] = "sort", NULL};
static void (*const arrange[])(char *text, size_t length) = {[COPY] = NULL, [SORT] = sort};

bool synthetic_task_write(const struct synthetic_task *task, const char *path, struct sl_err *err)
{
    size_t length = (size_t)task->length, at = 0;
    uint64_t key = sl_random_key((uint64_t)task->seed, "synthetic task");
    char *line = malloc(2 * length + 2);
    struct sl_buffer text = {0};
    if (!line)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a line");
    while (at < SORT && strcmp(synthetic_task_names[at], task->name) != 0)
        at++;
    line[length] = '|';
    line[2 * length + 1] = '\n';
    for (int i = 0; i < task->lines; i++) {
        uint64_t draw = sl_random_bits(key, (uint64_t)i);
        for (size_t s = 0; s < length; s++)
            line[s] = symbols[sl_random_below(draw, s, sizeof symbols - 1)];
        memcpy(line + length + 1, line, length);
        if (arrange[at])
            arrange[at](line + length + 1, length);
        sl_buffer_append(&text, line, 2 * length + 2);
    }
    free(line);
    bool ok = sl_buffer_check(&text, err) &&
              sl_file_replace(path, &(struct sl_slice){text.data, text.bytes}, 1, err);
    sl_buffer_release(&text);
    return ok;
}
