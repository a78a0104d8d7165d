/* synthetic_task.c - writes the data of synthetic tasks. */
#include "cli/reproduce/synthetic_task.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/random.h"
#include "cli/reproduce/listops.h"

#include <stdlib.h>
#include <string.h>

static const char symbols[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZab";

/* Each writes a line of at most 2 * length + 3 bytes and returns how many. */

static size_t write_copy(char *line, size_t length, uint64_t draw)
{
    for (size_t s = 0; s < length; s++)
        line[s] = symbols[sl_random_below(draw, s, sizeof symbols - 1)];
    line[length] = '|';
    memcpy(line + length + 1, line, length);
    return 2 * length + 1;
}

static int compare(const void *a, const void *b)
{
    return *(const char *)a - *(const char *)b;
}

static size_t write_sort(char *line, size_t length, uint64_t draw)
{
    size_t bytes = write_copy(line, length, draw);
    qsort(line + length + 1, length, 1, compare);
    return bytes;
}

static size_t write_listops(char *line, size_t length, uint64_t draw)
{
    size_t bytes = listops_draw(line + 2, length, draw);
    line[0] = (char)('0' + listops_value(line + 2, bytes));
    line[1] = '\t';
    return bytes + 2;
}

enum { COPY, SORT, LISTOPS, TASKS };

const char *const synthetic_task_names[] =
    {[COPY] = "copy", [SORT] = "sort", [LISTOPS] = "listops", [TASKS] = NULL};

static const struct {
    size_t (*write)(char *line, size_t length, uint64_t draw);
    int length_least, length_most;
} tasks[] = {[COPY] = {write_copy, 1, 1000000},
             [SORT] = {write_sort, 1, 1000000},
             [LISTOPS] = {write_listops, 2, LISTOPS_LENGTH_MAX}};

static int find(const char *name)
{
    int at = 0;
    while (at < TASKS - 1 && strcmp(synthetic_task_names[at], name) != 0)
        at++;
    return at;
}

bool synthetic_task_write(const struct synthetic_task *task, const char *path, struct sl_err *err)
{
    const int at = find(task->name);
    if (task->length < tasks[at].length_least || task->length > tasks[at].length_most)
        return sl_fail(err, SL_BAD_INPUT, "invalid length '%d' of %s: expected %d to %d",
                       task->length, task->name, tasks[at].length_least, tasks[at].length_most);
    uint64_t key = sl_random_key((uint64_t)task->seed, "synthetic task");
    char *line = malloc(2 * (size_t)task->length + 4);
    struct sl_buffer text = {0};
    if (!line)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a line");
    for (int i = 0; i < task->lines; i++) {
        uint64_t draw = sl_random_bits(key, (uint64_t)i);
        size_t bytes = tasks[at].write(line, (size_t)task->length, draw);
        line[bytes] = '\n';
        sl_buffer_append(&text, line, bytes + 1);
    }
    free(line);
    bool ok = sl_buffer_check(&text, err) &&
              sl_file_replace(path, &(struct sl_slice){text.data, text.bytes}, 1, err);
    sl_buffer_release(&text);
    return ok;
}
