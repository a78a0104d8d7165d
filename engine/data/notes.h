/* notes.h - what had to be assumed to read a file, in sentences for people. */
#pragma once

#include "sluice/err.h"

enum { SL_NOTES_MAX = 4, SL_NOTE_BYTES = 256 };

struct sl_notes {
    int count;
    char text[SL_NOTES_MAX][SL_NOTE_BYTES];
};

/* The same sentence again, or one too many, is ignored. */
void sl_note(struct sl_notes *notes, const char *format, ...) SL_PRINTF(2, 3);
