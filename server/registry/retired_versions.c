/* retired_versions.c - frees versions once unused, and ends their requests when it is time. */
#include "registry/retired_versions.h"
#include "base/clock.h"
#include "core/log.h"
#include "registry/model_version.h"
#include "registry/version_metrics.h"

#include <assert.h>
#include <string.h>

/* Removes an unused one from the list; NULL: there is none. With the lock. */
static struct sv_model_ref *take_unused(struct sv_registry *registry)
{
    struct sv_model_ref **link = &registry->retired;
    while (*link && !(*link)->unused)
        link = &(*link)->next;
    struct sv_model_ref *ref = *link;
    if (ref)
        *link = ref->next;
    return ref;
}

/* One user of a version less. With the lock. */
static void count_freed(struct sv_registry *registry, const char *name, long number)
{
    struct sv_model *model = sv_find_model(registry, name);
    struct sv_version *version = model ? sv_find_version(model, number) : NULL;
    assert(version); /* what is in use is not forgotten */
    assert(version->retired > 0);
    version->retired--;
    if (version->retired > 0 || version->state != SV_VERSION_DRAINING)
        return;
    version->state = SV_VERSION_UNLOADED;
    sv_record_unloaded(registry->options.metrics, model->name, version->number);
}

void sv_free_retired(struct sv_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    for (struct sv_model_ref *ref; (ref = take_unused(registry));) {
        char name[SV_MODEL_ID_MAX];
        long number = ref->number;
        memcpy(name, ref->name, sizeof name);
        pthread_mutex_unlock(&registry->lock);
        SV_LOG(SV_LOG_DEBUG, "version freed", sv_str("model", ref->id));
        sv_version_close(ref);
        pthread_mutex_lock(&registry->lock);
        count_freed(registry, name, number);
    }
    pthread_mutex_unlock(&registry->lock);
}

/* One whose drain_seconds are over; NULL: there is none. With the lock. */
static struct sv_model_ref *find_expired(const struct sv_registry *registry, int64_t now)
{
    struct sv_model_ref *ref = registry->retired;
    while (ref && (ref->deadline_ns == 0 || ref->deadline_ns > now || ref->unused))
        ref = ref->next;
    return ref;
}

/* Only this thread frees what is retired, so it may use it without the lock. */
void sv_expire_retired(struct sv_registry *registry)
{
    const struct sv_model_host *host = &registry->options.host;
    int64_t now = sl_now_ns();
    struct sv_model_ref *ref;
    pthread_mutex_lock(&registry->lock);
    while ((ref = find_expired(registry, now))) {
        ref->deadline_ns = 0;
        pthread_mutex_unlock(&registry->lock);
        SV_LOG(SV_LOG_WARN, "requests of a retired version cancelled", sv_str("model", ref->id),
               sv_int("seconds", registry->options.drain_seconds));
        if (ref->executor)
            host->expire(host->context, ref->executor);
        pthread_mutex_lock(&registry->lock);
    }
    pthread_mutex_unlock(&registry->lock);
}
