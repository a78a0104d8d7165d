/* shared_values.c - an engine's list of shared values, under a lock of its own. */
#include "model/shared_values.h"

#include "model/engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The lock is held. */
static struct sl_shared_values *find(const struct sl_engine *engine, const char *sha256)
{
    struct sl_shared_values *at = engine->shared;
    while (at && strcmp(at->sha256, sha256) != 0)
        at = at->next;
    return at;
}

struct sl_shared_values *sl_shared_values_take(struct sl_engine *engine, const char *sha256)
{
    (void)pthread_mutex_lock(&engine->shared_lock);
    struct sl_shared_values *found = find(engine, sha256);
    if (found)
        found->users++;
    (void)pthread_mutex_unlock(&engine->shared_lock);
    return found;
}

struct sl_shared_values *sl_shared_values_add(struct sl_engine *engine,
                                              struct sl_shared_values *values)
{
    assert(values->users == 1);
    (void)pthread_mutex_lock(&engine->shared_lock);
    struct sl_shared_values *found = find(engine, values->sha256);
    if (found) {
        found->users++;
    } else {
        values->next = engine->shared;
        engine->shared = values;
    }
    (void)pthread_mutex_unlock(&engine->shared_lock);
    if (!found)
        return values;
    sl_shared_values_free(values);
    return found;
}

void sl_shared_values_release(struct sl_engine *engine, struct sl_shared_values *values)
{
    if (!values)
        return;
    (void)pthread_mutex_lock(&engine->shared_lock);
    const bool is_last = --values->users == 0;
    struct sl_shared_values **link = &engine->shared;
    while (is_last && *link != values)
        link = &(*link)->next;
    if (is_last)
        *link = values->next;
    (void)pthread_mutex_unlock(&engine->shared_lock);
    if (is_last)
        sl_shared_values_free(values);
}

void sl_shared_values_free(struct sl_shared_values *values)
{
    if (values)
        free(values->data);
    free(values);
}
