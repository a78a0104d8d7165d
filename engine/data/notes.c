/* notes.c - collects what had to be assumed about a file, each note once. */
#include "data/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sl_note(struct sl_notes *notes, const char *format, ...)
{
    va_list values;
    if (notes->count == SL_NOTES_MAX)
        return;
    va_start(values, format);
    (void)vsnprintf(notes->text[notes->count], SL_NOTE_BYTES, format, values);
    va_end(values);
    for (int i = 0; i < notes->count; i++)
        if (strcmp(notes->text[i], notes->text[notes->count]) == 0)
            return;
    notes->count++;
}
