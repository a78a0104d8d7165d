/* sequences.h - a queue of texts being written. Owns none of them; one thread at a time. */
#pragma once

#include "lane.h"

struct sv_sequences {
    struct sv_sequence *first, *last; /* linked by their `next` */
};

void sv_sequences_push(struct sv_sequences *queue, struct sv_sequence *sequence);
struct sv_sequence *sv_sequences_pop(struct sv_sequences *queue); /* NULL: it is empty */
