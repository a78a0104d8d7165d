/* print_jobs.h - files, training jobs and their events, as text; and a plot of the loss. */
#pragma once

#include "sluicectl/print.h"

enum { PRINT_ID_MAX = 64, PRINT_LOSSES_MAX = 2048 };

/* Files; jobs, or one; events: newest first in the list, printed oldest first. */
print_function print_files, print_jobs, print_events;

/* Copies the id of an object. */
bool print_id(const struct sl_buffer *body, char id[static PRINT_ID_MAX],
              struct client_error *failure) SL_MUST_CHECK;

/* How a job ended. */
struct print_outcome {
    bool ended, succeeded;
    bool is_input_at_fault; /* it failed for what is in a file */
    char text[512];         /* the model, or why there is none */
};

bool print_outcome(const struct sl_buffer *body, struct print_outcome *outcome,
                   struct client_error *failure) SL_MUST_CHECK;

/* Events as they arrive: JSON lines, or on a terminal messages above a plot that is drawn anew. */
struct print_follower {
    bool plots;                     /* else JSON lines */
    char last[PRINT_ID_MAX];        /* id of the last event */
    float losses[PRINT_LOSSES_MAX]; /* of the steps so far; halved when there are too many */
    int count, every, skipped;
    int drawn;         /* lines of the plot on the screen */
    char message[256]; /* below the plot */
};

bool print_followed(struct print_follower *follower, const char *event, size_t bytes,
                    struct client_error *failure) SL_MUST_CHECK;
