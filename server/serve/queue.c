/* queue.c - first in, first out. */
#include "serve/queue.h"

#include <stddef.h>

void sv_queue_push(struct sv_queue *queue, void *item)
{
    struct sv_link *link = item;
    link->next = NULL;
    if (queue->last)
        queue->last->next = link;
    else
        queue->first = link;
    queue->last = link;
}

void *sv_queue_pop(struct sv_queue *queue)
{
    struct sv_link *link = queue->first;
    if (link)
        queue->first = link->next;
    if (!queue->first)
        queue->last = NULL;
    return link;
}
