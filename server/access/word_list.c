/* word_list.c - options that are lists of words, separated by spaces. */
#include "access/word_list.h"

#include <string.h>
#include <strings.h>

bool sv_word_is_listed(const char *list, const char *word)
{
    for (size_t length; *(list += strspn(list, " ")); list += length) {
        length = strcspn(list, " ");
        if (length == strlen(word) && strncasecmp(list, word, length) == 0)
            return true;
    }
    return false;
}
