/* queue.h - first in, first out. Owns nothing; one thread at a time.
 *
 * An item begins with a struct sv_link, and is in at most one queue. */
#pragma once

struct sv_link {
    struct sv_link *next;
};

struct sv_queue {
    struct sv_link *first, *last;
};

void sv_queue_push(struct sv_queue *queue, void *item);
void *sv_queue_pop(struct sv_queue *queue); /* NULL: it is empty */
