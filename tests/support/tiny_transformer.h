/* tiny_transformer.h - a small transformer of random values, for tests that train from one. */
#pragma once

#include "sluice/model.h"

/* Writes it as <store>/<model>/<version>. Its vocabulary has the words good, bad, plain, the, film,
 * a, day, one, more, word, it and was, the digits, and every letter of these. */
void tiny_transformer_make(const char *directory, enum sl_task task);
/* The same with routers. */
void tiny_adaptive_make(const char *directory, enum sl_task task);

/* Writes that many different texts of those words, one per line. */
void tiny_texts_write(const char *path, int count);
