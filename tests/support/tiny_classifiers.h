/* tiny_classifiers.h - small untrained classifiers for a test's store, made from the inside: of
 * values so large that every text gets its own answer.
 *
 *     "mood"   a tsa over characters; its gates are hard, so that texts differ in depth
 *     "plain"  an encoder over word pieces, with special tokens; a text with a "!" overflows
 *     "raw"    as mood, over bytes; only on request
 *     "flat"   as mood, over characters without a line break; only on request */
#pragma once

#include "sluice/engine.h"

#define MOOD  "mood"
#define PLAIN "plain"
#define RAW   "raw"
#define FLAT  "flat"

/* The vocabulary of "plain": the special tokens of BERT, four signs of which "!" is the last, and
 * every letter, beginning a word and inside one. */
enum { PLAIN_SPECIAL = 5, PLAIN_SIGNS = 4, PLAIN_PIECES = PLAIN_SPECIAL + PLAIN_SIGNS + 2 * 26 };

enum { MOOD_CLASSES = 3, PLAIN_CLASSES = 2, MOOD_CONTEXT = 48, PLAIN_CONTEXT = 24 };

extern const char *const mood_labels[MOOD_CLASSES], *const plain_labels[PLAIN_CLASSES];

/* Makes <store>/plain/4. */
void tiny_plain_make(struct sl_engine *engine, const char *store);

/* Makes <store>/<name>/4: an encoder over bytes that chooses among these labels. */
void tiny_labelled_make(const char *store, const char *name, const char *const *labels, int count);

/* Makes <store>/raw/4 and <store>/flat/4. */
void tiny_others_make(const char *store);

/* Makes <store>/<name>/4: as mood, with other values for every seed. */
void tiny_seeded_make(const char *store, const char *name, unsigned seed);

/* Makes <store>/mood/4 and <store>/plain/4. */
void tiny_classifiers_make(const char *store);
