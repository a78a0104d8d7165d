/* topic_texts.h - texts that have several labels, or none, each by a word: for tests that train on
 * them. */
#pragma once

#include <limits.h>

enum { TOPIC_TEXTS = 160 };

/* Writes TOPIC_TEXTS lines of labels and texts, such as "money|sport<tab>today stock goal 3": each
 * combination of money, politics and sport is as frequent. A text of the label money has the word
 * stock, one of politics vote, and one of sport goal. */
void topic_texts_write(const char *path);
/* The same as JSON Lines, with lists of labels. */
void topic_texts_write_json(const char *path);
/* Makes a base of their words in <directory>/base/1, which it returns in `base`: training begins
 * with it much faster than with the bundled one. */
void topic_texts_make_base(const char *directory, char base[static PATH_MAX]);
