/* sequences.c - a queue of texts being written. */
#include "sequences.h"

#include <stddef.h>

void sv_sequences_push(struct sv_sequences *queue, struct sv_sequence *sequence)
{
    sequence->next = NULL;
    if (queue->last)
        queue->last->next = sequence;
    else
        queue->first = sequence;
    queue->last = sequence;
}

struct sv_sequence *sv_sequences_pop(struct sv_sequences *queue)
{
    struct sv_sequence *sequence = queue->first;
    if (sequence)
        queue->first = sequence->next;
    if (!queue->first)
        queue->last = NULL;
    return sequence;
}
