/* word_list.h - options that are lists of words, separated by spaces. */
#pragma once

#include <stdbool.h>

bool sv_word_is_listed(const char *list, const char *word); /* upper and lower case are alike */
