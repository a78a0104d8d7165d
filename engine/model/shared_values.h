/* shared_values.h - values that several models of an engine read, such as the word vectors of a
 * base: in memory once, and freed with the last model. Any thread. */
#pragma once

#include <stddef.h>

struct sl_engine;

struct sl_shared_values {
    char sha256[65]; /* of the file that they were read from */
    float *data;     /* read-only */
    int rows, cols;
    int users;
    struct sl_shared_values *next;
};

/* Those of this file, for one more user; NULL: no model has them. */
struct sl_shared_values *sl_shared_values_take(struct sl_engine *engine, const char *sha256);

/* Shares `values`, allocated and with one user. If another thread was faster, it frees them and
 * takes that thread's. */
struct sl_shared_values *sl_shared_values_add(struct sl_engine *engine,
                                              struct sl_shared_values *values);

/* NULL is fine. */
void sl_shared_values_release(struct sl_engine *engine, struct sl_shared_values *values);

/* Values that are not shared. NULL is fine. */
void sl_shared_values_free(struct sl_shared_values *values);
