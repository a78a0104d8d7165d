/* topic_texts.h - texts that have several labels, or none, each by a word: for tests that train on
 * them. */
#pragma once

enum { TOPIC_TEXTS = 160 };

/* Writes TOPIC_TEXTS lines of labels and texts, such as "money|sport<tab>today stock goal 3": each
 * combination of money, politics and sport is as frequent. A text of the label money has the word
 * stock, one of politics vote, and one of sport goal. */
void topic_texts_write(const char *path);
/* The same as JSON Lines, with lists of labels. */
void topic_texts_write_json(const char *path);
