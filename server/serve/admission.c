/* admission.c - limits how many texts and tokens are in progress. */
#include "serve/admission.h"
#include "base/clock.h"
#include "core/limits.h"
#include "core/request.h"

#include <assert.h>
#include <math.h>

enum { OPEN_PART = 8 }; /* an eighth of all room is enough for requests of unknown size */

static const double pace_seconds = 10; /* time constant of the moving average of the pace */

void sv_admission_init(struct sv_admission *admission, const char *name, int64_t items_max,
                       int64_t tokens_max, struct sv_series *rejected)
{
    *admission = (struct sv_admission){
        .name = name, .items_max = items_max, .tokens_max = tokens_max, .rejected = rejected};
    pthread_mutex_init(&admission->lock, NULL);
}

void sv_admission_release(struct sv_admission *admission)
{
    assert(admission->items == 0);
    assert(admission->tokens == 0);
    pthread_mutex_destroy(&admission->lock);
}

/* How many of the admitted texts must end before these fit; tokens count as the mean text's. */
static double texts_to_wait_for(const struct sv_admission *admission, int64_t items, int64_t tokens)
{
    double by_items = (double)(admission->items + items - admission->items_max);
    double by_tokens = (double)(admission->tokens + tokens - admission->tokens_max);
    if (admission->tokens > 0)
        by_tokens *= (double)admission->items / (double)admission->tokens;
    return fmax(fmax(by_items, by_tokens), 1.0);
}

/* How long that takes at the current pace. */
static int retry_ms(const struct sv_admission *admission, double texts)
{
    if (admission->ended_items <= 0)
        return 1000;
    double ms = 1e3 * texts * admission->ended_seconds / admission->ended_items;
    if (ms > SV_RETRY_MS_MAX)
        return SV_RETRY_MS_MAX;
    return ms < SV_RETRY_MS_MIN ? SV_RETRY_MS_MIN : (int)ms;
}

static bool fail_full(struct sv_admission *admission, int wait_ms, struct sv_error *error)
{
    sv_metric_add(admission->rejected, 1);
    (void)sv_fail(error, SV_OVERLOADED, NULL, "The queue of '%s' is full; retry later.",
                  admission->name);
    error->retry_ms = wait_ms;
    return false;
}

static bool fail_always(const struct sv_admission *admission, int items, int64_t tokens,
                        struct sv_error *error)
{
    return sv_fail(
        error, SV_INVALID_VALUE, NULL,
        "This request needs room for %d texts and %lld tokens (with max_tokens, and with what "
        "explanations compute); this daemon admits at most %lld texts and %lld tokens.",
        items, (long long)tokens, (long long)admission->items_max,
        (long long)admission->tokens_max);
}

static bool fits(const struct sv_admission *admission, int64_t items, int64_t tokens)
{
    return admission->items + items <= admission->items_max &&
           admission->tokens + tokens <= admission->tokens_max;
}

/* The room that a request of unknown size should find: at least one text with one token. */
static int64_t room_wanted(int64_t wanted, int64_t max)
{
    int64_t most = max / OPEN_PART;
    int64_t room = wanted < most ? wanted : most;
    return room > 0 ? room : 1;
}

bool sv_admission_is_open(struct sv_admission *admission, struct sv_error *error)
{
    pthread_mutex_lock(&admission->lock);
    int64_t items = room_wanted(admission->wanted_items, admission->items_max);
    int64_t tokens = room_wanted(admission->wanted_tokens, admission->tokens_max);
    bool is_open = fits(admission, items, tokens);
    int wait_ms = is_open ? 0 : retry_ms(admission, texts_to_wait_for(admission, items, tokens));
    pthread_mutex_unlock(&admission->lock);
    return is_open || fail_full(admission, wait_ms, error);
}

bool sv_admission_admit(struct sv_admission *admission, int items, int64_t tokens,
                        int64_t *reserved, struct sv_error *error)
{
    assert(items > 0);
    if (items > admission->items_max)
        return fail_always(admission, items, tokens, error);
    *reserved = tokens < admission->tokens_max ? tokens : admission->tokens_max;
    pthread_mutex_lock(&admission->lock);
    bool admitted = fits(admission, items, *reserved);
    int wait_ms = retry_ms(admission, texts_to_wait_for(admission, items, *reserved));
    admission->wanted_items = admitted ? 0 : items;
    admission->wanted_tokens = admitted ? 0 : *reserved;
    if (admitted && admission->items == 0)
        admission->ended_ns = sl_now_ns();
    if (admitted) {
        admission->items += items;
        admission->tokens += *reserved;
    }
    pthread_mutex_unlock(&admission->lock);
    return admitted || fail_full(admission, wait_ms, error);
}

bool sv_admission_settle(struct sv_admission *admission, int items, int64_t reserved,
                         int64_t tokens, struct sv_error *error)
{
    bool accepted = tokens <= admission->tokens_max;
    assert(!accepted || tokens <= reserved);
    sv_admission_withdraw(admission, accepted ? 0 : items, accepted ? reserved - tokens : reserved);
    return accepted || fail_always(admission, items, tokens, error);
}

void sv_admission_withdraw(struct sv_admission *admission, int items, int64_t tokens)
{
    pthread_mutex_lock(&admission->lock);
    admission->items -= items;
    admission->tokens -= tokens;
    assert(admission->items >= 0);
    assert(admission->tokens >= 0);
    pthread_mutex_unlock(&admission->lock);
}

void sv_admission_complete(struct sv_admission *admission, int64_t tokens)
{
    int64_t now = sl_now_ns();
    pthread_mutex_lock(&admission->lock);
    double seconds = 1e-9 * (double)(now - admission->ended_ns),
           kept = exp(-seconds / pace_seconds);
    admission->ended_items = kept * admission->ended_items + 1;
    admission->ended_seconds = kept * admission->ended_seconds + seconds;
    admission->ended_ns = now;
    pthread_mutex_unlock(&admission->lock);
    sv_admission_withdraw(admission, 1, tokens);
}

void sv_admission_admitted(struct sv_admission *admission, int64_t *items, int64_t *tokens)
{
    pthread_mutex_lock(&admission->lock);
    *items = admission->items;
    *tokens = admission->tokens;
    pthread_mutex_unlock(&admission->lock);
}
