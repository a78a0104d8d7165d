/* queue.h - first in, first out. Owns nothing; one thread at a time.
 *
 * What stands in a queue begins with a struct sv_link, and stands in one queue at most. */
#pragma once

struct sv_link {
    struct sv_link *next;
};

struct sv_queue {
    struct sv_link *first, *last;
};

void sv_queue_push(struct sv_queue *queue, void *item);
void *sv_queue_pop(struct sv_queue *queue); /* NULL: it is empty */
